"""Everything outside that listens to one run, as one listener: it may stop the run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from tidegate.config import Settings
from tidegate.errors import TidegateError
from tidegate.hooks.events import Emit, Ending, Event

__all__ = ["AT_ONCE", "Halt", "Watch", "open_watch"]

AT_ONCE = frozenset({"pipeline_start", "discover_complete", "compile_complete", "before_materialize", "before_checks"})
"""Events whose emitter can be stopped by an exception. After the others the run stops at its next step."""

Halt = Callable[[TidegateError], None]
"""Asks the run to end: nothing more is started, nothing more is published, and the error is its result."""


class Watch(Protocol):
    """Call it for every event, outside of any lock: a hook may take its time."""

    def __call__(self, event: Event) -> None: ...

    def choose(self, select: Callable[[Sequence[str]], Collection[str]]) -> None:
        """How selections of models are read; before the first event about a model."""

    def drain(self) -> None:
        """Wait for webhooks that are under way, within bounds."""

    def close(self, ending: Ending | None) -> None:
        """Tell the callback how the run ended, and let go of everything."""


class _Nobody:
    def __call__(self, event: Event) -> None: ...
    def choose(self, select: Callable[[Sequence[str]], Collection[str]]) -> None: ...
    def drain(self) -> None: ...
    def close(self, ending: Ending | None) -> None: ...


def open_watch(
    settings: Settings, command: str, emit: Emit, halt: Halt, bytes_of: Callable[[str], int] = lambda model: 0
) -> Watch:
    """`bytes_of`: how much a model's write added to the branch."""
    if not settings.hooks and settings.callback is None and not settings.budget.limited:
        return _Nobody()
    # Only here: HTTP and processes take time to import, and most runs need neither.
    from tidegate.hooks.watching import Watching

    return Watching(settings, command, emit, halt, bytes_of)
