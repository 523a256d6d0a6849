"""The rows that a table gained since a model last read it, as a relation for its query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from tidegate.datatypes import DataType
from tidegate.errors import DriftRefusedError, StrategyError
from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.metadata import Field, Snapshot, TableMetadata
from tidegate.lake.progress import TableInput
from tidegate.names import TableName, quote
from tidegate.planner.row_keys import is_enforced
from tidegate.widening import join_types
from tidegate.write.spark_sql import comparable, conversion

__all__ = ["InsertedRows", "inserted_rows"]

_CASTABLE = (
    frozenset({"int", "bigint", "float", "double", "decimal", "boolean", "string"}),
    frozenset({"date", "timestamp", "timestamp_ntz", "string"}),
    frozenset({"binary", "string"}),
)
"""Kinds of which each is cast to each other."""


@dataclass(frozen=True, slots=True)
class InsertedRows:
    sql: str
    """A query of the new rows, in parentheses."""

    repeated: str = ""
    """Where nothing enforces the key: a relation of the keys that more than one row has, now or when the table was
    read. If it has rows, `sql` would lose some: use `with_repeated`."""

    with_repeated: Callable[[str], str] = str
    """The query of the new rows, with those of repeated keys compared by all their values. It takes the name of a
    relation that holds `repeated`, as that reads both states of the table whole; raises where values cannot be
    compared."""


def inserted_rows(
    table: TableName, metadata: TableMetadata, since: TableInput, key: Sequence[str] = ()
) -> InsertedRows | None:
    """None where every row is new. `key`: the columns that identify the table's rows.

    With a key, a row is new if no row had its key when the table was read, however the table was written since. Without
    one, row lineage separates inserts from updates: an updated row keeps its id. But a row that was deleted and written
    again has a new id, as after a rewrite of the whole table or of a group. So where rows went, as many copies of a row
    are new as came under new ids beyond those that went. Where the table is no successor of what was read (it was
    rolled back), ids mean nothing, and all its rows are compared with all that were read.
    """
    if since.snapshot_id is None:
        return None
    if since.uuid != metadata.uuid:
        raise _unknown(table, "it was dropped and created again")
    newer = _newer_commits(metadata, since.snapshot_id)
    discarded = [metadata.snapshots[id] for id in since.discarded if id in metadata.snapshots]
    if (
        newer is not None
        and metadata.format_version >= 3
        and not discarded
        and _only_inserts(metadata, newer, since, key)
    ):
        return InsertedRows(f"(SELECT * FROM {table.quoted} WHERE _row_id >= {since.next_row_id})")
    before = metadata.snapshots.get(since.snapshot_id)
    if before is None:
        raise _unknown(table, "the snapshot that was read last has expired")
    lineage = newer is not None and metadata.format_version >= 3 and before.first_row_id is not None
    read = (before, *discarded)
    fields = _key_fields(metadata, read, key)
    keyed = [_TableSide(table, metadata, snapshot, since, fields) for snapshot in read]
    if all(side.pairs and all(side.pairs) for side in keyed):
        written = f" WHERE _last_updated_sequence_number > {since.sequence_number}" if lineage else ""
        candidates = f"(SELECT * FROM {table.quoted}{written})"
        by_key = _without(metadata, candidates, keyed, counted=False)
        if is_enforced(metadata, key, *read) and _have_same_types(metadata, read, fields):
            return InsertedRows(by_key)
        return InsertedRows(by_key, _repeated(candidates, keyed), partial(_both, metadata, candidates, keyed, since))
    sides = [_TableSide(table, metadata, snapshot, since, metadata.fields) for snapshot in read]
    if lineage and not discarded:
        sides[0].only_gone = True
        return InsertedRows(
            _without(metadata, f"{table.quoted} WHERE _row_id >= {since.next_row_id}", sides, counted=True)
        )
    return InsertedRows(_without(metadata, table.quoted, sides, counted=True))


def _repeated(candidates: str, sides: Sequence[_TableSide]) -> str:
    """The keys of `candidates` that several rows have, in the table as it is or in a state that was read."""
    now = _key_of(sides[0], at=0)
    states = [(now, sides[0].table.quoted), *((_key_of(side, at=1), side.rows) for side in sides)]
    several = " UNION ".join(
        f"SELECT `__key` FROM (SELECT {key} AS `__key` FROM {rows}) GROUP BY `__key` HAVING count(*) > 1"
        for key, rows in states
    )
    candidate_keys = f"SELECT {now} AS `__asked` FROM {candidates}"
    return f"(SELECT `__key` FROM ({several}) LEFT SEMI JOIN ({candidate_keys}) ON `__key` <=> `__asked`)"


def _both(
    metadata: TableMetadata, candidates: str, keyed: Sequence[_TableSide], since: TableInput, repeated: str
) -> str:
    """Rows of `repeated` keys compared by their values, however they were written, and all others by their key."""
    table, key = keyed[0].table, _key_of(keyed[0], at=0)
    sides = [_TableSide(table, metadata, side.snapshot, since, metadata.fields) for side in keyed]
    others = f"{candidates} LEFT ANTI JOIN {repeated} ON {key} <=> `__key`"
    shared = f"{table.quoted} LEFT SEMI JOIN {repeated} ON {key} <=> `__key`"
    return (
        f"(SELECT * FROM {_without(metadata, others, keyed, counted=False)}"
        f" UNION ALL SELECT * FROM {_without(metadata, shared, sides, counted=True)})"
    )


def _key_of(side: _TableSide, *, at: int) -> str:
    """A key as one value: of a row now (0), or as it was (1)."""
    return f"struct({', '.join(f'{pair[at]} AS `k{i}`' for i, pair in enumerate(side.pairs) if pair)})"


def _newer_commits(metadata: TableMetadata, snapshot_id: int) -> list[Snapshot] | None:
    """The commits since this one; None: it is no ancestor of the present one."""
    newer: list[Snapshot] = []
    for snapshot in metadata.ancestors():
        if snapshot.id == snapshot_id:
            return newer
        newer.append(snapshot)
    return None


def _only_inserts(metadata: TableMetadata, newer: Sequence[Snapshot], since: TableInput, key: Sequence[str]) -> bool:
    """Whether the rows with new ids are just the new ones. Under a key that is enforced, appended rows are."""
    if not key:
        return not any(map(_removes, newer))
    appended = all(snapshot.operation in ("append", "replace") for snapshot in newer)
    return (
        appended and since.snapshot_id is not None and is_enforced(metadata, key, metadata.snapshots[since.snapshot_id])
    )


def _removes(snapshot: Snapshot) -> bool:
    """Whether the commit deleted rows. A MERGE reports how many; other commits are judged by their operation."""
    if snapshot.operation in ("append", "replace"):
        return False
    merged = snapshot.summary.get("spark.merge-into.num-target-rows-deleted")
    return merged != "0" or snapshot.count("deleted-data-files") > 0


def _key_fields(metadata: TableMetadata, snapshots: Sequence[Snapshot], key: Sequence[str]) -> tuple[Field, ...]:
    """The key's columns; none where the table lacks one, or lacked it when it was read."""
    names = {name.lower() for name in key}
    fields = tuple(field for field in metadata.fields if field.name.lower() in names)
    had = all(_then(metadata, snapshot, field) for snapshot in snapshots for field in fields)
    return fields if len(fields) == len(names) and had else ()


