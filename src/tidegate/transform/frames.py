"""A bound query → the DataFrame of its result, on the model's own session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import BoundQuery, FunctionRead, TableRead
from tidegate.errors import FailureKind, ModelError, QueryError
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName, quote
from tidegate.planner.row_keys import repeated_keys_warning
from tidegate.project.landing_files import ZoneFile
from tidegate.sources.chunk_tables import ChunkTable
from tidegate.spark.spark_errors import read_failure
from tidegate.transform.delta_views import delta_views
from tidegate.transform.inserted import inserted_rows
from tidegate.transform.landing.delivery import Delivery
from tidegate.transform.landing.landing_errors import explain_read_error
from tidegate.transform.landing.zone_reader import bad_records_of, read_zone, union_bad_records
from tidegate.write.request import BadRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["QueryInputs", "Sources", "ZoneBatch", "build_frame", "built_from", "explain", "new_rows", "source_line"]


_CHANGE_IT = "Change the query at this place, or correct the rows that it reads."
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class ZoneBatch:
    """The files of a zone for one run of a model."""

    folder: Path

    fresh: tuple[ZoneFile, ...]
    """Those whose rows the result must have, in order of arrival."""

    files: tuple[ZoneFile, ...]
    """All of them."""

    known_columns: str | None = None
    """DDL of the columns that earlier files had."""

    new: tuple[ZoneFile, ...] = ()
    """Those that no run of the model has read."""

    delivery: Delivery | None = None
    """What the rows of a raw zone say of this run."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The tables and files that the names in a query refer to."""

    table: TableName
    lake: BranchView

    forget: bool = False
    """The table is rebuilt, so the model reads its own table as if it did not exist."""

    zones: Mapping[str, ZoneBatch] = field(default_factory=dict)

    inserted_since: Mapping[str, TableInput] = field(default_factory=dict)
    """Tables of which an append reads only the new rows."""

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns that identify the rows of these tables."""

    in_order: bool = False
    """The rows of a driving zone are in their order of arrival."""

    delta: Mapping[TableName, ChunkTable] = field(default_factory=dict)
    """Tables that are not in the lake's catalog."""

    function_view: Callable[[FunctionRead], str] | None = None
    """Calls a table function of the project, and gives the view of its rows, quoted."""


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a query over its sources."""

    frame: DataFrame

    sql: str
    """The query that Spark runs."""

    zone_files: Mapping[str, tuple[ZoneFile, ...]]
    """The landing files that are read."""

    zone_columns: Mapping[str, str]
    """The columns of each zone, as DDL."""

    notes: tuple[str, ...] = ()

    bad_records: BadRecords | None = None
    """Records of zones with quarantine that are left out; None where no such zone is read."""


def built_from(frame: DataFrame, inputs: Sequence[Built], sql: str = "") -> Built:
    """A result that was computed from other ones."""
    files: dict[str, tuple[ZoneFile, ...]] = {}
    columns: dict[str, str] = {}
    for built in inputs:
        columns |= built.zone_columns
        for zone, chosen in built.zone_files.items():
            files[zone] = tuple(dict.fromkeys([*files.get(zone, ()), *chosen]))
    notes = tuple(dict.fromkeys(note for built in inputs for note in built.notes))
    bad = union_bad_records([built.bad_records for built in inputs if built.bad_records is not None])
    return Built(frame, sql, files, columns, notes, bad)


def build_frame(session: SparkSession, query: BoundQuery, sources: Sources) -> Built:
    """Analyse the query (no job but what a landing zone's types need, and whether a key that is not enforced holds).

    The rows of a driving zone become rows of the result, so only its new files are read. A zone that is looked up is
    read whole: what was delivered before is still true.
    """
    views = dict(delta_views(session, query.reads, sources.delta))
    files: dict[str, tuple[ZoneFile, ...]] = {}
    columns: dict[str, str] = {}
    notes: list[str] = []
    bad: dict[str, BadRecords] = {}
    for number, read in enumerate(query.reads):
        if read.function is not None and sources.function_view is not None:
            views[read.start] = sources.function_view(read.function)
        if read.landing is None:
            continue
        batch = sources.zones[read.landing.zone]
        chosen = batch.fresh if read.driving else batch.files
        in_order = sources.in_order and read.driving
        settings = read.landing.settings
        zone = read_zone(session, batch.folder, chosen, settings, batch.known_columns, in_order, batch.delivery)
        files[read.landing.zone] = tuple(dict.fromkeys([*files.get(read.landing.zone, ()), *chosen]))
        name = f"__landing_{number}"
        views[read.start] = quote(name)
        zone.frame.createOrReplaceTempView(name)
        columns[read.landing.zone] = zone.columns
        notes += zone.notes
        if settings.quarantines and not (read.driving and read.landing.zone in bad):
            # Read twice, a zone is read whole once, and then every bad record of it is there.
            bad[read.landing.zone] = bad_records_of(
                session, batch.folder, read.landing.zone, zone.bad_records, batch.new
            )
    sql = query.substitute(lambda read: _relation(read, query, sources, session, views, notes))
    return Built(session.sql(sql), sql, files, columns, tuple(notes), union_bad_records(bad.values()))


def new_rows(session: SparkSession, query: BoundQuery, sources: Sources) -> DataFrame:
    """The rows that the query would read of its first table, as they are there."""
    read, notes = query.reads[0], list[str]()
    assert read.table is not None
    relation = _relation(read, query, sources, session, {}, notes)
    return session.sql(f"SELECT * FROM {relation or read.table.quoted}")


def _relation(
    read: TableRead,
    query: BoundQuery,
    sources: Sources,
    session: SparkSession,
    views: Mapping[int, str],
    notes: list[str],
) -> str | None:
    if read.start in views:
        return views[read.start]
    assert read.table is not None
    if read.table == sources.table and (sources.forget or sources.lake.table(read.table) is None):
        return _empty_self(query, sources, session, views)
    since = sources.inserted_since.get(str(read.table)) if read.driving else None
    metadata = sources.lake.metadata(read.table) if since else None
    if since is None or not isinstance(metadata, TableMetadata):
        return None
    key = sources.keys.get(str(read.table), ())
    inserted = inserted_rows(read.table, metadata, since, key)
    if inserted is None:
        return None
    if not inserted.repeated:
        return inserted.sql
    # Spark frees it with the model's session; a query over it reads the table's states no more.
    repeated = session.sql(f"SELECT * FROM {inserted.repeated}").localCheckpoint()
    if not (count := repeated.count()):
        return inserted.sql
    notes.append(repeated_keys_warning(str(read.table), key, count))
    name = f"__repeated_{read.start}"
    repeated.createOrReplaceTempView(name)
    return inserted.with_repeated(f"`{name}`")


def _empty_self(query: BoundQuery, sources: Sources, session: SparkSession, views: Mapping[int, str]) -> str:
    """The model's own table before it exists: no rows, the columns that the model is about to have.

    Their types come from analysing the query over untyped NULLs of those names; a column that only ever comes from
    the table itself has no type yet and is taken as a string.
    """
    untyped = "(SELECT " + ", ".join(f"NULL AS {quote(c)}" for c in query.columns or ("_",)) + " WHERE false)"

    def first_pass(read: TableRead) -> str | None:
        return views.get(read.start) or (untyped if read.table == sources.table else None)

    schema: StructType = session.sql(query.substitute(first_pass)).schema
    typed = ", ".join(
        f"CAST(NULL AS {'string' if f.dataType.simpleString() == 'void' else f.dataType.simpleString()})"
        f" AS {quote(f.name)}"
        for f in schema.fields
    )
    return f"(SELECT {typed} WHERE false)"


@dataclass(frozen=True, slots=True)
class QueryInputs:
    """What a query reads, by the names that people use: tables that can be previewed, and landing zones."""

    tables: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    files: tuple[ZoneFile, ...] = ()

    @property
    def advice(self) -> str:
        """How to see the rows; empty where they come from elsewhere."""
        previews = " or ".join(f"`tidegate preview {table}`" for table in self.tables[:_MOST_NAMED])
        zones = ", ".join(f"'{zone}'" for zone in self.zones[:_MOST_NAMED])
        places = [f"with {previews}"] if previews else []
        places += [f"in the files of landing zone {zones}"] if zones else []
        return f"Look at the rows that it reads {' and '.join(places)}." if places else ""


_ELSEWHERE = QueryInputs()


def explain(error: Exception, sql: str, source: str, path: str, inputs: QueryInputs = _ELSEWHERE) -> ModelError:
    """The error of a model's query, with the line of the model's file where that is known."""
    if isinstance(error, ModelError):
        return error
    unreadable = explain_read_error(error, inputs.files)
    if unreadable is not None:
        return unreadable
    failure = read_failure(error)
    line = source_line(sql, source, failure.line, failure.fragment)
    remedy = failure.remedy
    if failure.kind is FailureKind.QUERY_REJECTED:
        remedy = f"{remedy or _CHANGE_IT} {inputs.advice}".strip()
    explained = QueryError(failure.message, where=f"{path}:{line}" if line else path, remedy=remedy)
    explained.kind = failure.kind
    explained.retry_after = failure.retry_after
    return explained


def source_line(sql: str, source: str, line: int | None, fragment: str | None = None) -> int | None:
    """The line of the file that became the place in `sql`, the model's query with its templates rendered.

    `fragment`: the part of a statement that is to blame, and `line` where it begins there. The statement may be
    another one that holds parts of the query, so the line counts only where the fragment stands there in `sql` too.
    None where it cannot be known.
    """
    if line is not None and fragment is not None:
        line = _line_of(fragment, sql, line)
    if line is None or not 1 <= line <= len(sql.splitlines()):
        return None
    aligned = _aligned(sql, source, line)
    if fragment is not None and fragment in source:
        return _line_of(fragment, source, aligned)
    return aligned


def _line_of(fragment: str, text: str, line: int | None = None) -> int | None:
    """Where the only such fragment begins; of several, the one in `line`."""
    begins, at = [], text.find(fragment)
    while at >= 0:
        begins.append(text.count("\n", 0, at) + 1)
        at = text.find(fragment, at + 1)
    return begins[0] if len(set(begins)) == 1 else line if line in begins else None


def _aligned(sql: str, source: str, line: int) -> int | None:
    """The line of the file that matches this line of the SQL, or that stands at the same place between matching
    lines."""
    matcher = SequenceMatcher(None, _words(sql), _words(source), autojunk=False)
    for tag, start, end, source_start, source_end in matcher.get_opcodes():
        if start < line <= end and (tag == "equal" or end - start == source_end - source_start):
            source_line = source_start + line - start
            # Lines that differ may be aligned with lines of the header.
            return None if source.splitlines()[source_line - 1].lstrip().startswith("--") else source_line
    return None


def _words(text: str) -> list[tuple[str, ...]]:
    return [tuple(line.replace("`", "").split()) for line in text.splitlines()]
