"""The signs of life of a run, and its ear: whoever wants it to end says so in its record."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from tidegate.errors import BranchMissingError, FailureKind, RunAbortedError, StateError, TidegateError
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.runs.clock import Clock
from tidegate.state import RunRecord, StateStore
from tidegate.state.liveness import HEARTBEAT_SECONDS, has_ended

__all__ = ["Heart"]

_LOOK_SECONDS = 0.5


class Heart:
    """Beats in the state, and in the lake while the run has a branch there.

    `lost`: somebody else has ended the run, or taken it up: its record and its branch are not this process's any more.
    """

    def __init__(
        self,
        run: RunRecord,
        store: StateStore,
        clock: Clock,
        cancel: Callable[[RunRecord], None],
        halt: Callable[[TidegateError], None],
        beat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        """`cancel` is called once, where the record asks for the end; `halt` where there is nothing to work for."""
        self.lost = False
        self._run_id = run.run_id
        self._resumes = run.resumes
        self._store = store
        self._clock = clock
        self._cancel = cancel
        self._halt = halt
        self._beat_seconds = beat_seconds
        self._asked = False
        self._catalog: BranchCatalog | None = None
        self._minding = threading.Lock()
        self._looking = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go, name="heart", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """To be called before the run itself ends its record: what others did to it until now still counts."""
        if self._over.is_set():
            return
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.look()

    @contextlib.contextmanager
    def minding(self, catalog: BranchCatalog, branch: str) -> Iterator[None]:
        """As long as the run works on `branch`; main needs no sign of life."""
        self._catalog = None if branch == MAIN else catalog
        try:
            yield
        finally:
            with self._minding:
                self._catalog = None

    def look(self) -> None:
        """Read the record and heed it. A state that does not answer is asked again the next time."""
        with contextlib.suppress(StateError), self._looking:
            record = self._store.reader().run(self._run_id)
            if record is not None and not self.lost:
                self._heed(record)

    def _heed(self, record: RunRecord) -> None:
        if has_ended(record):
            self.lost = True
            self._end(f"Somebody else ended this run as {record.status}: {record.error or 'no reason was given'}")
        elif record.resumes != self._resumes:
            self.lost = True
            self._end(f"This run was taken up by another process: {record.pid} on {record.host}")
        elif record.cancel_requested_at is not None and not self._asked:
            self._asked = True
            self._cancel(record)

    def _end(self, why: str) -> None:
        remedy = "Nothing more of it is published. See `tidegate history` for who else worked on it, then run again."
        self._halt(RunAbortedError(why, kind=FailureKind.CANCELLED, remedy=remedy))

    def _go(self) -> None:
        beaten = time.monotonic()
        beating: threading.Thread | None = None
        while not self._over.wait(_LOOK_SECONDS):
            self.look()
            if time.monotonic() - beaten < self._beat_seconds or self.lost:
                continue
            beaten = time.monotonic()
            with contextlib.suppress(TidegateError):
                self._store.heartbeat(self._run_id, self._clock.now(), self._resumes)
            if beating is None or not beating.is_alive():
                # Apart: while the lake lets us wait, the run must hear, and others see in the state that it lives.
                beating = threading.Thread(target=self._beat_in_lake, name="heart-in-lake", daemon=True)
                beating.start()

    def _beat_in_lake(self) -> None:
        try:
            with self._minding:
                if self._catalog is not None:
                    self._catalog.heartbeat(self._run_id)
        except BranchMissingError as error:
            self._catalog = None
            self._end(f"Somebody else dropped the branch of this run: {error}")
        except TidegateError:
            pass
