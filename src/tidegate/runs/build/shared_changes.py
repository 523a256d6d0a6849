"""The changed rows of the tables that the models of a run read: computed once for all readers that last read the same
snapshot, and dropped with the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import CompiledModel
from tidegate.errors import TidegateError
from tidegate.lake.changes import TableChange
from tidegate.lake.progress import Progress
from tidegate.names import TableName
from tidegate.planner.decide import Decision
from tidegate.planner.delta_rule import input_tables
from tidegate.planner.deltas.delta_query import Image, ImageRead
from tidegate.planner.inputs import Inputs, read_inputs
from tidegate.planner.make_plan import ModelPlan
from tidegate.project.strategies import Deltas
from tidegate.runs.builder import ModelAttempt
from tidegate.runs.context import RunContext
from tidegate.runs.reads import bound_query
from tidegate.transform.change_sets import ChangeFilter, ChangeSet, make_change_set

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ReaderChanges", "SharedChanges"]

_MOST_VALUES = 200_000_000
"""A change of more values, as they were and as they are, is read by each reader for itself."""
_MOST_READERS = 16
"""Of more readers, the others find out for themselves whether a changed row reaches them."""
_WORTH_SECONDS = 1.0
"""Builds from all rows that take less are not worth finding out whether they can be skipped."""

_Key = tuple[TableName, int, int]
"""A table, and the snapshots between which its rows changed."""


@dataclass
class _Slot:
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: bool = False
    made: ChangeSet | None = None


@dataclass(frozen=True, slots=True)
class _ChangeReader:
    """A model of the run that reads a change, with the columns that it uses (None: all)."""

    model: CompiledModel
    columns: frozenset[str] | None


@dataclass(frozen=True, slots=True)
class ReaderChanges:
    """The change sets that one model reads, and what it sees of each changed table."""

    sets: Mapping[TableName, ChangeSet]
    filters: Mapping[TableName, ChangeFilter]
    may_be_unreached: bool
    """There is a set of each table that changed, and perhaps none of their rows reaches the model."""

    def reach(self, session: SparkSession) -> bool:
        """Whether a changed row may change the model's result."""
        return not self.may_be_unreached or any(
            self.sets[table].count(session, seen) for table, seen in self.filters.items()
        )

    def images(self, reads: Iterable[ImageRead]) -> Mapping[ImageRead, str]:
        """Queries for the images that the sets have."""
        return {
            read: self.sets[read.table].image_sql(read.image, self.filters[read.table].columns)
            for read in reads
            if read.table in self.sets and read.image is not Image.THEN
        }


