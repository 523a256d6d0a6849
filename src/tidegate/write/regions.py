"""A result of touched keys only takes the place of the rows that the table has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.lake.port import Pointer
from tidegate.project.model import Strategy
from tidegate.write.added import added_rows
from tidegate.write.columns import Columns, columns_of, result_columns
from tidegate.write.commits import Standing, commit_since, existing_rows, standing
from tidegate.write.deletes import refuse_mass_delete
from tidegate.write.drift import Drift, aligned, compare_columns
from tidegate.write.groups import replace_groups
from tidegate.write.kept import kept, pinned, sending_small_sides
from tidegate.write.keys import check_keys, keeps_latest, key_columns, latest_rows
from tidegate.write.promises import promised
from tidegate.write.request import Touched, WriteOutcome, WriteRequest
from tidegate.write.sql import any_of, quote
from tidegate.write.staging import RESULT, result_view
from tidegate.write.types import join_types

__all__ = ["write_region"]

_STAGED, _FOUND = "__tidegate_staged", "__tidegate_found"
_GONE, _DIFFERS, _HERE = (f"__tidegate_{name}" for name in ("gone", "differs", "here"))
_MERGED = "spark.merge-into.num-target-rows"
_CHEAP_TO_COMPARE = 32 * 2**20
"""Bytes of a table up to which all its columns are read to find the rows that do not differ."""


@dataclass(frozen=True, slots=True)
class _Region:
    """`key` tells rows apart, in the table and in the staged result of `rows` rows. `given`: columns of the result.

    `operator` compares values of the key: `=` is much faster where no touched one is NULL.
    """

    request: WriteRequest
    touched: Touched
    drift: Drift
    given: Columns
    key: Columns
    operator: str
    rows: int

    @property
    def columns(self) -> Columns:
        return self.drift.columns

    def same(self, left: str, right: str, names: Sequence[str]) -> str:
        return " AND ".join(f"{left}.{quote(name)} {self.operator} {right}.{quote(name)}" for name in names)

    def same_key(self, left: str, right: str) -> str:
        return self.same(left, right, self.key.names)

    def outcome(self, written: int, deleted: int) -> WriteOutcome:
        changed = bool(written or deleted)
        drift = self.drift
        return WriteOutcome(written, deleted, changed, drift.changes, dropped_columns=drift.dropped_columns)


def write_region(
    request: WriteRequest, *, unique: bool, nulls: bool = True, compare: bool | None = None
) -> WriteOutcome | None:
    """Make the table what it was outside the touched keys, and the result inside. None: it must be made anew instead.

    The table has been built before, and `request.touched` is given. `unique`: at most one row for each touched key, in
    the table too. `nulls`: a touched key may hold NULL. `compare`: rows that do not differ are not written again, for
    which all columns of the table are read; by default where it is small and has readers. Whatever is raised, the
    table is as it was before; so it is after None.
    """
    touched = request.touched
    assert touched is not None
    columns = result_columns(request.table, request.result)
    drift = _drift(request, columns)
    if drift is None:
        return None
    before = request.lake.pointer(request.table)
    try:
        with result_view(request), kept(request.session, _staged_sql(request, drift, columns), _STAGED):
            region = _region(request, touched, drift, columns, unique, nulls)
            if region is None:
                keys = Columns(tuple(columns.require(name, "the region", request.table) for name in touched.region))
                return replace_groups(request, drift, columns, keys, _STAGED, within=touched.view)
            with sending_small_sides(request.session):
                outcome = _write(region, _worth_comparing(request) if compare is None else compare)
    except BaseException:
        _put_back(request, before)
        raise
    if outcome is None:
        _put_back(request, before)
    return outcome


def _put_back(request: WriteRequest, pointer: Pointer | None) -> None:
    if request.lake.pointer(request.table) != pointer:
        request.lake.restore(request.table, pointer)


def _drift(request: WriteRequest, columns: Columns) -> Drift | None:
    """None: the table's columns cannot take the result as they are."""
    table = columns_of(request.session.table(request.table.quoted))
    for column in columns:
        held = table.get(column.name)
        if held is None or join_types(held.type, column.type) != held.type:
            return None
    if len(table) == len(columns):
        return Drift(table)
    if request.settings.strategy is Strategy.FULL_REFRESH:
        return None
    drift = compare_columns(request, columns)
    return None if drift.alters or drift.rebuild else drift


