"""The budget of a run: how long it may take, and how much it may write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from tidegate.config import BudgetSection, format_duration
from tidegate.errors import BudgetError, FailureKind
from tidegate.hooks.events import Event
from tidegate.lake.metadata import TableMetadata

__all__ = ["Breach", "Budget", "bytes_added"]

_ENDS = ("pipeline_complete", "pipeline_error")
"""After these events a run only waits for its hooks."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A limit that the run exceeded."""

    budget: str
    """The setting: max_duration (in seconds), max_rows or max_bytes."""
    limit: int | float
    value: int | float
    on_breach: str

    @property
    def message(self) -> str:
        if self.budget == "max_duration":
            limit = format_duration(timedelta(seconds=self.limit))
            return f"the run takes longer than max_duration = {limit} of [run.budget]"
        unit = self.budget.removeprefix("max_")
        return f"the run has written {self.value:,} {unit}: {self.budget} = {self.limit:,} of [run.budget]"

    @property
    def error(self) -> BudgetError:
        return BudgetError(
            self.message,
            kind=FailureKind.TIMEOUT if self.budget == "max_duration" else FailureKind.QUALITY_FAILED,
            remedy='Raise the budget, select fewer models, or set on_breach = "warn".',
        )


class Budget:
    """Reports each breach once, in the thread that noticed it. `bytes_of`: how many bytes a model's write added."""

    def __init__(
        self, section: BudgetSection, report: Callable[[Breach], None], bytes_of: Callable[[str], int]
    ) -> None:
        self._section = section
        self._report = report
        self._bytes_of = bytes_of
        self._lock = threading.Lock()
        self._rows: dict[str, int] = {}
        self._bytes: dict[str, int] = {}
        self._reported: set[str] = set()
        self._timer: threading.Timer | None = None
        if section.max_duration is not None:
            self._timer = threading.Timer(section.max_duration.total_seconds(), self._time_is_over)
            self._timer.daemon = True

    def start(self) -> None:
        if self._timer is not None:
            self._timer.start()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def __call__(self, event: Event) -> None:
        if event.name in _ENDS:
            self.close()
        if event.name != "after_materialize" or event.model is None:
            return
        rows = event.data.get("rows_written")
        added = self._bytes_of(event.model) if self._section.max_bytes is not None else 0
        with self._lock:
            # A model that is built again after a conflict counts once, as it does in the result.
            self._rows[event.model] = rows if isinstance(rows, int) else 0
            self._bytes[event.model] = added
            written, size = sum(self._rows.values()), sum(self._bytes.values())
        self._check("max_rows", self._section.max_rows, written)
        self._check("max_bytes", self._section.max_bytes, size)

    def _time_is_over(self) -> None:
        assert self._section.max_duration is not None
        seconds = self._section.max_duration.total_seconds()
        self._breached("max_duration", seconds, seconds)

    def _check(self, budget: str, limit: int | None, value: int) -> None:
        if limit is not None and value > limit:
            self._breached(budget, limit, value)

    def _breached(self, budget: str, limit: float, value: float) -> None:
        with self._lock:
            if budget in self._reported:
                return
            self._reported.add(budget)
        self._report(Breach(budget, limit, value, self._section.on_breach))


def bytes_added(metadata: TableMetadata | None, run_id: str) -> int:
    """In data and delete files, also those that a later commit of the same run replaced."""
    if metadata is None:
        return 0
    own = (snapshot for snapshot in metadata.snapshots.values() if snapshot.summary.get("tidegate.run-id") == run_id)
    return sum(snapshot.count("added-files-size") for snapshot in own)
