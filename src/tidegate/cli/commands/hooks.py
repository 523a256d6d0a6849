"""`hooks`: trying out those who are told of runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from tidegate.amounts import plural
from tidegate.cli.context import Invocation, common_options, open_workspace, pass_invocation
from tidegate.config.hooks import HOOK_EVENTS
from tidegate.names import nearest

if TYPE_CHECKING:
    from tidegate.config import HookSettings

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

    Nothing is run. What a hook says of models and statuses does not count here, and each is waited for. Ends with 1 if
    one of them failed.

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
    listening = [hook for hook in settings.hooks if _listens(hook, event)]
    # Only here: HTTP and processes take time to import, and a mistake in the arguments needs neither.
    from tidegate.hooks.dispatch import Hooks
    from tidegate.operations.hook_samples import sample_event

    answers = []
    caller = Hooks(listening, settings.root, settings.project.name, "hooks test", lambda message: None)
    try:
        for hook in listening:
            status = min(hook.statuses) if hook.statuses else None
            answer = caller.try_out(hook, sample_event(event, datetime.now(UTC), status), event)
            answers.append(
                {
                    "hook": hook.name,
                    "status": "passed" if answer.ok else "failed",
                    "answer": answer.told,
                    "failure_kind": str(answer.kind) if answer.kind else None,
                    "tries": answer.tries,
                    "duration_ms": answer.duration_ms,
                }
            )
    finally:
        caller.close()
    good = all(answer["status"] == "passed" for answer in answers)
    document = {"status": "success" if good else "failed", "event": event, "answers": answers}
    invocation.output().show(document, lambda: _lines(event, answers))
    return 0 if good else 1


def _listens(hook: HookSettings, event: str) -> bool:
    return event in hook.events or (event == "check_failed" and "check_result" in hook.events)


def _lines(event: str, answers: Sequence[dict[str, Any]]) -> Iterator[str]:
    width = max((len(answer["hook"]) for answer in answers), default=0)
    for answer in answers:
        mark = "[OK]  " if answer["status"] == "passed" else "[FAIL]"
        tries = f", {answer['tries']} tries" if answer["tries"] > 1 else ""
        yield f"{mark} {answer['hook']:<{width}}  {answer['answer']} ({answer['duration_ms']}ms{tries})"
    if not answers:
        yield f"No hook listens to {event}."
    else:
        failed = sum(answer["status"] == "failed" for answer in answers)
        yield f"{plural(len(answers), 'hook')} told of {event}" + (f": {failed} failed" if failed else "")
