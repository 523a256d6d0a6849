"""How a Delta table follows batches that have other columns, or wider types, than it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.errors import DriftRefusedError
from tidegate.widening import join_types
from tidegate.write.drift import aligned_values
from tidegate.write.spark_sql import alterations
from tidegate.write.write_columns import TableColumn, TableColumns, columns_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["adapt_table"]


def adapt_table(
    session: SparkSession, relation: str, place: str, batch: TableColumns
) -> tuple[TableColumns, tuple[str, ...]]:
    """The table's columns when they hold the batch's values, and what was changed for that, one line each.

    New columns and fields are added in place. For another type the rows are written again, as Delta's own widening
    would shut out readers that do not know it.
    """
    existing = columns_of(session.table(relation))
    wider = TableColumns(tuple(_joined(column, batch.get(column.name), relation) for column in existing))
    added = tuple(column for column in batch if column.name not in existing)
    changes = [_widened(old, new) for old, new in zip(existing, wider, strict=True) if new.type != old.type]
    changes += [f"column '{column.name}' added as {column.type_text}; NULL in earlier rows" for column in added]
    after = TableColumns((*wider, *added))
    if not changes:
        return after, ()
    clauses = _clauses(existing, wider, added)
    if clauses is None:
        _rewrite(session, relation, place, existing, after)
    for clause in clauses or ():
        session.sql(f"ALTER TABLE {relation} {clause}")
    return after, tuple(changes)


def _joined(old: TableColumn, new: TableColumn | None, relation: str) -> TableColumn:
    if new is None:
        return old
    joined = join_types(old.type, new.type)
    if joined is None:
        raise DriftRefusedError(
            f"column '{old.name}' is {old.type_text} in the table and {new.type_text} in the processed rows, "
            "and no type holds both",
            where=relation,
            remedy="Give the column its former type in the rules of the source, or give the new one another name.",
        )
    return TableColumn(old.name, joined)


def _clauses(existing: TableColumns, wider: TableColumns, added: tuple[TableColumn, ...]) -> list[str] | None:
    """Of ALTER TABLE; None: the rows must be written again."""
    clauses: list[str] = []
    for old, new in zip(existing, wider, strict=True):
        steps = alterations(old.quoted, old.type, new.type)
        if steps is None or any(not step.startswith("ADD ") for step in steps):
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
