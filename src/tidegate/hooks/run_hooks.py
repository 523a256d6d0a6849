"""The hooks, the callback and the budget of one run, as one listener that may stop the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from tidegate.config import BudgetSection, Settings
from tidegate.errors import TidegateError
from tidegate.hooks.events import Emit, Ending, Event

__all__ = ["STOPPABLE_EVENTS", "Halt", "RunHooks", "check_hooks", "open_run_hooks"]

STOPPABLE_EVENTS = frozenset(
    {"pipeline_start", "discover_complete", "compile_complete", "before_materialize", "before_checks"}
)
"""Events whose emitter an exception stops. After the others the run stops at its next step."""

Halt = Callable[[TidegateError], None]
"""Asks the run to end: nothing more is started, nothing more is published, and the error is its result."""


class RunHooks(Protocol):
    """Call it for every event, outside of any lock: a hook may be slow."""

    def __call__(self, event: Event) -> None: ...

    def choose(self, select: Callable[[Sequence[str]], Collection[str]]) -> None:
        """`select` resolves the hooks' selections of models. Call it before the first event about a model."""

    def drain(self) -> None:
        """Wait for webhooks that are being delivered, for a limited time."""

    def close(self, ending: Ending | None) -> None:
        """Send the result of the run to the callback, and stop all hooks."""


class _NoHooks:
    def __call__(self, event: Event) -> None: ...
    def choose(self, select: Callable[[Sequence[str]], Collection[str]]) -> None: ...
    def drain(self) -> None: ...
    def close(self, ending: Ending | None) -> None: ...


def open_run_hooks(
    settings: Settings, command: str, emit: Emit, halt: Halt, bytes_of: Callable[[str], int] = lambda model: 0
) -> RunHooks:
    """`bytes_of`: how much a model's write added to the branch."""
    if not settings.hooks and settings.callback is None and not settings.budget.limited:
        return _NoHooks()
    # Only here: HTTP and processes take time to import, and most runs need neither.
    from tidegate.hooks.configured_hooks import ConfiguredHooks

    return ConfiguredHooks(settings, command, emit, halt, bytes_of)


@contextmanager
def check_hooks(
    settings: Settings, select: Callable[[Sequence[str]], Collection[str]], report: Callable[[str], None]
) -> Iterator[Emit]:
    """Hooks of `tidegate check`, which is no run: they receive its check events only. Yields the function that emits
    one. At the end HookError is raised if a hook with on_failure "abort" has failed."""
    stopped: list[TidegateError] = []

    def warn(name: str, model: str | None, data: Mapping[str, Any]) -> None:
        report(f"[WARN] {data['message']}")

    def emit(name: str, model: str | None, data: Mapping[str, Any]) -> None:
        watch(Event(name, "", datetime.now(UTC), model, data))

    watch = open_run_hooks(replace(settings, callback=None, budget=BudgetSection()), "check", warn, stopped.append)
    try:
        watch.choose(select)
        yield emit
    finally:
        watch.close(None)
    if stopped:
        raise stopped[0]
