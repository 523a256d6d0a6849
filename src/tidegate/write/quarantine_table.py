"""A result written without the rows that break constraints: those go to the quarantine table beside the model's, and
so do records of landing files that cannot be read.

The result is computed once, so that every row of it is in exactly one of the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.checks.check_registry import RowConstraint
from tidegate.compiler.table_columns import (
    ABOUT_BAD_RECORDS,
    IS_CURRENT,
    RECORD_TEXT,
    SOURCE_FILE,
    SOURCE_LINE,
    columns_of_quarantine,
)
from tidegate.datatypes import STRING, DataType
from tidegate.errors import FailureKind, QualityError, StrategyError, TidegateError
from tidegate.faults import fault
from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName, literal, quote
from tidegate.planner.replay import STATUS
from tidegate.quality.check_queries import SampleColumns
from tidegate.quality.own_functions import OwnFunctions
from tidegate.quality.quarantine_marks import (
    GOOD,
    REFUSED,
    MarkedResult,
    QuarantineCounts,
    RefusedRows,
    about_quarantined,
    about_refused,
    count_refused,
    failing_constraints,
    mark_rows,
)
from tidegate.spark.spark_errors import read_failure
from tidegate.widening import join_types
from tidegate.write import WriteOutcome, WriteRequest, write
from tidegate.write.commits import existing_columns, existing_rows
from tidegate.write.drift import aligned
from tidegate.write.few_rows import FEW_ROWS
from tidegate.write.key_columns import key_columns
from tidegate.write.quarantine_status import Replayed, is_not_replayed, mark_replayed, with_status
from tidegate.write.replace_table import is_rebuilt, refuse_untyped
from tidegate.write.request import BadRecords
from tidegate.write.spark_sql import null_safe_join
from tidegate.write.staging import in_written_order, persisted_view, staged_table
from tidegate.write.strategies.time_interval import interval_condition
from tidegate.write.write_columns import TableColumn, TableColumns, columns_in, columns_of, result_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["QUARANTINE_PROPERTY", "QuarantineRules", "write_beside_refused", "write_with_quarantine"]

QUARANTINE_PROPERTY = "tidegate.quarantine"
"""Of a table of refused rows: the table beside which it stands."""

_MARKED, _BAD, _ASIDE = "__tidegate_marked", "__tidegate_bad_records", "__tidegate_refused"
_SHOWN = 3
_OF_AN_EXPRESSION = (FailureKind.QUERY_REJECTED, FailureKind.UNKNOWN)


@dataclass(frozen=True, slots=True)
class QuarantineRules:
    """What keeps rows out of a table.

    `whole`: the full input was read, so rows that were refused before no longer count. `staged`: the result is staged
    in a table first, because Spark might recompute it with another result. `bad_records`: of landing files; None where
    no zone with quarantine is read. `has_texts`: a bad record may be shown as it was delivered. `shared`: columns of
    the result that mean what those of the quarantine mean.
    """

    constraints: tuple[RowConstraint, ...]
    functions: OwnFunctions
    run_id: str
    whole: bool = False
    staged: bool = False
    bad_records: BadRecords | None = None
    has_texts: bool = True
    shared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Quarantine:
    """The table of refused rows as it was before the write.

    `former`: None where there is none yet. `replaced`: its rows are replaced; otherwise rows are added.
    """

    former: TableMetadata | None
    replaced: bool


@dataclass(frozen=True, slots=True)
class _Aside:
    """Rows for the quarantine: a query without its SELECT, and how many it gives."""

    selected: str
    rows: int


def write_with_quarantine(
    request: WriteRequest, sieve: QuarantineRules
) -> tuple[WriteOutcome, tuple[RefusedRows, ...]]:
    """The outcome of writing the valid rows, and the rows that each evaluated constraint refused.

    A constraint that fails on some row refuses none. If anything is raised, both tables on the branch are restored.
    """
    columns = result_columns(request.table, request.result)
    refuse_untyped(request.table, columns)
    _refuse_own_columns(request, columns, sieve)
    marked = mark_rows(request.result, sieve.constraints, sieve.functions)
    try:
        return _write_marked(request, sieve, columns, marked)
    except TidegateError:
        raise
    except Exception as error:
        if read_failure(error).kind not in _OF_AN_EXPRESSION:
            raise
        silent = failing_constraints(request.result, marked.constraints, sieve.functions)
        if not silent:
            raise
    left_out = [refused.constraint for refused in silent]
    remaining = [constraint for constraint in marked.constraints if constraint not in left_out]
    outcome, refused = _write_marked(request, sieve, columns, mark_rows(request.result, remaining, sieve.functions))
    return outcome, (*refused, *silent)


def write_beside_refused(
    request: WriteRequest,
    refused: Callable[[WriteOutcome], DataFrame],
    identity: Sequence[str],
    *,
    whole: bool,
    replayed: Replayed | None = None,
) -> WriteOutcome:
    """The outcome of writing a result whose rows are valid. `refused`, asked when they are written, has every column
    of the quarantine but those of the status.

    A refused row that the quarantine has already, going by the columns of `identity`, stays as it is, unless it was
    replayed. `whole`: all rows were judged again, so `refused` is all that the quarantine holds. If anything is
    raised, both tables on the branch are restored.
    """
    table = request.table.quarantine
    with _restored(request):
        if replayed is not None:
            mark_replayed(request.session, table, replayed)
        former = _own_table(request, table)
        quarantine = _Quarantine(former, replaced=former is None or whole or is_rebuilt(request))
        before = [column.name for column in former.fields] if former is not None else []
        outcome = write(request)
        aside = refused(outcome)
        aside.createOrReplaceTempView(_ASIDE)
        try:
            rows = _ASIDE
            if not quarantine.replaced:
                same = f"{null_safe_join('__r', '__q', identity)} AND {is_not_replayed(before, '__q')}"
                rows = f"(SELECT * FROM {_ASIDE} __r WHERE NOT EXISTS (SELECT 1 FROM {table.quoted} __q WHERE {same}))"
            rows = with_status(rows, aside.columns, table if quarantine.replaced and STATUS in before else None)
            count = request.session.sql(f"SELECT count(*) AS n FROM {rows}").collect()[0]["n"]
            _put_aside(request, [_Aside(f"* FROM {rows}", count)], quarantine)
        finally:
            with contextlib.suppress(Exception):  # the session may be gone; the view goes with it
                request.session.catalog.dropTempView(_ASIDE)
        fault("after_quarantine", request.table)
        return outcome


def _write_marked(
    request: WriteRequest, sieve: QuarantineRules, columns: TableColumns, marked: MarkedResult
) -> tuple[WriteOutcome, tuple[RefusedRows, ...]]:
    former = _own_table(request, request.table.quarantine)
    quarantine = _Quarantine(former, replaced=former is None or sieve.whole or is_rebuilt(request))
    with _restored(request), _bad_records(request, sieve, columns, quarantine) as bad:
        if not marked.constraints:
            if bad is not None:
                _put_aside(request, [bad], quarantine)
                fault("after_quarantine", request.table)
            outcome, look = write(request), QuarantineCounts(0, 0, ())
        else:
            outcome, look = _write_good(request, sieve, columns, marked, bad, quarantine)
        unread = bad.rows if bad else 0
        warnings = (*outcome.warnings, *([_bad_records_warning(request, unread)] if unread else []))
    return replace(outcome, rows_quarantined=look.refused + unread, warnings=warnings), look.by_constraint


def _write_good(
    request: WriteRequest,
    sieve: QuarantineRules,
    columns: TableColumns,
    marked: MarkedResult,
    bad: _Aside | None,
    quarantine: _Quarantine,
) -> tuple[WriteOutcome, QuarantineCounts]:
    types = {field.name: field.dataType.simpleString() for field in request.result.schema.fields}
    sample_columns = SampleColumns(types, request.settings.unique_key, request.hidden)
    with _computed_once(request, marked.frame, sieve.staged) as rows:
        relation = _concerned(request, columns, rows)
        look = count_refused(request.session, relation, marked.constraints, sample_columns)
        about = about_refused(marked.constraints, columns.names, sieve.run_id, request.run_started_at)
        if bad is not None:
            about += "".join(f", CAST(NULL AS {c.type.text}) AS {quote(c.name)}" for c in ABOUT_BAD_RECORDS)
        refused = _Aside(f"{columns.sql()}, {about} FROM {relation} WHERE {REFUSED}", look.refused)
        # First: a query that reads the model's own table would be computed again once that is written.
        _put_aside(request, [refused, bad] if bad else [refused], quarantine)
        fault("after_quarantine", request.table)
        outcome = write(replace(request, result=_good_rows(request, columns, relation, look)))
        _require_all(request, outcome, look)
    return outcome, look


@contextlib.contextmanager
def _restored(request: WriteRequest) -> Iterator[None]:
    """Restores both tables if anything is raised."""
    before = {table: request.lake.pointer(table) for table in (request.table, request.table.quarantine)}
    try:
        yield
    except BaseException:
        for table, pointer in before.items():
            if request.lake.pointer(table) != pointer:
                request.lake.restore(table, pointer)
        raise


@contextlib.contextmanager
def _bad_records(
    request: WriteRequest, sieve: QuarantineRules, columns: TableColumns, quarantine: _Quarantine
) -> Iterator[_Aside | None]:
    """Those that are not in the quarantine already: a zone that is looked up is read whole by every run."""
    bad = sieve.bad_records
    if bad is None:
        yield None
        return
    records = bad.frame
    if not quarantine.replaced:
        records = records.where(records[SOURCE_FILE].isin(sorted(bad.new_files)))
    with persisted_view(request.session, records, _BAD, on_disk=True) as view:
        rows = request.session.table(view).count()
        about = about_quarantined("_reasons", "_columns", sieve.run_id, request.run_started_at)
        text = RECORD_TEXT if sieve.has_texts else f"CAST(NULL AS STRING) AS {RECORD_TEXT}"
        nothing = aligned(columns.without(sieve.shared), TableColumns(()))
        yield _Aside(f"{nothing}, {about}, {SOURCE_FILE}, {SOURCE_LINE}, {text} FROM {view}", rows)


def _bad_records_warning(request: WriteRequest, rows: int) -> str:
    first = request.session.sql(
        f"SELECT {SOURCE_FILE} AS file, {SOURCE_LINE} AS line, array_join(_reasons, ', ') AS why"
        f" FROM {_BAD} ORDER BY 1, 2 LIMIT {_SHOWN}"
    ).collect()
    examples = "; ".join(f"{row['file']}:{row['line']} {row['why']}" for row in first)
    more = f"; and {rows - len(first)} more" if rows > len(first) else ""
    records = "1 record of a landing file" if rows == 1 else f"{rows} records of landing files"
    table = request.table.quarantine.short(request.table.namespace)
    return f"{records} cannot be read and went to {table}: {examples}{more}"


@contextlib.contextmanager
def _computed_once(request: WriteRequest, frame: DataFrame, staged: bool) -> Iterator[str]:
    if not staged:
        with persisted_view(request.session, frame, _MARKED, on_disk=True) as view:
            yield view
        return
    frame.createOrReplaceTempView(_MARKED)
    try:
        with staged_table(request, f"SELECT * FROM {_MARKED}", "marked") as table:
            yield in_written_order(table) if request.in_order else table.quoted
    finally:
        with contextlib.suppress(Exception):  # the session may be gone; the view goes with it
            request.session.catalog.dropTempView(_MARKED)


def _concerned(request: WriteRequest, columns: TableColumns, rows: str) -> str:
    """Rows of other intervals are left to their own builds; a row without a time belongs to no interval."""
    if not request.settings.traits.by_intervals:
        return rows
    return f"(SELECT * FROM {rows} WHERE coalesce({interval_condition(request, columns)}, {REFUSED}))"


def _good_rows(request: WriteRequest, columns: TableColumns, relation: str, look: QuarantineCounts) -> DataFrame:
    former = _former_rows(request, columns, relation) if look.refused else None
    return request.session.sql(former or f"SELECT {columns.sql()} FROM {relation} WHERE {GOOD}")


def _former_rows(request: WriteRequest, columns: TableColumns, relation: str) -> str | None:
    """Good rows together with what the table has of keys of which every row was refused, so that they do not seem gone.

    None where a missing key means nothing, or where the table is rebuilt from the result.
    """
    traits, setting = request.settings.traits, request.settings.traits.key_setting
    if setting is None or not traits.key_required or not request.complete or is_rebuilt(request):
        return None
    keys, table = key_columns(request, columns, setting), existing_columns(request)
    types = [join_types(old.type, new.type) if (old := table.get(new.name)) else new.type for new in columns]
    joined = [TableColumn(column.name, kind) for column, kind in zip(columns, types, strict=True) if kind is not None]
    if len(joined) < len(columns) or any(key.name not in table for key in keys):
        return None
    every = TableColumns(tuple(joined))

    def some(kind: str) -> str:
        same = null_safe_join("__r", "__t", keys.names)
        return f"EXISTS (SELECT 1 FROM {relation} __r WHERE {kind} AND {same})"

    current = f"{quote(IS_CURRENT)} AND " if traits.keeps_versions else ""
    return (
        f"SELECT {aligned(every, columns)} FROM {relation} WHERE {GOOD} UNION ALL"
        f" SELECT {aligned(every, table)} FROM {request.table.quoted} __t"
        f" WHERE {current}{some(REFUSED)} AND NOT {some(GOOD)}"
    )


def _put_aside(request: WriteRequest, asides: Sequence[_Aside], quarantine: _Quarantine) -> None:
    """Replace what the quarantine has, or add to it."""
    table, session = request.table.quarantine, request.session
    former, replaced = quarantine.former, quarantine.replaced
    refused = sum(aside.rows for aside in asides)
    # A few rows in many Spark partitions would become as many files.
    hint = "/*+ REPARTITION(1) */ " if refused <= FEW_ROWS else ""
    query = f"SELECT {hint}* FROM ({' UNION ALL '.join(f'SELECT {aside.selected}' for aside in asides)})"
    batch = columns_of(session.sql(query))
    existing = columns_in(former) if former is not None else batch
    columns = batch if replaced else _joined(existing, batch)
    rows_before = 0 if former is None else former.total_records
    if former is not None and columns == existing and not refused and not (replaced and rows_before):
        return
    create = (
        f"CREATE OR REPLACE TABLE {table.quoted} USING iceberg"
        f" TBLPROPERTIES ({literal(QUARANTINE_PROPERTY)} = {literal(str(request.table))}) AS "
    )
    rows = f"SELECT {aligned(columns, batch)} FROM ({query})"
    if replaced:
        request.lake.create_namespace(table)
        session.sql(create + query)
    elif columns == existing:
        session.sql(f"INSERT INTO {table.quoted} ({columns.sql()}) {rows}")
    else:
        session.sql(f"{create}SELECT {aligned(columns, existing)} FROM {table.quoted} UNION ALL {rows}")
    after = request.lake.table(table)
    added = (after.total_records if after else 0) - (0 if replaced else rows_before)
    if added != refused:
        raise _does_not_add_up(request, f"{refused} are refused, but {added} were quarantined")


def _own_table(request: WriteRequest, table: TableName) -> TableMetadata | None:
    metadata = request.lake.metadata(table)
    if metadata is None:
        return None
    if not isinstance(metadata, TableMetadata) or QUARANTINE_PROPERTY not in metadata.properties:
        raise StrategyError(
            f"{table} is there already, and holds no quarantined rows",
            where=str(table),
            remedy=f"Rename it, or the model {request.table}: what the model refuses must go there.",
        )
    return metadata


def _joined(existing: TableColumns, batch: TableColumns) -> TableColumns:
    """Columns that hold the rows of both; where no type does, text."""
    kept_ones = [(old, batch.get(old.name)) for old in existing]
    joined = [TableColumn(old.name, old.type if new is None else _joined_type(old, new)) for old, new in kept_ones]
    return TableColumns((*joined, *(column for column in batch if column.name not in existing)))


def _joined_type(old: TableColumn, new: TableColumn) -> DataType:
    return join_types(old.type, new.type) or STRING


def _refuse_own_columns(request: WriteRequest, columns: TableColumns, sieve: QuarantineRules) -> None:
    for own in columns_of_quarantine(bad_records=sieve.bad_records is not None):
        if own.name in columns and own.name not in sieve.shared:
            raise StrategyError(
                f"the result has a column '{own.name}', which the quarantine fills itself",
                where=str(request.table),
                remedy="Give the column another name in the query.",
            )


def _require_all(request: WriteRequest, outcome: WriteOutcome, look: QuarantineCounts) -> None:
    """Where a strategy writes rows as they come, so that they can be counted again."""
    traits = request.settings.traits
    stays = traits.replaces_table and not look.good and request.settings.on_empty == "keep"
    if not traits.writes_rows_as_they_come or stays:
        return
    written = existing_rows(request) if traits.replaces_table else outcome.rows_written
    if written != look.good:
        raise _does_not_add_up(request, f"{look.good} break no constraint, but {written} were written")


def _does_not_add_up(request: WriteRequest, what: str) -> QualityError:
    return QualityError(
        f"the rows of the result do not add up: {what}",
        where=str(request.table),
        remedy="Spark computed the result a second time, and it was another: run it again.",
    )
