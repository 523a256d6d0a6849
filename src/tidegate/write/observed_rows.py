"""Digest and profile of rows, taken by the statement that writes them, so that nothing is read for them.

Two relations have the same digest only if their rows are the same. Each row has two independent hashes of 64 bits,
which are summed: duplicates count, order does not. The profile is column by column.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tidegate.datatypes import Column, DataType
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.quality.column_profiles import Counted, Scope, Survey, survey
from tidegate.quality.noted_values import noted_values
from tidegate.write.added_rows import added_rows
from tidegate.write.commits import TableBefore
from tidegate.write.few_rows import for_few_rows
from tidegate.write.request import WriteRequest
from tidegate.write.spark_sql import comparable, negative_zero
from tidegate.write.write_columns import TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, Row, SparkSession

__all__ = [
    "CONTENT_PROPERTY",
    "HASHES",
    "ObservedRows",
    "RowsDigest",
    "batch_scope",
    "content_of",
    "content_property",
    "hash_columns",
    "observe",
    "observe_added",
    "observed_values",
    "record_added_profile",
    "record_profile",
    "recorded_content",
    "survey_of",
]


CONTENT_PROPERTY = "tidegate.content"

HASHES = ("__tidegate_hash1", "__tidegate_hash2")
_COLUMNS_PER_MASK = 60
_PATIENCE_SECONDS = 10.0
_EXACT_JSON = (
    "map('ignoreNullFields', 'false', 'dateFormat', 'G yyyy-MM-dd',"
    " 'timestampFormat', 'G yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'G yyyy-MM-dd HH:mm:ss.SSSSSS',"
    " 'timeZone', 'UTC')"  # an hour that comes twice is two in UTC
)


@dataclass(frozen=True, slots=True)
class RowsDigest:
    rows: int
    first: int = 0
    second: int = 0


class ObservedRows:
    """Rows that are digested and profiled while a statement writes them.

    `hashed` False: no digest is needed. `looked_at`: the columns to profile. `hidden`: those, in lower case, whose
    values are not read. `many`: so many rows are expected that not each is read; Iceberg's metrics are used instead.
    """

    def __init__(
        self,
        session: SparkSession,
        columns: TableColumns,
        looked_at: TableColumns = TableColumns(()),  # noqa: B008 - frozen
        hashed: bool = True,
        hidden: frozenset[str] = frozenset(),
        many: bool = False,
    ) -> None:
        self._session = session
        self._columns = columns
        self._hashed = hashed
        self._survey = survey_of(looked_at, hidden, many=many)
        self._idle = not hashed and not len(looked_at)
        self._observation: Observation | None = None
        self._sums: Mapping[str, Any] | None = None

    def of(self, rows: DataFrame) -> DataFrame:
        """The rows to write in place of `rows`, once: what samples them first, as a sort above them does, counts twice.

        Through `writeTo`: in a Connect session nothing is observed of a view.
        """
        if self._idle:
            return rows
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        self._observation = Observation()
        beside = hash_columns(self._columns) if self._hashed else ()
        marked = rows.selectExpr("*", *self._survey.steps).selectExpr(*self._survey.marked, *beside)
        sums = {"rows": "count(1)", "profile": self._survey.aggregate, **(_sums() if self._hashed else {})}
        observed = marked.observe(self._observation, *(f.expr(sql).alias(name) for name, sql in sums.items()))
        return observed.drop(*HASHES, *self._survey.names)

    def content(self, rows: int) -> RowsDigest | None:
        """None where it is not known: a part of the query that ran again was counted again, so `rows` must agree."""
        sums = self._sums_of(rows) if self._hashed else None
        return _content(sums) if sums else None

    def counted(self, rows: int, scope: Scope, lake: BranchView, table: TableName) -> Counted | None:
        """The profile of the rows, None as for `content`; `table` has these rows now, and no others."""
        sums = self._sums_of(rows)
        if not sums:
            return None
        exact = self._exact(rows, lake, table) if self._survey.exact else None
        return self._survey.read(sums["profile"], scope, exact)

    def _exact(self, rows: int, lake: BranchView, table: TableName) -> str:
        if (noted := noted_values(self._survey, lake.table(table), rows)) is not None:
            return noted
        with for_few_rows(self._session):  # Iceberg answers it by one row
            asked = self._session.sql(f"SELECT {self._survey.exact} AS profile FROM {table.quoted}")
            answer: str = asked.collect()[0]["profile"]
        return answer

    def _sums_of(self, rows: int) -> Mapping[str, Any] | None:
        if self._sums is None:
            self._sums = (observed_values(self._observation) if self._observation else None) or {}
        return self._sums if self._sums.get("rows") == rows else None


def observed_values(observation: Observation) -> Mapping[str, Any] | None:
    """Spark delivers them some time after the query has ended, and does not report when it never will."""
    values: list[Mapping[str, Any]] = []

    def wait() -> None:
        try:
            values.append(observation.get)
        except Exception:  # a kind of session without observations; the caller scans the rows instead
            return

    thread = threading.Thread(target=wait, name="content", daemon=True)
    thread.start()
    thread.join(_PATIENCE_SECONDS)
    return values[0] if values else None


def survey_of(
    columns: TableColumns, hidden: frozenset[str] = frozenset(), only: str | None = None, many: bool = False
) -> Survey:
    return survey([Column(column.name, column.type) for column in columns], hidden, only, many)


def content_of(session: SparkSession, relation: str, columns: TableColumns) -> RowsDigest:
    """One scan of a table or of a query in parentheses."""
    sums = ", ".join(f"{sql} AS {name}" for name, sql in _sums().items())
    row: Row = session.sql(f"SELECT {sums} FROM (SELECT {', '.join(hash_columns(columns))} FROM {relation})").collect()[
        0
    ]
    return _content(row.asDict())


def content_property(content: RowsDigest, metadata: TableMetadata) -> dict[str, str]:
    """The table property that records it, with the snapshot it belongs to: a later snapshot makes it void."""
    change = metadata.last_change
    value = {"snapshot": change.id if change else None, **asdict(content)}
    return {CONTENT_PROPERTY: json.dumps(value, separators=(",", ":"), sort_keys=True)}


def recorded_content(metadata: TableMetadata) -> RowsDigest | None:
    change = metadata.last_change
    if change is None:
        return RowsDigest(0)
    try:
        value = json.loads(metadata.properties.get(CONTENT_PROPERTY, "null"))
        return RowsDigest(value["rows"], value["first"], value["second"]) if value["snapshot"] == change.id else None
    except (ValueError, TypeError, KeyError):
        return None


def hash_columns(columns: TableColumns) -> tuple[str, str]:
    """Spark's hash ignores NULL, the sign of zero and the bounds of nested values: NULLs and signs are added as bits,
    nested values as text."""
    values = [_hashable(column.quoted, column.type) for column in columns]
    parts = [*_masks([f"{column.quoted} IS NULL" for column in columns]), *values]
    zeros = _masks([negative_zero(column.quoted) for column in columns if column.type.is_floating])
    first = f"xxhash64({', '.join(parts)})"
    second = f"xxhash64('tidegate', {', '.join(reversed(parts))})"
    return f"{_signed(first, zeros)} AS {HASHES[0]}", f"{_signed(second, zeros)} AS {HASHES[1]}"


def _signed(hashed: str, zeros: list[str]) -> str:
    """A row without -0.0 has the hash that it always had, so that a table's recorded content stays comparable."""
    if not zeros:
        return hashed
    return f"IF({' AND '.join(f'{mask} = 0' for mask in zeros)}, {hashed}, xxhash64({hashed}, {', '.join(zeros)}))"


