"""The columns that a table has when a query's result has been written into it."""

from __future__ import annotations

from tidegate.contracts import ColumnRule
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BOOLEAN,
    NOTHING_KNOWN,
    STRING,
    TIMESTAMP,
    Column,
    Relation,
    array,
)
from tidegate.project import Materialized, Model, ModelSettings
from tidegate.widening import stored_type

__all__ = [
    "ABOUT_BAD_RECORDS",
    "ABOUT_REFUSED",
    "IS_CURRENT",
    "RECORD_TEXT",
    "SOURCE_FILE",
    "SOURCE_LINE",
    "columns_of_quarantine",
    "quarantine_columns",
    "table_columns",
    "visible_columns",
]

IS_CURRENT = "is_current"
ABOUT_REFUSED = (
    Column("_reasons", array(STRING), nullable=False),
    Column("_columns", array(STRING), nullable=False),
    Column("_run_id", STRING, nullable=False),
    Column("_quarantined_at", TIMESTAMP, nullable=False),
)
"""What a quarantine says of each row: the constraints that it breaks, their columns, by which run and when."""
SOURCE_FILE, SOURCE_LINE, RECORD_TEXT = "_source_file", "_line", "_text"
ABOUT_BAD_RECORDS = (
    Column(SOURCE_FILE, STRING, nullable=True),
    Column(SOURCE_LINE, BIGINT, nullable=True),
    Column(RECORD_TEXT, STRING, nullable=True),
)
"""What it says beside that where records of landing files can be in it: zone and file, line, and the record itself."""


def table_columns(settings: ModelSettings, query: Relation | None, published: Relation = NOTHING_KNOWN) -> Relation:
    """`published`: the columns of the table as it stands, which fill in what the query leaves open."""
    result = query or NOTHING_KNOWN
    if settings.materialized is Materialized.TABLE:
        result = Relation(
            tuple(Column(c.name, stored_type(c.type), c.nullable) for c in result.columns), result.complete
        )
        if settings.traits.keeps_versions:
            result = Relation((*result.columns, *_versions(settings)), result.complete)
    if result.complete:
        return result
    known = {column.name.lower() for column in result.columns}
    more = tuple(column for column in published.columns if column.name.lower() not in known)
    return Relation((*result.columns, *more), complete=False)


def visible_columns(model: Model, query: Relation | None, published: Relation = NOTHING_KNOWN) -> Relation:
    """What those who read the model's table can know of it: what its contract promises stands for what is not known."""
    relation = table_columns(model.settings, query, published)
    if model.contract is None:
        return relation
    promised = {rule.name.lower(): _promised(rule) for rule in model.contract.columns}
    columns = [_filled(column, promised.pop(column.name.lower(), column)) for column in relation.columns]
    more = () if relation.complete else promised.values()
    return Relation((*columns, *more), relation.complete)


def columns_of_quarantine(bad_records: bool) -> tuple[Column, ...]:
    """The columns that a quarantine has of its own. `bad_records`: of landing files, too."""
    return (*ABOUT_REFUSED, *ABOUT_BAD_RECORDS) if bad_records else ABOUT_REFUSED


def quarantine_columns(
    query: Relation | None, published: Relation = NOTHING_KNOWN, bad_records: bool = False
) -> Relation:
    """Of the rows that a model refused. Columns that its query no longer gives may be there still."""
    result = (query or NOTHING_KNOWN).columns
    columns = (*(Column(c.name, stored_type(c.type)) for c in result), *columns_of_quarantine(bad_records))
    known = {column.name.lower() for column in columns}
    return Relation((*columns, *(c for c in published.columns if c.name.lower() not in known)), complete=False)


def _promised(rule: ColumnRule) -> Column:
    exact = rule.type.value.type if rule.type and not rule.type.value.any_decimal else None
    return Column(rule.name, exact or ANY, False if rule.nullable and not rule.nullable.value else None)


def _filled(column: Column, promised: Column) -> Column:
    nullable = promised.nullable if column.nullable is None else column.nullable
    return Column(column.name, column.type if column.type.known else promised.type, nullable)


def _versions(settings: ModelSettings) -> tuple[Column, ...]:
    return (
        Column(settings.scd_valid_from, TIMESTAMP, nullable=False),
        Column(settings.scd_valid_to, TIMESTAMP, nullable=True),
        Column(IS_CURRENT, BOOLEAN, nullable=False),
    )
