"""Which rows of a quarantine are meant, and the request to send them through their contract again.

The same choice is made twice: of Arrow batches, where rows are counted and shown without a JVM, and as a condition of
Spark SQL, where they are read and marked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.names import TableName, literal

if TYPE_CHECKING:
    import pyarrow

    from tidegate.lake.view import BranchView

__all__ = [
    "CONSTRAINT",
    "LANDING",
    "OPEN",
    "REPLAYED",
    "STATUS",
    "STATUSES",
    "WAIVED",
    "QuarantineFilter",
    "ReplayRequest",
    "are_records",
    "count_chosen",
    "statuses_of",
]

STATUS = "_status"
OPEN, REPLAYED, WAIVED = STATUSES = ("open", "replayed", "waived")
"""What became of a refused row: nothing yet; it went through the contract again; a person accepted that it is missing.
A row without one is open."""

LANDING, CONSTRAINT = _STAGES_OF_MODELS = ("landing", "constraint")
"""A model's quarantine has no column for the stage: only records that could not be read have the place of a line."""

_LOOKED_AT = ("_reasons", "_columns", "_failures", "_stage", "_run_id", "_source_file", "_line", STATUS)


@dataclass(frozen=True, slots=True)
class QuarantineFilter:
    """Rows of one quarantine. None: any."""

    stage: str | None = None
    column: str | None = None
    """Rows that were refused because of this column; case does not count."""

    rule: str | None = None
    run: str | None = None
    """The run that refused them."""

    file: str | None = None
    """The landing file that they come from: zone and path."""

    statuses: tuple[str, ...] = (OPEN,)

    @property
    def takes_all(self) -> bool:
        """Whether nothing is left out but by the status."""
        return self == QuarantineFilter(statuses=self.statuses)

    def equal(self, columns: Collection[str]) -> dict[str, str]:
        """The part of it that a scan of a table with these columns applies."""
        values = {"_stage": self.stage, "_run_id": self.run, "_source_file": self.file}
        return {name: value for name, value in values.items() if value is not None and name in columns}

    def matching(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """The rows of a batch with all columns of the quarantine that are about refusal."""
        import pyarrow as pa
        import pyarrow.compute as pc

        names = batch.schema.names
        chosen = pc.is_in(statuses_of(batch), pa.array(self.statuses, pa.string()))
        for name, value in self.equal(names).items():
            chosen = pc.and_(chosen, pc.equal(batch.column(name), value))
        if self.file is not None and "_source_file" not in names:
            return batch.slice(0, 0)
        if self.stage is not None and "_stage" not in names:
            if self.stage not in _STAGES_OF_MODELS:
                return batch.slice(0, 0)
            records = are_records(batch)
            chosen = pc.and_(chosen, records if self.stage == LANDING else pc.invert(records))
        if self.column is not None:
            columns = batch.column("_columns")
            chosen = pc.and_(
                chosen, _any_of(columns, pc.equal(pc.utf8_lower(pc.list_flatten(columns)), self.column.lower()))
            )
        if self.rule is not None:
            chosen = pc.and_(chosen, self._breaks_rule(batch))
        return batch.filter(chosen)

    def _breaks_rule(self, batch: pyarrow.RecordBatch) -> Any:
        import pyarrow.compute as pc

        if "_failures" in batch.schema.names:
            failures = batch.column("_failures")
            return _any_of(failures, pc.equal(pc.struct_field(pc.list_flatten(failures), "rule"), self.rule))
        reasons = batch.column("_reasons")
        flat = pc.list_flatten(reasons)
        return _any_of(reasons, pc.or_(pc.equal(flat, self.rule), pc.starts_with(flat, f"{self.rule}: ")))

    def condition(self, columns: Collection[str]) -> str:
        """The same in Spark SQL, of the quarantine of a contract with these columns."""
        statuses = ", ".join(map(literal, self.statuses))
        parts = [f"{name} = {literal(value)}" for name, value in self.equal(columns).items()]
        if STATUS in columns:
            parts.append(f"coalesce({STATUS}, {literal(OPEN)}) IN ({statuses})")
        elif OPEN not in self.statuses:
            parts.append("false")
        if self.column is not None:
            parts.append(f"exists(_columns, c -> lower(c) = {literal(self.column.lower())})")
        if self.rule is not None:
            parts.append(f"exists(_failures, f -> f.rule = {literal(self.rule)})")
        return " AND ".join(parts) or "true"


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Open rows of one quarantine, to go through the contract as it is now."""

    table: str
    """The silver table, in full."""

    by: str
    """Who asked for it."""

    rows: QuarantineFilter = field(default_factory=QuarantineFilter)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ReplayRequest:
        rows = {name: value for name, value in values["rows"].items() if name in QuarantineFilter.__dataclass_fields__}
        rows["statuses"] = tuple(rows.get("statuses", (OPEN,)))
        return cls(values["table"], values["by"], QuarantineFilter(**rows))


def count_chosen(lake: BranchView, table: TableName, rows: QuarantineFilter) -> int:
    """How many rows of the quarantine of `table` are meant; 0 where it has none."""
    from tidegate.lake.row_reader import read_batches  # only here: options of runs, which hold a request, are light

    pointer, metadata = lake.pointer(table.quarantine), lake.table(table.quarantine)
    if pointer is None or metadata is None:
        return 0
    present = {each.name for each in metadata.fields}
    names = [name for name in _LOOKED_AT if name in present]
    return sum(rows.matching(batch).num_rows for batch in read_batches(pointer, names, rows.equal(names)))


def statuses_of(batch: pyarrow.RecordBatch) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if STATUS not in batch.schema.names:
        return pa.array([OPEN] * batch.num_rows, pa.string())
    return pc.fill_null(batch.column(STATUS), OPEN)


def are_records(batch: pyarrow.RecordBatch) -> Any:
    """Whether each row is a record of a landing file that could not be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "_line" not in batch.schema.names:
        return pa.array([False] * batch.num_rows, pa.bool_())
    return pc.is_valid(batch.column("_line"))


def _any_of(lists: Any, matches: Any) -> Any:
    """Whether some element of each row's list matches; `matches`: of all elements, one after the other."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pc.list_parent_indices(lists).filter(pc.fill_null(matches, False))
    return pc.is_in(pa.array(range(len(lists)), rows.type), rows)