def _masks(conditions: list[str]) -> list[str]:
    groups = [conditions[at : at + _COLUMNS_PER_MASK] for at in range(0, len(conditions), _COLUMNS_PER_MASK)]
    return [
        "(" + " | ".join(f"IF({condition}, {1 << bit}L, 0L)" for bit, condition in enumerate(group)) + ")"
        for group in groups
    ]


def _hashable(value: str, kind: DataType) -> str:
    """The text of a nested value distinguishes -0.0 from 0.0."""
    whole = comparable(value, kind, zeros=False)
    return f"to_json(named_struct('v', {whole}), {_EXACT_JSON})" if kind.is_nested else whole


def _sums() -> dict[str, str]:
    """Of halves of 32 bits, which cannot overflow."""
    one, two = HASHES
    sums = {"high1": f"shiftright({one}, 32)", "low1": f"{one} & 4294967295"}
    sums |= {"high2": f"shiftright({two}, 32)", "low2": f"{two} & 4294967295"}
    return {"rows": "count(1)", **{name: f"coalesce(sum({half}), 0L)" for name, half in sums.items()}}


def _content(sums: Mapping[str, Any]) -> RowsDigest:
    first, second = ((int(sums[f"high{n}"]) * 2**32 + int(sums[f"low{n}"])) % 2**64 for n in (1, 2))
    return RowsDigest(int(sums["rows"]), first, second)


