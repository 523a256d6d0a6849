"""The columns that a table has when a query's result has been written into it."""

from __future__ import annotations

from tidegate.datatypes import ANY, BOOLEAN, INT, NOTHING_KNOWN, TIMESTAMP, Column, DataType, Relation, struct
from tidegate.project import Materialized, ModelSettings, Strategy

__all__ = ["IS_CURRENT", "table_columns"]

IS_CURRENT = "is_current"


def table_columns(settings: ModelSettings, query: Relation | None, published: Relation = NOTHING_KNOWN) -> Relation:
    """`published`: the columns of the table as it stands, which fill in what the query leaves open."""
    result = query or NOTHING_KNOWN
    if settings.materialized is Materialized.TABLE:
        result = Relation(tuple(Column(c.name, _stored(c.type), c.nullable) for c in result.columns), result.complete)
        if settings.strategy is Strategy.SCD2:
            result = Relation((*result.columns, *_versions(settings)), result.complete)
    if result.complete:
        return result
    known = {column.name.lower() for column in result.columns}
    more = tuple(column for column in published.columns if column.name.lower() not in known)
    return Relation((*result.columns, *more), complete=False)


def _versions(settings: ModelSettings) -> tuple[Column, ...]:
    """`valid_from` has the type of the watermark, where that is one."""
    time = TIMESTAMP if settings.watermark_column is None else ANY
    return (
        Column(settings.scd_valid_from, time, nullable=False),
        Column(settings.scd_valid_to, time, nullable=True),
        Column(IS_CURRENT, BOOLEAN, nullable=False),
    )


def _stored(kind: DataType) -> DataType:
    """Iceberg has no integer smaller than four bytes."""
    match kind.kind:
        case "tinyint" | "smallint":
            return INT
        case "struct":
            return struct((name, _stored(inner)) for name, inner in kind.args)
        case "array" | "map":
            return DataType(kind.kind, tuple(map(_stored, kind.args)))
        case _:
            return kind