class SharedChanges:
    """Of one run. Thread-safe. `open_session`: a new session on the branch."""

    def __init__(self, run: RunContext, open_session: Callable[[], SparkSession]) -> None:
        self._run = run
        self._open_session = open_session
        self._slots: dict[_Key, _Slot] = {}
        self._lock = threading.Lock()

    def of(self, attempt: ModelAttempt, facts: ModelPlan) -> ReaderChanges:
        """What the model is to read its changes from."""
        decision, changed = facts.decision, facts.inputs.traced
        if not (decision.from_changes or decision.skips_unreached):
            return ReaderChanges({}, {}, False)
        model = attempt.model
        conditions = self._conditions(model, facts.inputs)
        filters = {table: ChangeFilter(_columns(facts.progress, table), conditions.get(table, "")) for table in changed}
        can_skip = decision.skips_unreached and all(
            _may_be_unreached(filters[table], change) for table, change in changed.items()
        )
        sets: dict[TableName, ChangeSet] = {}
        for table, change in changed.items():
            if table in self._run.compiled.chunk_tables:
                continue
            readers = self._readers(table, change, model)
            is_shared = len(readers) > 1 and decision.from_changes
            slot = self._slot((table, change.then_id, change.now_id))
            filtered = can_skip and bool(conditions.get(table))
            if slot.made is None and not is_shared and not (filtered and self._is_worth_it(decision, readers)):
                continue
            make = partial(self._make, attempt, table, change, filters[table], readers)
            made = self._made(slot, table, make)
            if made is not None and made.covers(filters[table].columns):
                sets[table] = made
        return ReaderChanges(sets, filters, can_skip and sets.keys() == changed.keys())

    def drop(self) -> None:
        for slot in self._slots.values():
            if slot.made is not None:
                slot.made.drop()
        self._slots.clear()

    def _slot(self, key: _Key) -> _Slot:
        with self._lock:
            return self._slots.setdefault(key, _Slot())

    def _made(self, slot: _Slot, table: TableName, make: Callable[[], ChangeSet | None]) -> ChangeSet | None:
        with slot.lock:
            if not slot.done:
                try:
                    slot.made = make()
                except Exception as error:
                    # Each reader reads for itself then, and knows what to do about a failure.
                    self._run.cancellation.check()
                    message = f"the changed rows of {self._run.short(table)} are not shared: {type(error).__name__}"
                    self._run.emit("phase", None, {"phase": "build_result", "message": message})
                slot.done = True
            return slot.made

    def _make(
        self,
        attempt: ModelAttempt,
        table: TableName,
        change: TableChange,
        asking: ChangeFilter,
        readers: list[_ChangeReader],
    ) -> ChangeSet | None:
        run = self._run
        metadata = run.lake.table(table)
        if metadata is None or metadata.current is None or metadata.current.id != change.now_id:
            return None
        used: set[str] = set()
        for reader in readers:
            used |= set(metadata.column_names) if reader.columns is None else reader.columns
        if (change.rows_written + change.rows_removed) * max(1, len(used)) > _MOST_VALUES:
            return None
        filters = [asking]
        for reader in readers[1:_MOST_READERS]:
            if reader.model.code is None:
                filters.append(ChangeFilter(reader.columns, self._conditions(reader.model).get(table, "")))
        session = self._open_session()
        with run.cancellation.watching(session), run.guard.overdue.limiting(session, attempt.deadline):
            return make_change_set(session, run.lake, table, change, frozenset(used), filters)

    def _readers(self, table: TableName, change: TableChange, asking: CompiledModel) -> list[_ChangeReader]:
        """The models of the run that last read the same snapshot, the asking one first."""
        models = [asking]
        for model in self._run.readers.get(table, ()):
            name = model.model.table
            if name != asking.model.table and name in self._run.decided and _takes_changes(model):
                models.append(model)
        readers = []
        for model in models:
            progress = self._run.lake.progress(model.model.table)
            last_read = progress.tables.get(str(table)) if progress else None
            if model is asking or (last_read is not None and last_read.snapshot_id == change.then_id):
                readers.append(_ChangeReader(model, _columns(progress, table)))
        return readers

    def _is_worth_it(self, decision: Decision, readers: list[_ChangeReader]) -> bool:
        """Whether what all readers would take may be more than it takes to find out that they can be skipped."""
        if decision.from_changes or decision.estimate.seconds is None:
            return True
        plans = (self._run.decided.get(reader.model.model.table) for reader in readers[1:])
        others = (plan.decision.estimate.seconds or 0 for plan in plans if plan and plan.decision.skips_unreached)
        return sum(others, decision.estimate.seconds) >= _WORTH_SECONDS

    def _conditions(self, model: CompiledModel, inputs: Inputs | None = None) -> Mapping[TableName, str]:
        if model.code is not None:
            return {}
        from tidegate.planner.deltas.reaching_rows import reaching_rows  # only here: it needs the parser

        run = self._run
        try:
            inputs = inputs or read_inputs(model, run.compiled, run.lake, run.lake.progress(model.model.table))
            return reaching_rows(bound_query(run, model).sql, input_tables(inputs))
        except TidegateError:
            return {}  # its own build fails of it


def _may_be_unreached(seen: ChangeFilter, change: TableChange) -> bool:
    return bool(seen.condition) or not (change.insert_only or seen.columns is None)


def _columns(progress: Progress | None, table: TableName) -> frozenset[str] | None:
    last_read = progress.tables.get(str(table)) if progress else None
    return frozenset(last_read.used) if last_read is not None and last_read.used is not None else None


def _takes_changes(model: CompiledModel) -> bool:
    settings = model.model.settings
    if settings.deltas == "never" or not model.deterministic or (model.code is not None and not model.code.changes):
        return False
    return settings.traits.deltas is Deltas.CHANGES and not model.manual and not model.zones
