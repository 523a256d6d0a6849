"""A reader who looks at main all the time, and remembers each state that it saw."""

from __future__ import annotations

import threading
from types import TracebackType

from tidegate.errors import TidegateError
from tidegate.lake.port import MAIN, BranchCatalog, Heads

__all__ = ["Reader"]

_PAUSE_SECONDS = 0.02


class Reader:
    """`seen`: the states, in order, each as often as main came to it. `failures`: what kept it from looking."""

    def __init__(self, catalog: BranchCatalog) -> None:
        self._catalog = catalog
        self._stop = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="chaos-reader", daemon=True)
        self.seen: list[Heads] = []
        self.failures: set[str] = set()

    def __enter__(self) -> Reader:
        self.look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def look(self) -> Heads:
        with self._looking:
            heads = self._catalog.head(MAIN)
            if not self.seen or self.seen[-1] != heads:
                self.seen.append(heads)
            return heads

    def _watch(self) -> None:
        while not self._stop.wait(_PAUSE_SECONDS):
            try:
                self.look()
            except TidegateError as error:
                self.failures.add(f"a reader could not look at main: {error}")
