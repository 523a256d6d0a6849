"""Writes the heartbeat of a run, and watches its record for a cancel request or a takeover."""

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

__all__ = ["Heartbeat"]

_POLL_SECONDS = 0.5


class Heartbeat:
    """Writes to the state, and to the lake while the run has a branch there."""

    def __init__(
        self,
        run: RunRecord,
        store: StateStore,
        clock: Clock,
        cancel: Callable[[RunRecord], None],
        halt: Callable[[TidegateError], None],
        beat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        """`cancel` is called once, where the record asks for it; `halt` where the run is no longer this process's."""
        self.taken_over = False
        """Another process has ended or resumed the run: its record and its branch are not this process's any more."""

        self._run_id = run.run_id
        self._resumes = run.resumes
        self._store = store
        self._clock = clock
        self._cancel = cancel
        self._halt = halt
        self._beat_seconds = beat_seconds
        self._cancel_seen = False
        self._catalog: BranchCatalog | None = None
        self._branch_lock = threading.Lock()
        self._record_lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """To be called before the run finishes its record: what other processes did to it until now still counts."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()
        self.check_record()

    @contextlib.contextmanager
    def with_branch(self, catalog: BranchCatalog, branch: str) -> Iterator[None]:
        """Write the heartbeat of `branch`, too; main needs none."""
        self._catalog = None if branch == MAIN else catalog
        try:
            yield
        finally:
            with self._branch_lock:
                self._catalog = None

    def check_record(self) -> None:
        """Act on what other processes wrote to the run's record. A state that does not answer is read the next time."""
        with contextlib.suppress(StateError), self._record_lock:
            record = self._store.reader().run(self._run_id)
            if record is not None and not self.taken_over:
                self._act_on(record)

    def _act_on(self, record: RunRecord) -> None:
        if has_ended(record):
            self.taken_over = True
            self._end(f"Another process ended this run as {record.status}: {record.error or 'no reason was given'}")
        elif record.resumes != self._resumes:
            self.taken_over = True
            self._end(f"Another process resumed this run: {record.pid} on {record.host}")
        elif record.cancel_requested_at is not None and not self._cancel_seen:
            self._cancel_seen = True
            self._cancel(record)

    def _end(self, why: str) -> None:
        remedy = "Nothing more of it is published. See `tidegate history` for who else worked on it, then run again."
        self._halt(RunAbortedError(why, kind=FailureKind.CANCELLED, remedy=remedy))

    def _loop(self) -> None:
        last_beat = time.monotonic()
        lake_beat: threading.Thread | None = None
        while not self._stopped.wait(_POLL_SECONDS):
            self.check_record()
            if time.monotonic() - last_beat < self._beat_seconds or self.taken_over:
                continue
            last_beat = time.monotonic()
            with contextlib.suppress(TidegateError):
                self._store.heartbeat(self._run_id, self._clock.now(), self._resumes)
            if lake_beat is None or not lake_beat.is_alive():
                # In a thread of its own: a lake that hangs must delay neither the heartbeat in the state nor a cancel.
                lake_beat = threading.Thread(target=self._beat_in_lake, name="heartbeat-in-lake", daemon=True)
                lake_beat.start()

    def _beat_in_lake(self) -> None:
        try:
            with self._branch_lock:
                if self._catalog is not None:
                    self._catalog.heartbeat(self._run_id)
        except BranchMissingError as error:
            self._catalog = None
            self._end(f"Another process dropped the branch of this run: {error}")
        except TidegateError:
            pass
