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
    parse_type,
)
from tidegate.project import Materialized, Model, ModelSettings
from tidegate.widening import stored_type

__all__ = [
    "ABOUT_BAD_RECORDS",
    "ABOUT_DELIVERED",
    "ABOUT_JUDGED",
    "ABOUT_REFUSED",
    "ABOUT_STATUS",
    "FROM_SOURCE",
    "IS_CURRENT",
    "RECORD_TEXT",
    "ROW_IDENTITY",
    "SOURCE_FILE",
    "SOURCE_LINE",
    "SOURCE_ROW",
    "columns_of_quarantine",
    "judged_columns",
    "quarantine_columns",
    "shared_columns",
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
"""The columns that a quarantine adds to each row: the broken constraints, their columns, the run and the time."""
SOURCE_FILE, SOURCE_LINE, RECORD_TEXT = "_source_file", "_line", "_text"
ABOUT_BAD_RECORDS = (
    Column(SOURCE_FILE, STRING, nullable=True),
    Column(SOURCE_LINE, BIGINT, nullable=True),
    Column(RECORD_TEXT, STRING, nullable=True),
)
"""Further columns where it can hold records of landing files: zone and file, line, and the record itself."""
SOURCE_ROW = "_source_row"
ABOUT_DELIVERED = (
    Column("_ingested_at", TIMESTAMP, nullable=False),
    Column(SOURCE_FILE, STRING, nullable=False),
    Column(SOURCE_ROW, BIGINT, nullable=False),
    Column("_run_id", STRING, nullable=False),
    Column("_op", STRING, nullable=False),
    Column("_commit_time", TIMESTAMP, nullable=False),
    Column("_sequence", STRING, nullable=False),
)
"""The columns that each row of a raw landing zone gets: when it was ingested, its file (zone and path) and its number
there, the run, the operation, the time at which the source committed it, and its order among rows of that time."""
FROM_SOURCE = ("_op", "_commit_time", "_sequence")
"""Those that a file may deliver itself."""

_FAILURES = "array<struct<stage:string,column:string,rule:string,message:string,value:string>>"
ABOUT_JUDGED = (
    Column("_stage", STRING, nullable=False),
    Column("_failures", parse_type(_FAILURES) or ANY, nullable=False),
    Column("_contract_id", STRING),
    Column("_contract_version", STRING),
    *(column for column in ABOUT_DELIVERED if column.name not in ("_ingested_at", "_run_id")),
)
"""Further columns where rows were judged by the stages of a contract: the stage, each failure, and the row's origin."""
ROW_IDENTITY = (SOURCE_FILE, SOURCE_ROW, "_commit_time", "_sequence")
"""Columns that identify a row of bronze, also in the quarantine: a file may be replaced by another of its name."""
ABOUT_STATUS = (
    Column("_status", STRING),
    Column("_status_by", STRING),
    Column("_status_run_id", STRING),
    Column("_status_at", TIMESTAMP),
    Column("_status_note", STRING),
)
"""What became of such a row: open, replayed or waived (NULL: open), through whom, by which run, when, and why."""


def table_columns(settings: ModelSettings, query: Relation | None, published: Relation = NOTHING_KNOWN) -> Relation:
    """`published`: the columns of the published table, which fill in what the query leaves open."""
    result = query or NOTHING_KNOWN
    if settings.materialized is Materialized.TABLE:
        result = Relation(
            tuple(Column(c.name, stored_type(c.type), c.nullable) for c in result.columns), result.complete
        )
        if settings.traits.keeps_versions:
            result = Relation((*result.columns, *_versions(settings)), result.complete)
    if result.complete:
        return result
    names = {column.name.lower() for column in result.columns}
    more = tuple(column for column in published.columns if column.name.lower() not in names)
    return Relation((*result.columns, *more), complete=False)


def visible_columns(model: Model, query: Relation | None, published: Relation = NOTHING_KNOWN) -> Relation:
    """The columns that readers of the model's table can rely on; its contract fills in what is not known."""
    relation = table_columns(model.settings, query, published)
    if model.contract is None:
        return relation
    promised = {rule.name.lower(): _promised(rule) for rule in model.contract.columns}
    columns = [_filled(column, promised.pop(column.name.lower(), column)) for column in relation.columns]
    more = () if relation.complete else promised.values()
    return Relation((*columns, *more), relation.complete)


def columns_of_quarantine(bad_records: bool) -> tuple[Column, ...]:
    """The columns that a quarantine adds. `bad_records`: also those for records of landing files."""
    return (*ABOUT_REFUSED, *ABOUT_BAD_RECORDS) if bad_records else ABOUT_REFUSED


def judged_columns(query: Relation | None) -> Relation:
    """The columns of the quarantine of a contract's silver table: its own as text, as they were at the stage."""
    about = (*ABOUT_REFUSED, *ABOUT_JUDGED, *ABOUT_STATUS)
    names = {column.name for column in about}
    own = (Column(column.name, STRING) for column in (query or NOTHING_KNOWN).columns if column.name not in names)
    return Relation((*own, *about), complete=False)


def shared_columns(model: Model) -> frozenset[str]:
    """The columns of a result that mean what those of its quarantine mean: bronze says where each row comes from."""
    return frozenset({"_run_id", SOURCE_FILE}) if model.stage is not None else frozenset()


def quarantine_columns(
    query: Relation | None, published: Relation = NOTHING_KNOWN, bad_records: bool = False
) -> Relation:
    """The columns of a model's quarantine. It may still have columns that the query no longer gives."""
    added = columns_of_quarantine(bad_records)
    result = [c for c in (query or NOTHING_KNOWN).columns if c.name not in {column.name for column in added}]
    columns = (*(Column(c.name, stored_type(c.type)) for c in result), *added)
    names = {column.name.lower() for column in columns}
    return Relation((*columns, *(c for c in published.columns if c.name.lower() not in names)), complete=False)


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
