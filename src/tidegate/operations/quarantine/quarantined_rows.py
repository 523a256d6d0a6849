"""The published tables of refused rows: which rules refused how many rows, and the rows themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.compiler.hidden_columns import hidden_in_table
from tidegate.errors import SelectionError, TidegateError
from tidegate.lake import Pointer, read_metadata
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.row_reader import read_batches
from tidegate.names import TableName, nearest
from tidegate.operations.quarantine.redacted_rows import redact_quarantined
from tidegate.operations.workspace import Workspace
from tidegate.planner.replay import (
    CONSTRAINT,
    LANDING,
    OPEN,
    STATUS,
    STATUSES,
    QuarantineFilter,
    are_records,
    statuses_of,
)
from tidegate.quality import plain
from tidegate.quality.check_queries import mentioned
from tidegate.write.quarantine_table import QUARANTINE_PROPERTY

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "CountsByRule",
    "Quarantine",
    "QuarantineEntry",
    "QuarantineList",
    "QuarantinedRows",
    "QuarantinedTable",
    "count_by_rule",
    "find_quarantine",
    "list_quarantine",
    "show_quarantine",
]

_OF_CONTRACTS = ("_stage", "_failures")
_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A published table of refused rows."""

    table: TableName
    pointer: Pointer
    metadata: TableMetadata

    @property
    def owner(self) -> TableName:
        """The table that the rows would have gone to."""
        return self.table.beside_quarantine or self.table

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.metadata.fields)

    @property
    def is_of_contract(self) -> bool:
        return set(_OF_CONTRACTS) <= set(self.columns)


@dataclass(frozen=True, slots=True)
class QuarantineEntry:
    """Rows that one rule refused."""

    table: str
    """The one that they would have gone to."""

    stage: str
    column: str | None
    rule: str
    rows: int
    run: str
    """The last run that refused one."""

    quarantined_at: datetime
    status: str = OPEN
    """What became of the rows: open, replayed or waived."""


@dataclass(frozen=True, slots=True)
class QuarantinedTable:
    """A table that has a quarantine, with the rows in it: a row that breaks several rules counts once."""

    table: str
    rows: int
    """Those of the status that was asked for."""

    open: int
    replayed: int
    waived: int


@dataclass(frozen=True, slots=True)
class QuarantineList:
    entries: tuple[QuarantineEntry, ...]
    """By table, stage, column and rule."""

    tables: tuple[QuarantinedTable, ...] = ()

    def document(self) -> dict[str, Any]:
        return {
            "tables": [asdict(table) for table in self.tables],
            "quarantine": [asdict(entry) for entry in self.entries],
        }


@dataclass(frozen=True, slots=True)
class QuarantinedRows:
    table: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    more: bool
    """There were more rows than the limit."""

    def document(self) -> dict[str, Any]:
        return {"table": self.table, "columns": list(self.columns), "rows": list(self.rows), "more": self.more}


def list_quarantine(
    workspace: Workspace, name: str | None = None, statuses: tuple[str, ...] = (OPEN,)
) -> QuarantineList:
    """Of all tables, or of the one with this name; every table as one publish left it."""
    entries: list[QuarantineEntry] = []
    tables: list[QuarantinedTable] = []
    for quarantine in _quarantines(workspace, name):
        counts = count_by_rule(quarantine, QuarantineFilter(statuses=statuses))
        owner = quarantine.owner.short(workspace.settings.project.namespace)
        tables.append(QuarantinedTable(owner, counts.rows, **{status: counts.by_status[status] for status in STATUSES}))
        entries += counts.entries(owner)
    return QuarantineList(tuple(entries), tuple(tables))


def count_by_rule(quarantine: Quarantine, chosen: QuarantineFilter) -> CountsByRule:
    counts = CountsByRule(chosen)
    wanted = ("_reasons", "_columns", "_run_id", "_quarantined_at", "_line", "_source_file", STATUS, *_OF_CONTRACTS)
    names = [name for name in wanted if name in quarantine.columns]
    for batch in read_batches(quarantine.pointer, names, chosen.equal(names)):
        counts.add(batch)
    return counts


def find_quarantine(workspace: Workspace, name: str) -> Quarantine:
    for quarantine in _quarantines(workspace, name):
        return quarantine
    raise SelectionError(f"'{name}' has no published quarantine", remedy="A run with quarantine makes one.")


def _quarantines(workspace: Workspace, name: str | None) -> Iterator[Quarantine]:
    heads = workspace.heads()
    quarantines = sorted(table for table in heads if table.beside_quarantine is not None)
    if name is not None:
        quarantines = [_named(workspace, name, quarantines)]
    for table in quarantines:
        metadata = read_metadata(heads[table])
        if isinstance(metadata, TableMetadata) and QUARANTINE_PROPERTY in metadata.properties:
            yield Quarantine(table, heads[table], metadata)


def _named(workspace: Workspace, name: str, quarantines: Collection[TableName]) -> TableName:
    """By the name of the table, or of its quarantine."""
    namespace, word = workspace.settings.project.namespace, name.lower()
    for table in quarantines:
        if any(word in (form.short(namespace).lower(), str(form).lower()) for form in (table, _owner(table))):
            return table
    meant = [table for table in quarantines if word in (table.name.lower(), _owner(table).name.lower())]
    if len(meant) > 1:
        from tidegate.planner.selection import ambiguous_name

        raise ambiguous_name(name, [_owner(table).short(namespace) for table in meant])
    if meant:
        return meant[0]
    names = [_owner(table).short(namespace) for table in quarantines]
    near = nearest(name, names)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "`tidegate quarantine list` lists those that have one."
    raise SelectionError(f"'{name}' has no published quarantine", remedy=remedy)