def _staged_sql(request: WriteRequest, drift: Drift, columns: Columns) -> str:
    latest = request.settings.strategy is Strategy.INCREMENTAL and keeps_latest(request)
    rows = f"({latest_rows(request, RESULT, columns, key_columns(request, columns))})" if latest else RESULT
    return f"SELECT {aligned(drift.columns, columns)} FROM {rows}"


def _region(
    request: WriteRequest, touched: Touched, drift: Drift, columns: Columns, unique: bool, nulls: bool
) -> _Region | None:
    """None: nothing tells the rows of a touched key apart. Keys are checked here, before anything is written."""
    strategy = request.settings.strategy
    if strategy is Strategy.INCREMENTAL:
        key = key_columns(request, columns)
        proven = keeps_latest(request) or (unique and _same_names(key.names, touched.region))
        rows = _checked_rows(request, key, unique=not proven)
        null_safe = nulls or request.settings.null_keys == "match"
        return _Region(request, touched, drift, columns, key, "<=>" if null_safe else "=", rows)
    if strategy in (Strategy.TRACKED, Strategy.DELETE_INSERT):
        setting = "group_key" if strategy is Strategy.TRACKED else "unique_key"
        check_keys(request, _STAGED, key_columns(request, columns, setting), unique=False, setting=setting)
    if not unique:
        return None
    key = Columns(tuple(columns.require(name, "the region", request.table) for name in touched.region))
    return _Region(request, touched, drift, columns, key, "<=>" if nulls else "=", _count(request))


def _checked_rows(request: WriteRequest, key: Columns, *, unique: bool) -> int:
    """How many rows are staged. One cheap pass says whether keys are right; the slower one, which of them are not."""
    missing = any_of(f"{column.quoted} IS NULL" for column in key)
    different = f"count(DISTINCT struct({key.sql()}))" if unique else "count(*)"
    row = request.session.sql(
        f"SELECT count(*) AS n, count_if({missing}) AS missing, {different} AS different FROM {_STAGED}"
    ).collect()[0]
    rows: int = row["n"]
    if row["missing"] or row["different"] != rows:
        check_keys(request, _STAGED, key, unique=unique)
    return rows


def _count(request: WriteRequest) -> int:
    rows: int = request.session.sql(f"SELECT count(*) AS n FROM {_STAGED}").collect()[0]["n"]
    return rows


def _worth_comparing(request: WriteRequest) -> bool:
    metadata = request.lake.table(request.table)
    return request.has_readers and metadata is not None and metadata.total_bytes <= _CHEAP_TO_COMPARE


def _write(region: _Region, compare: bool) -> WriteOutcome | None:
    if existing_rows(region.request) == 0:
        if region.rows:
            _insert(region, "")
        return region.outcome(region.rows, 0)
    by_key_alone = _same_names(region.key.names, region.touched.region) and len(region.key) < len(region.columns)
    return _write_all(region) if by_key_alone and not compare else _write_difference(region)


def _write_difference(region: _Region) -> WriteOutcome | None:
    """One look at the table says which of its touched rows differ or are gone; the rest of the result is new to it."""
    request, others = region.request, Columns(tuple(c for c in region.columns if c.name in region.given))
    compared = others.without(region.key.names)
    with kept(request.session, _found_sql(region, compared), _FOUND):
        differing = "".join(f", count_if({_DIFFERS}[{at}]) AS d{at}" for at in range(len(compared)))
        found = request.session.sql(
            f"SELECT count_if({_GONE}) AS gone, count_if(NOT {_GONE}) AS matched,"
            f" count(DISTINCT IF({_GONE}, NULL, struct({region.key.sql()}))) AS keys,"
            f" count_if(exists({_DIFFERS}, d -> d)) AS updated{differing} FROM {_FOUND}"
        ).collect()[0]
        if found["matched"] > found["keys"]:
            return None
        inserted = region.rows - found["matched"]
        _refuse_mass_delete(region, found["gone"], existing_rows(request))
        only_updates = not inserted and not found["gone"]
        changed = [column.name for at, column in enumerate(compared) if found[f"d{at}"]] if only_updates else None
        if found["updated"] or found["gone"]:
            again = f"SELECT 1 FROM {_FOUND} __f WHERE exists({_DIFFERS}, d -> d) AND {region.same_key('__f', '__s')}"
            rows = f"SELECT *, false AS {_GONE} FROM {_STAGED} __s WHERE EXISTS ({again})"
            gone = f"SELECT {_only_key(region)}, true AS {_GONE} FROM {_FOUND} WHERE {_GONE}"
            _merge(region, f"{rows} UNION ALL {gone}" if found["gone"] else rows, changed)
        if inserted:
            _insert(region, f"LEFT ANTI JOIN {_FOUND} __f ON {region.same_key('__s', '__f')}")
    return region.outcome(found["updated"] + inserted, found["gone"])