def _have_same_types(metadata: TableMetadata, snapshots: Sequence[Snapshot], fields: Sequence[Field]) -> bool:
    """Else values that differed may be the same in the type of now."""
    pairs = ((_then(metadata, snapshot, field), field) for snapshot in snapshots for field in fields)
    return all(then is not None and then.type == now.type for then, now in pairs)


def _then(metadata: TableMetadata, snapshot: Snapshot, field: Field) -> Field | None:
    """The column as it was: a renamed one keeps its id, one that was dropped and added again its name."""
    had = metadata.fields_of(snapshot)
    same = next((one for one in had if one.id == field.id), None)
    return same or next((one for one in had if one.name.lower() == field.name.lower()), None)


class _TableSide:
    """A state of the table that was read, and how its rows are compared with those of now: by `fields`.

    `only_gone`: only those of its rows count whose ids are no more.
    """

    def __init__(
        self,
        table: TableName,
        metadata: TableMetadata,
        snapshot: Snapshot,
        since: TableInput,
        fields: Sequence[Field],
    ) -> None:
        self.table = table
        self.snapshot = snapshot
        self.only_gone = False
        self.pairs = [
            _pair(table, then, field, since) for field in fields if (then := _then(metadata, snapshot, field))
        ]

    @property
    def rows(self) -> str:
        then = f"{self.table.quoted} VERSION AS OF {self.snapshot.id}"
        if not self.only_gone:
            return then
        return (
            f"(SELECT *, _row_id AS `__row` FROM {then}) b"
            f" LEFT ANTI JOIN (SELECT _row_id AS `__row` FROM {self.table.quoted}) c ON b.`__row` = c.`__row`"
        )