def _owner(table: TableName) -> TableName:
    return table.beside_quarantine or table


class CountsByRule:
    """Rows by status, stage, column and rule, added batch by batch."""

    def __init__(self, chosen: QuarantineFilter = QuarantineFilter()) -> None:  # noqa: B008 - frozen
        self.rows = 0
        self.by_status: Counter[str] = Counter()
        """Of all rows, whether they are chosen or not."""

        self._chosen = chosen
        self._found: dict[tuple[str, str, str | None, str], tuple[int, datetime, str]] = {}

    def add(self, batch: pyarrow.RecordBatch) -> None:
        for value, count in zip(*_value_counts(statuses_of(batch)), strict=True):
            self.by_status[value] += count
        batch = self._chosen.matching(batch)
        self.rows += batch.num_rows
        failures = _failures(batch) if "_failures" in batch.schema.names else _reasons(batch)
        keys = [name for name in failures.column_names if name not in ("row", "run", "at")]
        # A row counts once for a rule, however often it breaks it.
        once = failures.group_by(["row", *keys], use_threads=False).aggregate([("run", "max"), ("at", "max")])
        groups = once.group_by(keys, use_threads=False).aggregate(
            [("row", "count"), ("run_max", "max"), ("at_max", "max")]
        )
        for group in groups.to_pylist():
            key = group["status"], group["stage"], *_rule_of(group)
            rows, at, run = self._found.get(key, (0, group["at_max_max"], group["run_max_max"]))
            newest = max((at, run), (group["at_max_max"], group["run_max_max"]))
            self._found[key] = (rows + group["row_count"], *newest)

    def entries(self, table: str) -> Iterator[QuarantineEntry]:
        for key in sorted(self._found, key=lambda key: (STATUSES.index(key[0]), *map(str, key[1:]))):
            status, stage, column, rule = key
            rows, at, run = self._found[key]
            yield QuarantineEntry(table, stage, column, rule, rows, run, at, status)


def _value_counts(values: Any) -> tuple[list[str], list[int]]:
    import pyarrow.compute as pc

    counts = pc.value_counts(values)
    return counts.field("values").to_pylist(), counts.field("counts").to_pylist()


def _failures(batch: pyarrow.RecordBatch) -> pyarrow.Table:
    """One row for each failure of a contract's row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    failures = batch.column("_failures")
    rows = pc.list_parent_indices(failures)
    flat = pc.list_flatten(failures)
    columns = {name: pc.struct_field(flat, name) for name in ("stage", "column", "rule")}
    return pa.table({"row": rows, **columns, **_run_of(batch, rows)})


def _reasons(batch: pyarrow.RecordBatch) -> pyarrow.Table:
    """One row for each reason of a model's row, with all columns that the reasons of the row are about."""
    import pyarrow as pa
    import pyarrow.compute as pc

    reasons = batch.column("_reasons")
    rows = pc.list_parent_indices(reasons)
    columns = {
        "stage": pc.if_else(are_records(batch), LANDING, CONSTRAINT).take(rows),
        "reason": pc.list_flatten(reasons),
        "columns": pc.binary_join(batch.column("_columns"), _SEPARATOR).take(rows),
    }
    return pa.table({"row": rows, **columns, **_run_of(batch, rows)})


def _rule_of(group: Mapping[str, Any]) -> tuple[str | None, str]:
    """Column and rule. A model's reason is a constraint and what that expects; which of the columns of the row it is
    about is not recorded: those that it names are."""
    if "reason" not in group:
        return group["column"], group["rule"] or ""
    reason = group["reason"] or ""
    columns = [name for name in (group["columns"] or "").split(_SEPARATOR) if name]
    about = [name for name in columns if len(columns) == 1 or mentioned(reason, {name.lower()})]
    constraint, separator, _ = reason.partition("): ")
    return ", ".join(about) or None, f"{constraint})" if separator else reason


def _run_of(batch: pyarrow.RecordBatch, rows: Any) -> dict[str, Any]:
    about = {"run": batch.column("_run_id"), "at": batch.column("_quarantined_at"), "status": statuses_of(batch)}
    return {name: values.take(rows) for name, values in about.items()}


def show_quarantine(
    workspace: Workspace,
    name: str,
    limit: int = 20,
    chosen: QuarantineFilter = QuarantineFilter(),  # noqa: B008
) -> QuarantinedRows:
    """Rows with their reasons, without the values of hidden columns."""
    quarantine = find_quarantine(workspace, name)
    names = quarantine.columns
    found: list[dict[str, Any]] = []
    for batch in read_batches(quarantine.pointer, names, chosen.equal(names)):
        found += chosen.matching(batch).slice(0, limit + 1 - len(found)).to_pylist()
        if len(found) > limit:
            break
    try:
        compiled = workspace.compile()
    except TidegateError:
        compiled = None
    hidden = hidden_in_table(compiled, quarantine.table, names)
    rows = (redact_quarantined({key: plain(value) for key, value in row.items()}, hidden) for row in found[:limit])
    shown = [*(name for name in names if not name.startswith("_")), *(name for name in names if name.startswith("_"))]
    owner = quarantine.owner.short(workspace.settings.project.namespace)
    return QuarantinedRows(owner, tuple(shown), tuple(rows), len(found) > limit)
