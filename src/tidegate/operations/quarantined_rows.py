"""The published tables of refused rows: which rules refused how many rows, and the rows themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.compiler.hidden_columns import hidden_in_table
from tidegate.errors import SelectionError, TidegateError
from tidegate.lake import Pointer, read_metadata
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.row_reader import read_batches
from tidegate.names import TableName, nearest
from tidegate.operations.redacted_rows import redact_quarantined
from tidegate.operations.workspace import Workspace
from tidegate.quality import plain
from tidegate.quality.check_queries import mentioned
from tidegate.write.quarantine_table import QUARANTINE_PROPERTY

if TYPE_CHECKING:
    import pyarrow

__all__ = ["QuarantineEntry", "QuarantineList", "QuarantinedRows", "list_quarantine", "show_quarantine"]

_OF_CONTRACTS = ("_stage", "_failures")
_SEPARATOR = "\x1f"
_STAGES_OF_MODELS = _LANDING, _CONSTRAINT = "landing", "constraint"
"""A model's quarantine has no column for the stage: only records that could not be read have the place of a line."""


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


@dataclass(frozen=True, slots=True)
class QuarantineList:
    entries: tuple[QuarantineEntry, ...]
    """By table, stage, column and rule."""

    tables: Mapping[str, int] = field(default_factory=dict)
    """Every table that has a quarantine, with the rows in it: a row that breaks several rules counts once."""

    def document(self) -> dict[str, Any]:
        return {
            "tables": [{"table": table, "rows": rows} for table, rows in self.tables.items()],
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


def list_quarantine(workspace: Workspace, name: str | None = None) -> QuarantineList:
    """Of all tables, or of the one with this name; every table as one publish left it."""
    namespace = workspace.settings.project.namespace
    entries: list[QuarantineEntry] = []
    tables: dict[str, int] = {}
    for table, pointer, metadata in _quarantines(workspace, name):
        owner = _owner(table).short(namespace)
        counts = _CountsByRule()
        for batch in read_batches(pointer, _about(metadata)):
            counts.add(batch)
        tables[owner] = counts.rows
        entries += counts.entries(owner)
    return QuarantineList(tuple(entries), tables)


def _about(metadata: TableMetadata) -> list[str]:
    """The columns that say why rows were refused: what is counted."""
    wanted = ("_reasons", "_columns", "_run_id", "_quarantined_at", "_line", *_OF_CONTRACTS)
    present = {field.name for field in metadata.fields}
    return [name for name in wanted if name in present]


def _quarantines(workspace: Workspace, name: str | None) -> Iterator[tuple[TableName, Pointer, TableMetadata]]:
    heads = workspace.heads()
    quarantines = sorted(table for table in heads if table.beside_quarantine is not None)
    if name is not None:
        quarantines = [_named(workspace, name, quarantines)]
    for table in quarantines:
        metadata = read_metadata(heads[table])
        if isinstance(metadata, TableMetadata) and QUARANTINE_PROPERTY in metadata.properties:
            yield table, heads[table], metadata


def _named(workspace: Workspace, name: str, quarantines: Collection[TableName]) -> TableName:
    """By the name of the table, or of its quarantine."""
    namespace = workspace.settings.project.namespace
    for table in quarantines:
        for known in (table, _owner(table)):
            if name.lower() in (known.name.lower(), known.short(namespace).lower(), str(known).lower()):
                return table
    names = [_owner(table).short(namespace) for table in quarantines]
    near = nearest(name, names)
    remedy = f"Did you mean {' or '.join(near)}?" if near else "`tidegate quarantine list` lists those that have one."
    raise SelectionError(f"'{name}' has no published quarantine", remedy=remedy)


def _owner(table: TableName) -> TableName:
    return table.beside_quarantine or table


class _CountsByRule:
    """Rows by stage, column and rule, added batch by batch."""

    def __init__(self) -> None:
        self.rows = 0
        self._found: dict[tuple[str, str | None, str], tuple[int, datetime, str]] = {}

    def add(self, batch: pyarrow.RecordBatch) -> None:
        self.rows += batch.num_rows
        failures = _failures(batch) if "_failures" in batch.schema.names else _reasons(batch)
        keys = [name for name in failures.column_names if name not in ("row", "run", "at")]
        # A row counts once for a rule, however often it breaks it.
        once = failures.group_by(["row", *keys], use_threads=False).aggregate([("run", "max"), ("at", "max")])
        groups = once.group_by(keys, use_threads=False).aggregate(
            [("row", "count"), ("run_max", "max"), ("at_max", "max")]
        )
        for group in groups.to_pylist():
            key = group["stage"], *_rule_of(group)
            rows, at, run = self._found.get(key, (0, group["at_max_max"], group["run_max_max"]))
            newest = max((at, run), (group["at_max_max"], group["run_max_max"]))
            self._found[key] = (rows + group["row_count"], *newest)

    def entries(self, table: str) -> Iterator[QuarantineEntry]:
        for stage, column, rule in sorted(self._found, key=lambda key: tuple(map(str, key))):
            rows, at, run = self._found[stage, column, rule]
            yield QuarantineEntry(table, stage, column, rule, rows, run, at)


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
        "stage": pc.if_else(_are_records(batch), _LANDING, _CONSTRAINT).take(rows),
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


def _are_records(batch: pyarrow.RecordBatch) -> Any:
    """Whether each row is a record of a landing file that could not be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "_line" not in batch.schema.names:
        return pa.array([False] * batch.num_rows)
    return pc.is_valid(batch.column("_line"))


def _run_of(batch: pyarrow.RecordBatch, rows: Any) -> dict[str, Any]:
    return {"run": batch.column("_run_id").take(rows), "at": batch.column("_quarantined_at").take(rows)}


def show_quarantine(
    workspace: Workspace,
    name: str,
    limit: int = 20,
    stage: str | None = None,
    column: str | None = None,
    run: str | None = None,
) -> QuarantinedRows:
    """Rows with their reasons, without the values of hidden columns."""
    ((table, pointer, metadata),) = _only(_quarantines(workspace, name), name)
    names = [field.name for field in metadata.fields]
    of_contract = set(_OF_CONTRACTS) <= set(names)
    equal = {} if run is None else {"_run_id": run}
    found: list[dict[str, Any]] = []
    if stage is not None and of_contract:
        equal["_stage"] = stage
    for batch in read_batches(pointer, names, equal):
        matching = _with_column(batch if of_contract else _of_stage(batch, stage), column)
        found += matching.slice(0, limit + 1 - len(found)).to_pylist()
        if len(found) > limit:
            break
    try:
        compiled = workspace.compile()
    except TidegateError:
        compiled = None
    hidden = hidden_in_table(compiled, table, names)
    rows = (redact_quarantined({key: plain(value) for key, value in row.items()}, hidden) for row in found[:limit])
    shown = [*(name for name in names if not name.startswith("_")), *(name for name in names if name.startswith("_"))]
    owner = _owner(table).short(workspace.settings.project.namespace)
    return QuarantinedRows(owner, tuple(shown), tuple(rows), len(found) > limit)


def _only(
    tables: Iterator[tuple[TableName, Pointer, TableMetadata]], name: str
) -> list[tuple[TableName, Pointer, TableMetadata]]:
    found = list(tables)
    if not found:
        raise SelectionError(f"'{name}' has no published quarantine", remedy="A run with quarantine makes one.")
    return found


def _of_stage(batch: pyarrow.RecordBatch, stage: str | None) -> pyarrow.RecordBatch:
    """Of a model's quarantine."""
    import pyarrow.compute as pc

    if stage is None:
        return batch
    if stage not in _STAGES_OF_MODELS:
        return batch.slice(0, 0)
    records = _are_records(batch)
    return batch.filter(records if stage == _LANDING else pc.invert(records))


def _with_column(batch: pyarrow.RecordBatch, column: str | None) -> pyarrow.RecordBatch:
    """The rows that were refused because of the column; case does not count."""
    if column is None:
        return batch
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = batch.column("_columns")
    matches = pc.equal(pc.utf8_lower(pc.list_flatten(columns)), column.lower())
    rows = pc.unique(pc.list_parent_indices(columns).filter(matches))
    return batch.take(rows.cast(pa.int64()))
