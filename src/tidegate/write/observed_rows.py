"""What rows a relation holds, in whatever order, as a number that two relations share only if their rows are the same.

Each row gives two independent hashes of 64 bits, which are summed: duplicates count, order does not. The sums can be
taken while rows are written, so that nothing is read for them; so can what the rows look like, column by column.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tidegate.datatypes import Column, DataType
from tidegate.lake.metadata import TableMetadata
from tidegate.quality.column_profiles import Counted, Scope, Survey, survey
from tidegate.write.added_rows import added_rows
from tidegate.write.commits import TableBefore
from tidegate.write.request import WriteRequest
from tidegate.write.spark_sql import comparable, negative_zero
from tidegate.write.write_columns import TableColumns

if TYPE_CHECKING:
    from pyspark.sql import Observation, Row, SparkSession

__all__ = [
    "CONTENT_PROPERTY",
    "HASHES",
    "RowsDigest",
    "WatchedQuery",
    "batch_scope",
    "content_of",
    "content_property",
    "hash_columns",
    "learn",
    "learn_added",
    "recorded_content",
    "survey_of",
    "watch",
    "watch_added",
]


CONTENT_PROPERTY = "tidegate.content"

_VIEW = "__tidegate_watched"
_COUNTED = itertools.count()
HASHES = ("__tidegate_hash1", "__tidegate_hash2")
_COLUMNS_PER_MASK = 60
_PATIENCE_SECONDS = 10.0
_EXACT_JSON = (
    "map('ignoreNullFields', 'false', 'dateFormat', 'G yyyy-MM-dd',"
    " 'timestampFormat', 'G yyyy-MM-dd HH:mm:ss.SSSSSS', 'timestampNTZFormat', 'G yyyy-MM-dd HH:mm:ss.SSSSSS')"
)


@dataclass(frozen=True, slots=True)
class RowsDigest:
    rows: int
    first: int = 0
    second: int = 0


class WatchedQuery:
    """A query whose rows are summed up while somebody else runs it. `hashed` False: nobody will ask for its content.

    `looked_at`: the columns to be profiled. `hidden`: those, in lower case, whose values are not looked at. `many`: so
    many rows are expected that they are not looked at; Iceberg is asked what it knows of them.
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
        self._view = f"{_VIEW}{next(_COUNTED)}"
        self._observation: Observation | None = None
        self._found: Mapping[str, Any] | None = None

    def sql(self, query: str) -> str:
        """The query to run in place of `query`, once: what samples it first, as a sort above it does, counts twice."""
        if self._idle:
            return query
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        self._observation = Observation()
        beside = hash_columns(self._columns) if self._hashed else ()
        rows = self._session.sql(self._survey.marked(f"({query})", beside))
        sums = {"rows": "count(1)", "profile": self._survey.aggregate, **(_sums() if self._hashed else {})}
        watched = rows.observe(self._observation, *(f.expr(sql).alias(name) for name, sql in sums.items()))
        watched.drop(*HASHES, *self._survey.names).createOrReplaceTempView(self._view)
        return f"SELECT * FROM {self._view}"

    def content(self, rows: int) -> RowsDigest | None:
        """None where it was not learnt: a part of the query that ran again was counted again, so `rows` must agree."""
        found = self._learnt(rows) if self._hashed else None
        return _content(found) if found else None

    def counted(self, rows: int, scope: Scope, table: str) -> Counted | None:
        """What the rows look like, with the same reserve; `table` has them now, and nothing else."""
        found, exact = self._learnt(rows), None
        if not found:
            return None
        if self._survey.exact:
            exact = self._session.sql(f"SELECT {self._survey.exact} AS told FROM {table}").collect()[0]["told"]
        return self._survey.read(found["profile"], scope, exact)

    def _learnt(self, rows: int) -> Mapping[str, Any] | None:
        if self._found is None:
            self._found = self._told() or {}
            self._session.catalog.dropTempView(self._view)
        return self._found if self._found.get("rows") == rows else None

    def _told(self) -> Mapping[str, Any] | None:
        """Spark tells it some time after the query has ended, and does not say when it never will."""
        told: list[Mapping[str, Any]] = []
        observation = self._observation

        def ask() -> None:
            try:
                if observation is not None:
                    told.append(observation.get)
            except Exception:  # a kind of session that cannot tell; there is another way to the same number
                return

        asking = threading.Thread(target=ask, name="content", daemon=True)
        asking.start()
        asking.join(_PATIENCE_SECONDS)
        return told[0] if told else None


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
    """The table property that says it; it names the snapshot it is about, so a later one makes it void."""
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
    """Spark's hash passes over NULL, the sign of zero and the bounds of nested values: NULLs and signs go in as bits,
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
    """The text of a nested value tells -0.0 from 0.0."""
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
"""From so many expected rows on, asking Iceberg what it knows is cheaper than to look at each row."""


def watch(request: WriteRequest, columns: TableColumns, hashed: bool = False) -> WatchedQuery:
    """For a statement that brings rows of these columns to a table that has no others."""
    looked_at = columns if request.profiled else TableColumns(())
    return WatchedQuery(request.session, columns, looked_at, hashed, request.hidden, many=_are_many(request))


def watch_added(request: WriteRequest, columns: TableColumns) -> WatchedQuery | None:
    """For a statement that adds rows to the table. None: Spark would compute them twice, to learn how to sort them; or
    there may be many, and of some files among others Iceberg tells nothing."""
    table = request.lake.table(request.table)
    if not request.profiled or (table is not None and table.sort_fields) or request.expected_rows > _MANY:
        return None
    return WatchedQuery(request.session, columns, columns, hashed=False, hidden=request.hidden)


def _are_many(request: WriteRequest) -> bool:
    table = request.lake.table(request.table)
    return max(request.expected_rows, table.total_records if table else 0) > _MANY


def batch_scope(request: WriteRequest) -> Scope:
    """What a staged result is of: where it is complete, the table becomes just that; scd2 keeps versions of it."""
    whole = request.complete and request.touched is None and not request.settings.traits.keeps_versions
    return "table" if whole else "written"


def learn(
    request: WriteRequest, watched: WatchedQuery, rows: int, scope: Scope, columns: TableColumns, relation: str
) -> None:
    """`rows` are what the statement wrote; `relation` has them now, and is asked only where some were counted twice."""
    if not request.profiled:
        return
    found = watched.counted(rows, scope, relation)
    if found is None:
        found = Counted(rows, (), scope) if _are_many(request) else _asked(request, relation, columns, scope)
    request.learnt.counted = found


def learn_added(
    request: WriteRequest, watched: WatchedQuery | None, rows: int, columns: TableColumns, before: TableBefore
) -> None:
    """The same for rows that were added to what the table had `before`."""
    if not request.profiled:
        return
    found = watched.counted(rows, "written", request.table.quoted) if watched else None
    if found is None and request.expected_rows > _MANY:
        found = Counted(rows, (), "written")
    elif found is None:
        metadata = request.lake.table(request.table)
        former = metadata.snapshots.get(before.snapshot_id) if metadata and before.snapshot_id is not None else None
        since = former.sequence_number if former else 0
        added = added_rows(request.session, request.table, metadata, since) if metadata else None
        if added is not None:
            added.createOrReplaceTempView(_ADDED)
            found = _asked(request, _ADDED, columns, "written")
            request.session.catalog.dropTempView(_ADDED)
    request.learnt.counted = found


def _asked(request: WriteRequest, relation: str, columns: TableColumns, scope: Scope) -> Counted:
    survey = survey_of(columns, request.hidden)
    return survey.read(request.session.sql(survey.over(relation)).collect()[0]["told"], scope)
