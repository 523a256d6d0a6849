"""Two snapshots of one table compared: by row lineage where it reaches, else by key or by whole rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.metadata import Field, Snapshot, TableMetadata
from tidegate.operations.diff.moved_tables import MovedTable
from tidegate.quality import plain
from tidegate.runs.build.row_diff_sql import AFTER, BEFORE, KIND, Pair, matched_rows, same_rows_changed
from tidegate.write.write_columns import TableColumn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

__all__ = ["RowChange", "TableDiff", "compare_snapshots"]

_KINDS = ("updated", "inserted", "deleted")


@dataclass(frozen=True, slots=True)
class RowChange:
    kind: str
    """inserted, updated or deleted."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableDiff:
    table: str
    change: str
    """new, changed, dropped, recreated, expired or view."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    columns: Mapping[str, int] = field(default_factory=dict)
    """Those whose values changed, each with the number of rows."""

    columns_added: tuple[str, ...] = ()
    columns_dropped: tuple[str, ...] = ()
    columns_renamed: Mapping[str, str] = field(default_factory=dict)
    matched_by: str | None = None
    """How a row was found again: `lineage`, `key`, or `rows` (by all its values: nothing is called updated)."""

    key: tuple[str, ...] = ()
    """The columns that identify a row."""

    samples: tuple[RowChange, ...] = ()
    note: str = ""

    @property
    def silent(self) -> bool:
        """Written again with the rows it had."""
        reshaped = self.columns_added or self.columns_dropped or self.columns_renamed
        return self.change == "changed" and not (self.inserted or self.updated or self.deleted or reshaped)


def compare_snapshots(
    session: SparkSession, moved: MovedTable, key: tuple[str, ...], name: str, limit: int
) -> TableDiff:
    """`session` stands on a branch where the table is at `moved.pointer`; `key` are the columns declared to be one."""
    assert moved.metadata is not None
    assert moved.after is not None
    return _Comparison(session, moved, moved.metadata, moved.after, key).result(name, limit)


class _Comparison:
    """Two snapshots of one table."""

    def __init__(
        self, session: SparkSession, moved: MovedTable, metadata: TableMetadata, after: Snapshot, key: tuple[str, ...]
    ) -> None:
        self.session = session
        self.moved = moved
        self.metadata = metadata
        self.before = moved.before
        self.after = after
        pairs = _pairs(metadata.fields_of(moved.before) if moved.before else (), metadata.fields_of(after))
        self.keys = self._keys(key, pairs)
        names = {pair.name for pair in self.keys}
        self.pairs = tuple(replace(pair, is_key=pair.name in names) for pair in pairs)

    def result(self, name: str, limit: int) -> TableDiff:
        sql, matched_by = self._changes()
        changes = self.session.sql(sql)
        if self.before is not None:
            changes = changes.persist()  # what differs is looked at twice, and is dear to find
        try:
            counts, columns = self._count(changes)
            samples = self._samples(changes, [kind for kind in _KINDS if counts.get(kind)], limit) if limit else ()
        finally:
            changes.unpersist()
        old = self.before is not None
        return TableDiff(
            table=name,
            change=self.moved.change,
            inserted=counts.get("inserted", 0),
            updated=counts.get("updated", 0),
            deleted=counts.get("deleted", 0) + (self.moved.rows_before if self.moved.change == "recreated" else 0),
            columns=columns,
            columns_added=tuple(pair.name for pair in self.pairs if pair.before is None and old),
            columns_dropped=tuple(pair.name for pair in self.pairs if pair.after is None),
            columns_renamed={
                pair.before.name: pair.after.name
                for pair in self.pairs
                if pair.before and pair.after and pair.before.name != pair.after.name
            },
            matched_by=matched_by,
            key=tuple(pair.name for pair in self.keys),
            samples=samples,
            note=self.moved.note,
        )

    def _changes(self) -> tuple[str, str | None]:
        now = f"(SELECT * FROM {self._at(self.after)})"
        if self.before is None:
            return matched_rows(None, now, self.pairs, ()), None
        if not self._has_lineage(self.before):
            then = f"(SELECT * FROM {self._at(self.before)})"
            keys = self.keys or self._comparable_pairs()
            return matched_rows(then, now, self.pairs, keys), "key" if self.keys else "rows"
        newer = f"{self._at(self.after)} WHERE _last_updated_sequence_number > {self.before.sequence_number}"
        first_new = self.before.next_row_id
        row = self.session.sql(
            f"SELECT count_if(_row_id >= {first_new}) AS came, count(*) AS newer FROM {newer}"
        ).first()
        came, updated = (int(row["came"]), int(row["newer"]) - int(row["came"])) if row is not None else (0, 0)
        gone = self.before.rows + came - self.after.rows
        parts = []
        if updated:
            touched = f"(SELECT *, _row_id FROM {newer} AND _row_id < {first_new})"
            parts.append(same_rows_changed(f"(SELECT *, _row_id FROM {self._at(self.before)})", touched, self.pairs))
        if came or gone:
            arrived = f"(SELECT * FROM {newer} AND _row_id >= {first_new})" if came else None
            left = self._gone(self.before) if gone else None
            parts.append(matched_rows(left, arrived, self.pairs, self.keys or self._comparable_pairs()))
        nothing = matched_rows(None, f"(SELECT * FROM {self._at(self.after)} WHERE false)", self.pairs, ())
        return " UNION ALL ".join(parts or [nothing]), "lineage"

    def _gone(self, before: Snapshot) -> str:
        names = ", ".join(pair.before.quoted for pair in self.pairs if pair.before)
        return (
            f"(SELECT {names} FROM (SELECT *, _row_id AS __tidegate_id FROM {self._at(before)}) __then"
            f" LEFT ANTI JOIN (SELECT _row_id AS __tidegate_id FROM {self._at(self.after)}) __now"
            f" ON __then.__tidegate_id = __now.__tidegate_id)"
        )

    def _has_lineage(self, before: Snapshot) -> bool:
        line = any(snapshot.id == before.id for snapshot in self.metadata.ancestors(self.after))
        return line and self.metadata.format_version >= 3 and before.first_row_id is not None

    def _at(self, snapshot: Snapshot) -> str:
        return f"{self.moved.table.quoted} VERSION AS OF {snapshot.id}"

    def _comparable_pairs(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.before and pair.after)

    def _keys(self, names: tuple[str, ...], pairs: Sequence[Pair]) -> tuple[Pair, ...]:
        by_name = {pair.name.lower(): replace(pair, is_key=True) for pair in pairs if pair.after}
        key_pairs = [by_name.get(name.lower()) for name in names]
        keys = tuple(pair for pair in key_pairs if pair is not None and (pair.before or self.before is None))
        return keys if len(keys) == len(names) else ()

    def _count(self, changes: DataFrame) -> tuple[dict[str, int], dict[str, int]]:
        """How many rows of each kind, and of updated ones how many in each column: one pass."""
        from pyspark.sql import functions as f

        compared = [pair for pair in self.pairs if pair.after and self.before]
        differ = [
            f.expr(f"count_if({pair.differs(BEFORE, AFTER)})").alias(f"c{at}") for at, pair in enumerate(compared)
        ]
        rows: list[Row] = changes.groupBy(KIND).agg(f.count("*").alias("n"), *differ).collect()
        updated = next((row for row in rows if row[KIND] == "updated"), None)
        columns = {pair.name: int(updated[f"c{at}"]) for at, pair in enumerate(compared)} if updated else {}
        return {row[KIND]: int(row["n"]) for row in rows}, {name: n for name, n in columns.items() if n}

    def _samples(self, changes: DataFrame, kinds: Sequence[str], limit: int) -> tuple[RowChange, ...]:
        from pyspark.sql import functions as f

        compared = [pair for pair in self.pairs if pair.after and self.before]
        differs = f.array(*(f.expr(pair.differs(BEFORE, AFTER)) for pair in compared)) if compared else f.array()
        samples: list[RowChange] = []
        for kind in kinds:
            side = BEFORE if kind == "deleted" else AFTER
            order = [f.expr(value) for value in self._order(kind == "deleted", side)]
            chosen = changes.where(f.col(KIND) == kind).orderBy(*order).limit(limit)
            for row in chosen.select(BEFORE, AFTER, differs.alias("differs")).collect():
                differing = zip(compared, row["differs"], strict=True) if kind == "updated" else ()
                columns = tuple(pair.name for pair, is_different in differing if is_different)
                samples.append(RowChange(kind, plain(row[BEFORE]), plain(row[AFTER]), columns))
        return tuple(samples)

    def _order(self, deleted: bool, side: str) -> list[str]:
        """By key, so that the same samples come each time."""
        pairs = self.keys or self.pairs[:1]
        return [value for pair in pairs if (value := pair.values(side, side)[0 if deleted else 1]) != "NULL"]


def _pairs(before: Sequence[Field], after: Sequence[Field]) -> tuple[Pair, ...]:
    """By field id: a column that was renamed is the same column."""

    def column(field: Field | None) -> TableColumn | None:
        return None if field is None else TableColumn(field.name, spark_type(field.type))

    then, now = {f.id: f for f in before}, {f.id for f in after}
    pairs = [Pair(column(then.get(f.id)), column(f)) for f in after]
    return (*pairs, *(Pair(column(f), None) for f in before if f.id not in now))