def _without(metadata: TableMetadata, rows: str, sides: Sequence[_TableSide], *, counted: bool) -> str:
    """The current rows that no side has. `counted`: duplicates are matched one by one."""
    sides = [side for side in sides if any(side.pairs)]
    columns = ", ".join(f"n.{quote(field.name)}" for field in metadata.fields)
    compared, joins = [], []
    for number, side in enumerate(sides):
        new, old = ([pair[at] for pair in side.pairs if pair] for at in (0, 1))
        compared.append(_as_one(new, number, counted))
        copies = f" AND n.`__copy{number}` = o{number}.`__copy{number}`" if counted else ""
        joins.append(
            f" LEFT ANTI JOIN (SELECT {_as_one(old, number, counted)} FROM {side.rows}) o{number}"
            f" ON n.`__values{number}` <=> o{number}.`__values{number}`{copies}"
        )
    return f"(SELECT {columns} FROM (SELECT {', '.join(['*', *compared])} FROM {rows}) n{''.join(joins)})"


def _as_one(values: Sequence[str], number: int, counted: bool) -> str:
    """All values as one struct, so that NULL equals NULL; if `counted`, also the number of the row among equal ones."""
    members = ", ".join(f"{value} AS `v{i}`" for i, value in enumerate(values))
    one = f"struct({members}) AS `__values{number}`"
    if not counted:
        return one
    return f"{one}, row_number() OVER (PARTITION BY {', '.join(values)} ORDER BY 1) AS `__copy{number}`"


def _pair(table: TableName, then: Field, now: Field, since: TableInput) -> tuple[str, str] | None:
    """How a column's value now and its value then are compared: in the type it has now. None: it is not."""
    before, after = spark_type(then.type), spark_type(now.type)
    column, was = quote(now.name), quote(then.name)
    if before == after or join_types(before, after) == after:
        value = conversion(was, before, after)
    elif _may_be_cast(before, after):
        value = f"TRY_CAST({was} AS {after.sql})"
    elif since.used is not None and now.name not in since.used:
        return None
    else:
        raise DriftRefusedError(
            f"column '{now.name}' of {table} was {before.sql} when its rows were read and is {after.sql} "
            "now: values of these types cannot be compared, so which rows are new is not known",
            where=str(table),
            remedy=(
                f"Give the new column another name in {table}, or cast it there to {before.sql}; "
                "or build this model from all rows with --full-refresh."
            ),
        )
    return comparable(column, after), comparable(value, after)


def _may_be_cast(before: DataType, after: DataType) -> bool:
    return any({before.kind, after.kind} <= kinds for kinds in _CASTABLE)


def _unknown(table: TableName, because: str) -> StrategyError:
    return StrategyError(
        f"It is not known which rows of {table} are new: {because}",
        where=str(table),
        remedy="Build it from all rows with --full-refresh, or make it incremental with a unique_key.",
    )
