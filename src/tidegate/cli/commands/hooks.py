"""`hooks`: try out the hooks of a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from tidegate.amounts import plural
from tidegate.cli.invocation import Invocation, common_options, open_workspace, pass_invocation
from tidegate.config.hook_settings import HOOK_EVENTS
from tidegate.names import nearest

if TYPE_CHECKING:
    from tidegate.operations.hook_test import HookTest

__all__ = ["hooks"]


@click.group()
@common_options
def hooks() -> None:
    """Try out the hooks of the project.

    \b
    Example:
      tidegate hooks test pipeline_error
    """


@hooks.command()
@click.argument("event")
@common_options
@pass_invocation
def test(invocation: Invocation, event: str) -> int:
    """Send a sample of EVENT to its hooks, and show what came back.

    Nothing is run. The models and statuses that a hook is limited to do not count here, and each hook is waited for.
    Ends with 1 if one of them failed.

    \b
    Example:
      tidegate hooks test pipeline_error
    """
    invocation.command = "hooks test"
    if event not in HOOK_EVENTS:
        close = nearest(event, HOOK_EVENTS)
        meant = f"Did you mean {' or '.join(close)}?" if close else f"There are {', '.join(HOOK_EVENTS)}."
        raise click.UsageError(f"There is no event '{event}'. {meant}")
    settings = open_workspace(invocation).settings
    # Only here: HTTP and processes take time to import, and a mistake in the arguments needs neither.
    from tidegate.operations.hook_test import try_hooks

    tried = try_hooks(settings, event)
    invocation.output().show(tried.document(), lambda: _lines(tried))
    return tried.exit_code


def _lines(tried: HookTest) -> Iterator[str]:
    width = max((len(hook) for hook, _answer in tried.answers), default=0)
    for hook, answer in tried.answers:
        mark = "[OK]  " if answer.ok else "[FAIL]"
        tries = f", {answer.tries} tries" if answer.tries > 1 else ""
        yield f"{mark} {hook:<{width}}  {answer.message} ({answer.duration_ms}ms{tries})"
    if not tried.answers:
        yield f"No hook listens to {tried.event}."
    else:
        failed = f": {tried.failed} failed" if tried.failed else ""
        yield f"{plural(len(tried.answers), 'hook')} called for {tried.event}{failed}"