def _found_sql(region: _Region, compared: Columns) -> str:
    differs = ", ".join(f"__s.{_HERE} AND {column.differs('__t', '__s')}" for column in compared)
    return (
        f"SELECT {region.key.sql('__t')}, __s.{_HERE} IS NULL AS {_GONE},"
        f" CAST(array({differs}) AS array<boolean>) AS {_DIFFERS}"
        f" FROM (SELECT * FROM {pinned(region.request)}) __t"
        f" JOIN {region.touched.view} __d ON {region.same('__t', '__d', region.touched.region)}"
        f" LEFT JOIN (SELECT *, true AS {_HERE} FROM {_STAGED}) __s ON {region.same_key('__t', '__s')}"
    )


def _write_all(region: _Region) -> WriteOutcome | None:
    """Every staged row is written, and of the table only the key is read, once.

    The rows that were updated are in the files that the MERGE added; the others are new.
    """
    request, before = region.request, standing(region.request)
    gone = (
        f"SELECT {_only_key(region)}, true AS {_GONE} FROM {region.touched.view} __d"
        f" WHERE NOT EXISTS (SELECT 1 FROM {_STAGED} __s WHERE {region.same_key('__s', '__d')})"
    )
    updated, deleted = _merge(region, f"SELECT *, false AS {_GONE} FROM {_STAGED} UNION ALL {gone}")
    if updated > region.rows:
        return None
    _refuse_mass_delete(region, deleted, before.rows)
    if updated < region.rows:
        known = f"LEFT ANTI JOIN ({_written_keys(region, before)}) __f ON {region.same_key('__s', '__f')}"
        _insert(region, known if updated else "")
        request.session.catalog.dropTempView(_FOUND)
    return region.outcome(region.rows, deleted)


def _written_keys(region: _Region, before: Standing) -> str:
    request = region.request
    metadata = request.lake.table(request.table)
    former = metadata.snapshots.get(before.snapshot_id) if metadata and before.snapshot_id is not None else None
    rows = added_rows(request.session, request.table, metadata, former.sequence_number) if metadata and former else None
    if rows is None:
        return f"SELECT {region.key.sql()} FROM {request.table.quoted}"
    rows.createOrReplaceTempView(_FOUND)
    return f"SELECT {region.key.sql()} FROM {_FOUND}"


def _merge(region: _Region, source: str, changed: Sequence[str] | None = None) -> tuple[int, int]:
    """How many rows were updated and deleted. A MERGE that also inserts would have to shuffle the whole table."""
    request, before = region.request, standing(region.request)
    assignments = [f"__t.{c.quoted} = __s.{c.quoted}" for c in region.columns.without(region.key.names)]
    clauses = [f"WHEN MATCHED AND __s.{_GONE} THEN DELETE"]
    if assignments:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {', '.join(assignments)}")
    with promised(request.session, region.key.names, changed):
        request.session.sql(
            f"MERGE INTO {request.table.quoted} __t USING ({source}) __s"
            f" ON {region.same_key('__t', '__s')} {' '.join(clauses)}"
        )
    commit = commit_since(request, before)
    if commit is None:
        return 0, 0
    # Spark's own count can be missing from the summary; a file holds nothing else where rows are merged on read.
    counted = f"{_MERGED}-updated" if f"{_MERGED}-updated" in commit.summary else "added-records"
    return commit.count(counted), before.rows - existing_rows(request)


def _insert(region: _Region, known: str) -> None:
    request = region.request
    with promised(request.session, region.key.names):
        request.session.sql(
            f"INSERT INTO {request.table.quoted} ({region.columns.sql()})"
            f" SELECT {region.columns.sql('__s')} FROM {_STAGED} __s {known}"
        )


def _only_key(region: _Region) -> str:
    """Of a row that is to go nothing but the key counts."""
    values = (
        f"CAST({column.quoted if column.name in region.key else 'NULL'} AS {column.type_sql}) AS {column.quoted}"
        for column in region.columns
    )
    return ", ".join(values)


def _refuse_mass_delete(region: _Region, gone: int, existing: int) -> None:
    """A rebuild of a full_refresh model asks nobody either."""
    if region.request.settings.strategy is not Strategy.FULL_REFRESH:
        refuse_mass_delete(region.request, gone, existing)


def _same_names(left: Sequence[str], right: Sequence[str]) -> bool:
    return {name.lower() for name in left} == {name.lower() for name in right}
