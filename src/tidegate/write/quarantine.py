"""A result written without the rows that break constraints: those go to a table of their own beside the model's.

The result is computed once, so that every row of it is in exactly one of the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.checks.row_constraints import RowConstraint
from tidegate.compiler.tables import ABOUT_REFUSED, IS_CURRENT
from tidegate.errors import FailureKind, QualityError, StrategyError, TidegateError
from tidegate.faults import fault
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, literal, quote
from tidegate.project.model import Strategy
from tidegate.quality.functions import OwnFunctions
from tidegate.quality.quarantine import GOOD, REFUSED, Look, Marked, Refused, about_refused, look_at, marked, unanswered
from tidegate.quality.samples import Columns as Shown
from tidegate.spark.failures import read_failure
from tidegate.write import WriteOutcome, WriteRequest, write
from tidegate.write.columns import Column, Columns, columns_of, result_columns
from tidegate.write.commits import existing_rows
from tidegate.write.drift import aligned
from tidegate.write.kept import FEW_ROWS, kept
from tidegate.write.keys import key_columns
from tidegate.write.sql import null_safe_join
from tidegate.write.staging import held, in_written_order
from tidegate.write.tables import refuse_untyped, starts_anew
from tidegate.write.time_interval import interval_condition
from tidegate.write.types import join_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["QUARANTINE_PROPERTY", "Sieve", "write_sieved"]

QUARANTINE_PROPERTY = "tidegate.quarantine"
"""Of a table of refused rows: the table beside which it stands."""

_MARKED = "__tidegate_marked"
_OF_AN_EXPRESSION = (FailureKind.QUERY_REJECTED, FailureKind.UNKNOWN)
_FOUND_BY = {
    Strategy.INCREMENTAL: "unique_key",
    Strategy.DELETE_INSERT: "unique_key",
    Strategy.SCD2: "unique_key",
    Strategy.TRACKED: "group_key",
}


@dataclass(frozen=True, slots=True)
class Sieve:
    """`whole`: all that there is was read, so what was refused before counts no more. `staged`: the result is put into
    a table first, because Spark might have to compute it again and find something else."""

    constraints: tuple[RowConstraint, ...]
    functions: OwnFunctions
    run_id: str
    whole: bool = False
    staged: bool = False


def write_sieved(request: WriteRequest, sieve: Sieve) -> tuple[WriteOutcome, tuple[Refused, ...]]:
    """What the strategy did with the rows that break nothing, and what became of each constraint that was asked here.

    A constraint that fails on some row refuses none. Whatever is raised, both tables on the branch are as they were.
    """
    columns = result_columns(request.table, request.result)
    refuse_untyped(request.table, columns)
    _refuse_own_columns(request, columns)
    found = marked(request.result, sieve.constraints, sieve.functions)
    try:
        return _write_marked(request, sieve, columns, found)
    except TidegateError:
        raise
    except Exception as error:
        if read_failure(error).kind not in _OF_AN_EXPRESSION:
            raise
        silent = unanswered(request.result, found.constraints, sieve.functions)
        if not silent:
            raise
    left_out = [refused.constraint for refused in silent]
    rest = [constraint for constraint in found.constraints if constraint not in left_out]
    outcome, refused = _write_marked(request, sieve, columns, marked(request.result, rest, sieve.functions))
    return outcome, (*refused, *silent)


def _write_marked(
    request: WriteRequest, sieve: Sieve, columns: Columns, found: Marked
) -> tuple[WriteOutcome, tuple[Refused, ...]]:
    if not found.constraints:
        return write(request), ()
    types = {field.name: field.dataType.simpleString() for field in request.result.schema.fields}
    shown = Shown(types, request.settings.unique_key, request.hidden)
    before = {table: request.lake.pointer(table) for table in (request.table, request.table.quarantine)}
    try:
        with _computed_once(request, found.frame, sieve.staged) as rows:
            relation = _concerned(request, columns, rows)
            look = look_at(request.session, relation, found.constraints, shown)
            about = about_refused(found.constraints, columns.names, sieve.run_id, request.run_started_at)
            # First: a query that reads the model's own table would be computed again once that is written.
            _put_aside(request, f"{columns.sql()}, {about} FROM {relation} WHERE {REFUSED}", look, sieve.whole)
            fault("after_quarantine", request.table)
            outcome = write(replace(request, result=_good_rows(request, columns, relation, look)))
            _require_all(request, outcome, look)
    except BaseException:
        for table, pointer in before.items():
            if request.lake.pointer(table) != pointer:
                request.lake.restore(table, pointer)
        raise
    return replace(outcome, rows_quarantined=look.refused), look.by_constraint


@contextlib.contextmanager
def _computed_once(request: WriteRequest, frame: DataFrame, staged: bool) -> Iterator[str]:
    if not staged:
        with kept(request.session, frame, _MARKED, on_disk=True) as view:
            yield view
        return
    frame.createOrReplaceTempView(_MARKED)
    try:
        with held(request, f"SELECT * FROM {_MARKED}", "marked") as table:
            yield in_written_order(table) if request.in_order else table.quoted
    finally:
        with contextlib.suppress(Exception):  # the session may be gone; the view goes with it
            request.session.catalog.dropTempView(_MARKED)


def _concerned(request: WriteRequest, columns: Columns, rows: str) -> str:
    """What a result has of other intervals is theirs; a row without a time has none."""
    if request.settings.strategy is not Strategy.TIME_INTERVAL:
        return rows
    return f"(SELECT * FROM {rows} WHERE coalesce({interval_condition(request, columns)}, {REFUSED}))"


def _good_rows(request: WriteRequest, columns: Columns, relation: str, look: Look) -> DataFrame:
    former = _former_rows(request, columns, relation) if look.refused else None
    return request.session.sql(former or f"SELECT {columns.sql()} FROM {relation} WHERE {GOOD}")


def _former_rows(request: WriteRequest, columns: Columns, relation: str) -> str | None:
    """Good rows together with what the table has of keys of which every row was refused, so that they do not seem gone.

    None where nothing is concluded from a key that is not there, or where the table is made anew from the result.
    """
    setting = _FOUND_BY.get(request.settings.strategy)
    if setting is None or not request.complete or starts_anew(request):
        return None
    keys, table = key_columns(request, columns, setting), columns_of(request.session.table(request.table.quoted))
    types = [join_types(old.type, new.type) if (old := table.get(new.name)) else new.type for new in columns]
    if None in types or any(key.name not in table for key in keys):
        return None
    every = Columns(tuple(Column(column.name, kind) for column, kind in zip(columns, types, strict=True)))

    def some(kind: str) -> str:
        same = null_safe_join("__r", "__t", keys.names)
        return f"EXISTS (SELECT 1 FROM {relation} __r WHERE {kind} AND {same})"

    current = f"{quote(IS_CURRENT)} AND " if request.settings.strategy is Strategy.SCD2 else ""
    return (
        f"SELECT {aligned(every, columns)} FROM {relation} WHERE {GOOD} UNION ALL"
        f" SELECT {aligned(every, table)} FROM {request.table.quoted} __t"
        f" WHERE {current}{some(REFUSED)} AND NOT {some(GOOD)}"
    )


def _put_aside(request: WriteRequest, selected: str, look: Look, whole: bool) -> None:
    """`selected`: what follows SELECT. A table that is made anew starts a quarantine anew as well."""
    table, session = request.table.quarantine, request.session
    former = _own_table(request, table)
    # Few rows of many parts would be as many files.
    query = f"SELECT {'/*+ REPARTITION(1) */ ' if look.refused <= FEW_ROWS else ''}{selected}"
    batch = columns_of(session.sql(query))
    anew = former is None or whole or starts_anew(request)
    existing = columns_of(session.table(table.quoted)) if former is not None else batch
    columns = batch if anew else _joined(existing, batch)
    rows_before = 0 if former is None else former.total_records
    if former is not None and columns == existing and not look.refused and not (anew and rows_before):
        return
    create = (
        f"CREATE OR REPLACE TABLE {table.quoted} USING iceberg"
        f" TBLPROPERTIES ({literal(QUARANTINE_PROPERTY)} = {literal(str(request.table))}) AS "
    )
    rows = f"SELECT {aligned(columns, batch)} FROM ({query})"
    if anew:
        request.lake.create_namespace(table)
        session.sql(create + query)
    elif columns == existing:
        session.sql(f"INSERT INTO {table.quoted} ({columns.sql()}) {rows}")
    else:
        session.sql(f"{create}SELECT {aligned(columns, existing)} FROM {table.quoted} UNION ALL {rows}")
    after = request.lake.table(table)
    added = (after.total_records if after else 0) - (0 if anew else rows_before)
    if added != look.refused:
        raise _does_not_add_up(request, f"{look.refused} break a constraint, but {added} were quarantined")


def _own_table(request: WriteRequest, table: TableName) -> TableMetadata | None:
    found = request.lake.metadata(table)
    if found is None:
        return None
    if not isinstance(found, TableMetadata) or QUARANTINE_PROPERTY not in found.properties:
        raise StrategyError(
            f"{table} is there already, and holds no quarantined rows",
            where=str(table),
            remedy=f"Rename it, or the model {request.table}: what the model refuses must go there.",
        )
    return found


def _joined(existing: Columns, batch: Columns) -> Columns:
    """Columns that hold the rows of both; where no type does, text."""
    kept_ones = [(old, batch.get(old.name)) for old in existing]
    joined = [Column(old.name, old.type if new is None else _joined_type(old, new)) for old, new in kept_ones]
    return Columns((*joined, *(column for column in batch if column.name not in existing)))


def _joined_type(old: Column, new: Column) -> object:
    return join_types(old.type, new.type) or "string"


def _refuse_own_columns(request: WriteRequest, columns: Columns) -> None:
    for own in ABOUT_REFUSED:
        if own.name in columns:
            raise StrategyError(
                f"the result has a column '{own.name}', which the quarantine fills itself",
                where=str(request.table),
                remedy="Give the column another name in the query.",
            )


def _require_all(request: WriteRequest, outcome: WriteOutcome, look: Look) -> None:
    """Where a strategy writes rows as they come, so that they can be counted again."""
    strategy, settings = request.settings.strategy, request.settings
    if strategy is Strategy.FULL_REFRESH and (look.good or settings.on_empty != "keep"):
        written = existing_rows(request)
    elif strategy in (Strategy.APPEND_ONLY, Strategy.TIME_INTERVAL):
        written = outcome.rows_written
    else:
        return
    if written != look.good:
        raise _does_not_add_up(request, f"{look.good} break no constraint, but {written} were written")


def _does_not_add_up(request: WriteRequest, what: str) -> QualityError:
    return QualityError(
        f"the rows of the result do not add up: {what}",
        where=str(request.table),
        remedy="Spark computed the result a second time, and it was another: run it again.",
    )