_ADDED = "__tidegate_added"
_MANY = 200_000
"""From this number of expected rows on, Iceberg's metrics are cheaper than reading each row."""


def observe(request: WriteRequest, columns: TableColumns, hashed: bool = False) -> ObservedRows:
    """For a statement that writes rows of these columns to a table that has no others."""
    looked_at = columns if request.profiled else TableColumns(())
    return ObservedRows(request.session, columns, looked_at, hashed, request.hidden, many=_are_many(request))


def observe_added(request: WriteRequest, columns: TableColumns) -> ObservedRows | None:
    """For a statement that adds rows to the table. None: Spark would compute them twice, to sort them; or there may be
    many, and Iceberg has no metrics of just the added files."""
    table = request.lake.table(request.table)
    if not request.profiled or (table is not None and table.sort_fields) or request.expected_rows > _MANY:
        return None
    return ObservedRows(request.session, columns, columns, hashed=False, hidden=request.hidden)


def _are_many(request: WriteRequest) -> bool:
    table = request.lake.table(request.table)
    return max(request.expected_rows, table.total_records if table else 0) > _MANY


def batch_scope(request: WriteRequest) -> Scope:
    """What the profile of a staged result covers: a complete one becomes the table, except that scd2 keeps versions."""
    whole = request.complete and request.touched is None and not request.settings.traits.keeps_versions
    return "table" if whole else "written"


def record_profile(
    request: WriteRequest, observed: ObservedRows, rows: int, scope: Scope, columns: TableColumns, table: TableName
) -> None:
    """`rows`: how many the statement wrote. `table` has them, and is read only where some were counted twice."""
    if not request.profiled:
        return
    counted = observed.counted(rows, scope, request.lake, table)
    if counted is None:
        counted = Counted(rows, (), scope) if _are_many(request) else _profile_of(request, table.quoted, columns, scope)
    request.observed.counted = counted


def record_added_profile(
    request: WriteRequest, observed: ObservedRows | None, rows: int, columns: TableColumns, before: TableBefore
) -> None:
    """The same for rows that were added to what the table had `before`."""
    if not request.profiled:
        return
    counted = observed.counted(rows, "written", request.lake, request.table) if observed else None
    if counted is None and request.expected_rows > _MANY:
        counted = Counted(rows, (), "written")
    elif counted is None:
        metadata = request.lake.table(request.table)
        former = metadata.snapshots.get(before.snapshot_id) if metadata and before.snapshot_id is not None else None
        since = former.sequence_number if former else 0
        added = added_rows(request.session, request.table, metadata, since) if metadata else None
        if added is not None:
            added.createOrReplaceTempView(_ADDED)
            counted = _profile_of(request, _ADDED, columns, "written")
            request.session.catalog.dropTempView(_ADDED)
    request.observed.counted = counted


def _profile_of(request: WriteRequest, relation: str, columns: TableColumns, scope: Scope) -> Counted:
    survey = survey_of(columns, request.hidden)
    return survey.read(request.session.sql(survey.over(relation)).collect()[0]["profile"], scope)
