"""The sign of life of a run, so that nobody takes its branch for an orphan."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from tidegate.errors import TidegateError
from tidegate.lake.port import BranchCatalog
from tidegate.runs.clock import Clock
from tidegate.state import StateStore

__all__ = ["HEARTBEAT_SECONDS", "beating"]

HEARTBEAT_SECONDS = 30.0


@contextlib.contextmanager
def beating(run_id: str, catalog: BranchCatalog, store: StateStore, clock: Clock) -> Iterator[None]:
    """Says now and then, in the lake and in the state, that this process lives."""
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(HEARTBEAT_SECONDS):
            with contextlib.suppress(TidegateError):
                catalog.heartbeat(run_id)
                store.heartbeat(run_id, clock.now())

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
