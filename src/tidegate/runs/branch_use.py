"""Who is at work on a run's branch: models read it while they are built, so it follows main only when none is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["BranchUse"]

_POLL_SECONDS = 0.1


class BranchUse:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._building = 0

    @contextmanager
    def building(self) -> Iterator[None]:
        with self._changed:
            self._building += 1
        try:
            yield
        finally:
            with self._changed:
                self._building -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, check: Callable[[], None]) -> Iterator[None]:
        """Waits until no model is being built, and lets none begin. `check` may raise to give up the wait."""
        with self._changed:
            while self._building:
                check()
                self._changed.wait(_POLL_SECONDS)
            yield
