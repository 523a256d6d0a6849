"""The columns of a table: how it is created, and follows batches that have others, or wider types, than it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.chunks.table_batch import TableKey
from tidegate.errors import DriftRefusedError, StrategyError
from tidegate.widening import join_types
from tidegate.write.drift import aligned_values
from tidegate.write.spark_sql import alterations, quote
from tidegate.write.write_columns import TableColumn, TableColumns, columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["adapt_table", "create_sql", "key_columns", "partition_column"]


def key_columns(columns: TableColumns, key: TableKey, where: str) -> TableColumns:
    return TableColumns(tuple(_require(columns, name, "primary_key", where) for name in key.columns))


def partition_column(columns: TableColumns, key: TableKey, where: str) -> str | None:
    return None if key.partition is None else _require(columns, key.partition, "partition_key", where).name


def _require(columns: TableColumns, name: str, setting: str, where: str) -> TableColumn:
    column = columns.get(name)
    if column is None:
        raise StrategyError(
            f"{setting} names column '{name}', which the processed rows do not have; "
            f"they have {', '.join(columns.names)}",
            where=where,
            remedy=f"Correct {setting} in [chunks.sources] of tidegate.toml, or add the column to the rules.",
        )
    return column


def create_sql(relation: str, columns: TableColumns, table_format: str, partition: str | None) -> str:
    fields = ", ".join(f"{column.quoted} {column.type_sql}" for column in columns)
    partitioned = f" PARTITIONED BY ({quote(partition)})" if partition is not None else ""
    return f"CREATE TABLE IF NOT EXISTS {relation} ({fields}) USING {table_format}{partitioned}"


def adapt_table(
    session: SparkSession, relation: str, batch: TableColumns, delta: str | None = None
) -> tuple[TableColumns, tuple[str, ...]]:
    """The table's columns when they hold the batch's values, and what was changed for that, one line each.

    `delta`: the place of a Delta table; None: an Iceberg table. New columns and fields are added in place, and so is
    what Iceberg can widen. Else Delta's rows are written again, as its own widening would shut out readers that do not
    know it, and Iceberg refuses.
    """
    existing = columns_of(session.table(relation))
    wider = TableColumns(tuple(_joined(column, batch.get(column.name), relation) for column in existing))
    added = tuple(column for column in batch if column.name not in existing)
    changes = [_widened(old, new) for old, new in zip(existing, wider, strict=True) if new.type != old.type]
    changes += [f"column '{column.name}' added as {column.type_text}; NULL in earlier rows" for column in added]
    after = TableColumns((*wider, *added))
    if not changes:
        return after, ()
    clauses = _clauses(existing, wider, added, widens=delta is None)
    if clauses is None and delta is None:
        raise _refused(next(pair for pair in zip(existing, wider, strict=True) if pair[0] != pair[1]), relation)
    if clauses is None and delta is not None:
        _rewrite(session, relation, delta, existing, after)
    for clause in clauses or ():
        session.sql(f"ALTER TABLE {relation} {clause}")
    return after, tuple(changes)


def _joined(old: TableColumn, new: TableColumn | None, relation: str) -> TableColumn:
    if new is None:
        return old
    joined = join_types(old.type, new.type)
    if joined is None:
        raise _refused((old, new), relation)
    return TableColumn(old.name, joined)


def _refused(columns: tuple[TableColumn, TableColumn], relation: str) -> DriftRefusedError:
    old, new = columns
    return DriftRefusedError(
        f"column '{old.name}' is {old.type_text} in the table and {new.type_text} in the processed rows, "
        "and the table cannot hold both",
        where=relation,
        remedy="Give the column its former type in the rules of the source, or give the new one another name.",
    )


def _clauses(
    existing: TableColumns, wider: TableColumns, added: tuple[TableColumn, ...], widens: bool
) -> list[str] | None:
    """Of ALTER TABLE; None: the rows must be written again."""
    clauses: list[str] = []
    for old, new in zip(existing, wider, strict=True):
        steps = alterations(old.quoted, old.type, new.type)
        if steps is None or not (widens or all(step.startswith("ADD ") for step in steps)):
            return None
        clauses += steps
    if added:
        clauses.append(f"ADD COLUMNS ({', '.join(f'{column.quoted} {column.type_sql}' for column in added)})")
    return clauses


def _rewrite(session: SparkSession, relation: str, place: str, existing: TableColumns, after: TableColumns) -> None:
    partitions = session.sql(f"DESCRIBE DETAIL {relation}").collect()[0]["partitionColumns"]
    rows = session.table(relation).selectExpr(*aligned_values(after, existing))
    writer = rows.write.format("delta").mode("overwrite").partitionBy(*partitions)
    writer.option("overwriteSchema", "true").option("partitionOverwriteMode", "static").save(place)


def _widened(old: TableColumn, new: TableColumn) -> str:
    return f"column '{old.name}' widened from {old.type_text} to {new.type_text}"
