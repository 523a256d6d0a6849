"""Hooks of `tidegate check`, which is no run: they hear of its checks alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tidegate.config import BudgetSection, Settings
from tidegate.errors import TidegateError
from tidegate.hooks.events import Emit, Event
from tidegate.hooks.watch import open_watch

__all__ = ["telling_of_checks"]


@contextmanager
def telling_of_checks(
    settings: Settings, select: Callable[[Sequence[str]], Collection[str]], say: Callable[[str], None]
) -> Iterator[Emit]:
    """Gives what to call with each event. At the end HookError is raised if a hook that may abort has failed."""
    stopped: list[TidegateError] = []

    def warn(name: str, model: str | None, data: Mapping[str, Any]) -> None:
        say(f"[WARN] {data['message']}")

    def tell(name: str, model: str | None, data: Mapping[str, Any]) -> None:
        watch(Event(name, "", datetime.now(UTC), model, data))

    watch = open_watch(replace(settings, callback=None, budget=BudgetSection()), "check", warn, stopped.append)
    try:
        watch.choose(select)
        yield tell
    finally:
        watch.close(None)
    if stopped:
        raise stopped[0]
