"""Replaces the rows of touched keys with a result that covers only these keys."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.faults import fault
from tidegate.lake.branch_catalog import Pointer
from tidegate.names import TableName
from tidegate.quality.column_profiles import Counted
from tidegate.widening import join_types
from tidegate.write.added_rows import added_rows
from tidegate.write.commits import (
    TableBefore,
    commit_since,
    existing_columns,
    existing_rows,
    partly_written,
    refuse_mass_delete,
    row_key_recorded,
    table_before,
)
from tidegate.write.drift import Drift, aligned, compare_columns
from tidegate.write.few_rows import FEW_ROWS, for_few_rows, into_one_file
from tidegate.write.key_columns import check_keys, deduplicated_rows, keeps_latest, key_columns
from tidegate.write.request import Touched, WriteOutcome, WriteRequest
from tidegate.write.spark_sql import any_of, literal, quote
from tidegate.write.staging import (
    RESULT,
    persisted_view,
    pinned_table,
    result_view,
)
from tidegate.write.strategies.groups import replace_groups
from tidegate.write.write_columns import TableColumn, TableColumns, result_columns

__all__ = ["upsert_few", "write_region"]

_STAGED, _MATCHED = "__tidegate_staged", "__tidegate_found"
_GONE, _DIFFERS, _HERE = (f"__tidegate_{name}" for name in ("gone", "differs", "here"))
_BOUNDED = frozenset({"int", "bigint", "date", "timestamp", "string", "decimal"})
_MERGED = "spark.merge-into.num-target-rows"
_FILES_TO_LOOK_AT, _WORTH_A_CONDITION = 1000, 0.8
_CHEAP_TO_COMPARE = 32 * 2**20
"""Bytes of a table up to which all its columns are read to find the rows that do not differ."""


@dataclass(frozen=True, slots=True)
class _Staged:
    """Facts of the staged result, from one pass over it."""

    rows: int

    nulls: bool
    """A key holds NULL."""

    within: str
    """The range of the keys, as a condition on the table that lets Iceberg leave out files."""


@dataclass(frozen=True, slots=True)
class _Region:
    request: WriteRequest

    touched: Touched | None
    """None: the staged keys are all that is touched."""

    drift: Drift

    result_columns: TableColumns
    """The columns of the result."""

    key: TableColumns
    """Identifies rows, in the table and in the staged result."""

    operator: str
    """Compares values of the key: `=` is much faster where no touched one is NULL."""

    whole: bool
    """The key is the region's, and the touched keys that the result lacks are staged as deleted rows."""

    staged: _Staged

    newer: str = ""
    """A condition: which rows of the table, `__t`, a staged one may replace."""

    @property
    def columns(self) -> TableColumns:
        return self.drift.columns

    def same(self, left: str, right: str, names: Sequence[str]) -> str:
        return " AND ".join(f"{left}.{quote(name)} {self.operator} {right}.{quote(name)}" for name in names)

    def same_key(self, left: str, right: str) -> str:
        return self.same(left, right, self.key.names)

    def outcome(self, written: int, deleted: int) -> WriteOutcome:
        drift = self.drift
        changed = bool(written or deleted or drift.alters)
        return WriteOutcome(written, deleted, changed, drift.changes, dropped_columns=drift.dropped_columns)


def write_region(
    request: WriteRequest, *, unique: bool, nulls: bool | None = None, compare: bool | None = None
) -> WriteOutcome | None:
    """Replace the rows of the touched keys by the result. None: the table must be rebuilt instead.

    The table has been built before, and `request.touched` is given. `unique`: at most one row for each touched key, in
    the table too. `nulls`: whether a touched key holds NULL, if that is known. `compare`: rows that do not differ are
    not written again, for which all columns of the table are read; by default where it is small and has readers. If
    anything is raised, or None is returned, the table is as it was before.
    """
    touched = request.touched
    assert touched is not None
    columns = result_columns(request.table, request.result)
    drift = _drift(request, columns)
    if drift is None:
        return None
    before = request.lake.pointer(request.table)
    key, whole = _key(request, touched, columns, unique)
    try:
        with (
            result_view(request),
            for_few_rows(request.session),
            persisted_view(request.session, _staged_sql(request, drift, columns, key, whole), _STAGED),
        ):
            if key is None:
                _check_groups(request, columns)
                request.stamp()
                keys = _region_columns(request, touched, columns)
                groups = replace_groups(request, drift, columns, keys, _STAGED, within=touched.view)
                return replace(groups, counted=request.observed.counted)
            staged = _look(request, key, whole, unique)
            if request.profiled:
                request.observed.counted = Counted(staged.rows, (), "written")
            null_safe = staged.nulls if whole else nulls is not False or request.settings.null_keys == "match"
            operator = "<=>" if null_safe else "="
            region = _Region(request, touched, drift, columns, key, operator, whole, staged)
            request.stamp()
            outcome = _write(region, _worth_comparing(request) if compare is None else compare)
    except BaseException:
        _put_back(request, before)
        raise
    if outcome is None:
        _put_back(request, before)
        return None
    return replace(outcome, counted=request.observed.counted)


def upsert_few(request: WriteRequest, drift: Drift, columns: TableColumns, staging: TableName) -> WriteOutcome | None:
    """What one MERGE of a few staged rows into a large table would do, without a shuffle of the table.

    Keys are checked. None: nothing was written, because the table has several rows of a staged key.
    """
    rows = f"SELECT {aligned(drift.columns, columns)}, false AS {_GONE} FROM {staging.quoted}"
    key, operator = key_columns(request, drift.columns), "<=>" if request.settings.null_keys == "match" else "="
    name = request.settings.watermark_column
    watermark = drift.columns.require(name, "watermark_column", request.table).quoted if name else ""
    newer = f"(__t.{watermark} IS NULL OR __s.{watermark} >= __t.{watermark})" if watermark else ""
    with for_few_rows(request.session):
        request.session.sql(rows).createOrReplaceTempView(_STAGED)
        try:
            staged = _look(request, key, whole=True, unique=False)
            return _write_difference(_Region(request, None, drift, columns, key, operator, True, staged, newer))
        finally:
            with contextlib.suppress(Exception):  # the session may be gone, and its views with it
                request.session.catalog.dropTempView(_STAGED)


def _put_back(request: WriteRequest, pointer: Pointer | None) -> None:
    if request.lake.pointer(request.table) != pointer:
        request.lake.restore(request.table, pointer)


def _drift(request: WriteRequest, columns: TableColumns) -> Drift | None:
    """None: the table's columns cannot take the result as they are."""
    table = existing_columns(request)
    for column in columns:
        held = table.get(column.name)
        if held is None or join_types(held.type, column.type) != held.type:
            return None
    if len(table) == len(columns):
        return Drift(table)
    if request.settings.traits.replaces_table:
        return None
    drift = compare_columns(request, columns)
    return None if drift.alters or drift.rebuild else drift


def _region_columns(request: WriteRequest, touched: Touched, columns: TableColumns) -> TableColumns:
    return TableColumns(tuple(columns.require(name, "the region", request.table) for name in touched.region))


def _key(
    request: WriteRequest, touched: Touched, columns: TableColumns, unique: bool
) -> tuple[TableColumns | None, bool]:
    """The columns that identify rows of touched keys, None where none do; and whether they are the region's own key."""
    if request.settings.traits.merges_by_key:
        key = key_columns(request, columns)
        return key, _same_names(key.names, touched.region)
    return (_region_columns(request, touched, columns), True) if unique else (None, False)


def _staged_sql(
    request: WriteRequest, drift: Drift, columns: TableColumns, key: TableColumns | None, whole: bool
) -> str:
    rows = RESULT
    if request.settings.traits.merges_by_key:
        rows = f"({deduplicated_rows(request, RESULT, columns, key_columns(request, columns))})"
    result = f"SELECT {aligned(drift.columns, columns)}"
    if key is None or not whole:
        return f"{result}, false AS {_GONE} FROM {rows}"
    values = ", ".join(
        _value_of_key(column) if column.name in key else f"__r.{column.quoted}" for column in drift.columns
    )
    same = " AND ".join(f"__d.{column.quoted} <=> __r.{column.quoted}" for column in key)
    assert request.touched is not None
    return (
        f"SELECT {values}, __r.{_HERE} IS NULL AS {_GONE} FROM {request.touched.view} __d"
        f" LEFT JOIN ({result}, true AS {_HERE} FROM {rows}) __r ON {same}"
    )


def _value_of_key(column: TableColumn) -> str:
    return f"IF(__r.{_HERE}, __r.{column.quoted}, CAST(__d.{column.quoted} AS {column.type_sql})) AS {column.quoted}"


def _check_groups(request: WriteRequest, columns: TableColumns) -> None:
    setting = request.settings.traits.key_setting
    if setting is not None and request.settings.traits.key_required:
        check_keys(request, _STAGED, key_columns(request, columns, setting), unique=False, setting=setting)


def _look(request: WriteRequest, key: TableColumns, whole: bool, unique: bool) -> _Staged:
    """One cheap pass says whether keys are right; a slower one, which of them are not. Nothing is written yet."""
    keyed = request.settings.traits.merges_by_key
    proven = not keyed or keeps_latest(request) or (unique and whole)
    missing = any_of(f"{column.quoted} IS NULL" for column in key)
    different = "count_if(NOT gone)" if proven else f"count(DISTINCT IF(gone, NULL, struct({key.sql()})))"
    bounded = [column for column in key if _has_bounds(column)]
    bounds = "".join(
        f", {_as_text(f'{aggregate}({column.quoted})', column)} AS {name}{at}"
        for at, column in enumerate(bounded)
        for aggregate, name in (("min", "low"), ("max", "high"))
    )
    row = request.session.sql(
        f"SELECT count_if(NOT gone) AS n, count_if(NOT gone AND ({missing})) AS missing,"
        f" coalesce(bool_or({missing}), false) AS nulls, {different} AS different{bounds}"
        f" FROM (SELECT *, {_GONE} AS gone FROM {_STAGED})"
    ).collect()[0]
    if keyed and (row["missing"] or row["different"] != row["n"]):
        check_keys(request, f"(SELECT * FROM {_STAGED} WHERE NOT {_GONE})", key, unique=not proven)
    within = [
        f"__t.{column.quoted} BETWEEN {_literal(row[f'low{at}'], column)} AND {_literal(row[f'high{at}'], column)}"
        for at, column in enumerate(bounded)
        if not row["nulls"] and _is_whole(row[f"low{at}"]) and _is_whole(row[f"high{at}"])
        if _leave_out_files(request, column, row[f"low{at}"], row[f"high{at}"])
    ]
    return _Staged(row["n"], row["nulls"], " AND ".join(within))


def _has_bounds(column: TableColumn) -> bool:
    return column.type.kind in _BOUNDED


def _leave_out_files(request: WriteRequest, column: TableColumn, low: str, high: str) -> bool:
    """Bounds that prune no file cost time: they are literals in the code that Spark generates, so each new value is
    compiled again."""
    metadata = request.lake.table(request.table)
    field = next((f for f in metadata.fields if f.name.lower() == column.name.lower()), None) if metadata else None
    if metadata is None or metadata.current is None or field is None or field.type not in ("int", "long"):
        return True
    if metadata.current.count("total-data-files") > _FILES_TO_LOOK_AT:
        return True
    # PyIceberg is slow to import, and few writes need it.
    from tidegate.lake.manifests import share_of_rows_within

    return share_of_rows_within(metadata.current, field.id, int(low), int(high)) < _WORTH_A_CONDITION


_COUNTED = {"timestamp": ("unix_micros", "timestamp_micros"), "date": ("unix_date", "date_from_unix_date")}
"""Kinds that are passed as numbers, because text can be ambiguous: with daylight saving time, one hour occurs twice."""


def _as_text(value: str, column: TableColumn) -> str:
    counted = _COUNTED.get(column.type.kind)
    return f"CAST({f'{counted[0]}({value})' if counted else value} AS STRING)"


def _is_whole(text: str | None) -> bool:
    """Whether the text is the value. Bytes that are no text are not, and become something else on the way."""
    return text is not None and text.isascii()


def _literal(text: str, column: TableColumn) -> str:
    counted = _COUNTED.get(column.type.kind)
    return f"{counted[1]}({int(text)}L)" if counted else f"CAST({literal(text)} AS {column.type_sql})"


def _worth_comparing(request: WriteRequest) -> bool:
    metadata = request.lake.table(request.table)
    return request.has_readers and metadata is not None and metadata.total_bytes <= _CHEAP_TO_COMPARE


def _write(region: _Region, compare: bool) -> WriteOutcome | None:
    if existing_rows(region.request) == 0:
        if region.staged.rows:
            _insert(region, "")
        return region.outcome(region.staged.rows, 0)
    by_key_alone = region.whole and len(region.key) < len(region.columns)
    return _write_all(region) if by_key_alone and not compare else _write_difference(region)


def _write_difference(region: _Region) -> WriteOutcome | None:
    """One read of the table shows which of its touched rows differ or must be deleted; all other staged rows are
    inserted."""
    request, others = region.request, TableColumns(tuple(c for c in region.columns if c.name in region.result_columns))
    compared = others.without(region.key.names)
    with persisted_view(request.session, _matched_sql(region, compared), _MATCHED):
        differing = "".join(f", count_if({_DIFFERS}[{at}]) AS d{at}" for at in range(len(compared)))
        counts = request.session.sql(
            f"SELECT count_if({_GONE}) AS gone, count_if(NOT {_GONE}) AS matched,"
            f" count(DISTINCT IF({_GONE}, NULL, struct({region.key.sql()}))) AS keys,"
            f" count_if(exists({_DIFFERS}, d -> d)) AS updated{differing} FROM {_MATCHED}"
        ).collect()[0]
        if counts["matched"] > counts["keys"]:
            return None
        inserted = region.staged.rows - counts["matched"]
        _refuse_mass_delete(region, counts["gone"], existing_rows(request))
        same = [c.name for at, c in enumerate(compared) if not counts[f"d{at}"] and c.is_compared_exactly]
        changed = None if counts["gone"] else region.columns.without([*region.key.names, *same]).names
        if counts["updated"] or counts["gone"]:
            every = counts["updated"] == counts["matched"] and (region.whole or not (counts["gone"] or inserted))
            source = f"SELECT * FROM {_STAGED}" if every else _differing(region, any_gone=counts["gone"] > 0)
            with partly_written(request.session, if_any=inserted > 0):
                _merge(region, source, changed)
            if inserted:
                fault("between_commits", request.table)
        if inserted:
            _insert(region, f"LEFT ANTI JOIN {_MATCHED} __f ON {region.same_key('__s', '__f')}")
    return region.outcome(counts["updated"] + inserted, counts["gone"])


def _differing(region: _Region, *, any_gone: bool) -> str:
    """The staged rows that differ from the table's, and the keys to delete."""
    again = f"SELECT 1 FROM {_MATCHED} __f WHERE exists({_DIFFERS}, d -> d) AND {region.same_key('__f', '__s')}"
    rows = f"SELECT * FROM {_STAGED} __s WHERE NOT {_GONE} AND EXISTS ({again})"
    gone = f"SELECT {_only_key(region)}, true AS {_GONE} FROM {_MATCHED} WHERE {_GONE}"
    return f"{rows} UNION ALL {gone}" if any_gone else rows


def _matched_sql(region: _Region, compared: TableColumns) -> str:
    """The rows of the table that have a touched key. Where those are all staged, no other join is needed."""
    touched, within, gone = region.touched, "", f"__s.{_HERE} IS NULL"
    staged, keys = f"SELECT *, true AS {_HERE} FROM {_STAGED} WHERE NOT {_GONE}", ""
    if region.whole:
        within, gone = region.staged.within, f"__s.{_GONE}"
        staged = f"SELECT *, NOT {_GONE} AS {_HERE} FROM {_STAGED}"
    elif touched:
        keys = f" JOIN {touched.view} __d ON {region.same('__t', '__d', touched.region)} LEFT"
    may = f"__s.{_HERE} AND {region.newer}" if region.newer else f"__s.{_HERE}"
    differs = ", ".join(f"{may} AND {column.differs('__t', '__s')}" for column in compared)
    return (
        f"SELECT {region.key.sql('__t')}, {gone} AS {_GONE}, CAST(array({differs}) AS array<boolean>) AS {_DIFFERS}"
        f" FROM (SELECT * FROM {pinned_table(region.request)}{f' __t WHERE {within}' if within else ''}) __t{keys}"
        f" JOIN ({staged}) __s ON {region.same_key('__t', '__s')}"
    )


def _write_all(region: _Region) -> WriteOutcome | None:
    """Writes every staged row, and reads only the key of the table, once.

    The rows that were updated are in the files that the MERGE added; the others are new.
    """
    request, before = region.request, table_before(region.request)
    # Whether rows remain to be inserted is only known afterwards.
    with partly_written(request.session):
        updated, deleted = _merge(region, f"SELECT * FROM {_STAGED}")
    if updated > region.staged.rows:
        return None
    _refuse_mass_delete(region, deleted, before.rows)
    if updated < region.staged.rows:
        fault("between_commits", request.table)
        anti_join = f"LEFT ANTI JOIN ({_written_keys(region, before)}) __f ON {region.same_key('__s', '__f')}"
        _insert(region, anti_join if updated else "")
        request.session.catalog.dropTempView(_MATCHED)
    return region.outcome(region.staged.rows, deleted)


def _written_keys(region: _Region, before: TableBefore) -> str:
    request = region.request
    metadata = request.lake.table(request.table)
    former = metadata.snapshots.get(before.snapshot_id) if metadata and before.snapshot_id is not None else None
    rows = added_rows(request.session, request.table, metadata, former.sequence_number) if metadata and former else None
    if rows is None:
        return f"SELECT {region.key.sql()} FROM {request.table.quoted}"
    rows.createOrReplaceTempView(_MATCHED)
    return f"SELECT {region.key.sql()} FROM {_MATCHED}"


def _merge(region: _Region, source: str, changed: Sequence[str] | None = None) -> tuple[int, int]:
    """How many rows were updated and deleted. A MERGE that also inserts would have to shuffle the whole table."""
    request, before = region.request, table_before(region.request)
    assignments = [f"__t.{c.quoted} = __s.{c.quoted}" for c in region.columns.without(region.key.names)]
    clauses = [f"WHEN MATCHED AND __s.{_GONE} THEN DELETE"]
    if assignments:
        clauses.append(f"WHEN MATCHED THEN UPDATE SET {', '.join(assignments)}")
    with (
        row_key_recorded(request.session, region.key.names, changed),
        into_one_file(request.session, region.staged.rows),
    ):
        request.session.sql(
            f"MERGE INTO {request.table.quoted} __t USING ({source}) __s"
            f" ON {' AND '.join(filter(None, (region.same_key('__t', '__s'), region.staged.within)))}"
            f" {' '.join(clauses)}"
        )
    commit = commit_since(request, before)
    if commit is None:
        return 0, 0
    # Spark's own count can be missing from the summary; a file holds nothing else where rows are merged on read.
    counted = f"{_MERGED}-updated" if f"{_MERGED}-updated" in commit.summary else "added-records"
    return commit.count(counted), before.rows - existing_rows(request)


def _insert(region: _Region, anti_join: str) -> None:
    request = region.request
    # Without a shuffle there would be a file for each part that the rows were persisted in.
    gathered = "/*+ COALESCE(1) */ " if region.staged.rows <= FEW_ROWS else ""
    with row_key_recorded(request.session, region.key.names):
        request.session.sql(
            f"INSERT INTO {request.table.quoted} ({region.columns.sql()})"
            f" SELECT {gathered}{region.columns.sql('__s')} FROM {_STAGED} __s {anti_join} WHERE NOT __s.{_GONE}"
        )


def _only_key(region: _Region) -> str:
    """Of a row to delete, only the key is used."""
    values = (
        f"CAST({column.quoted if column.name in region.key else 'NULL'} AS {column.type_sql}) AS {column.quoted}"
        for column in region.columns
    )
    return ", ".join(values)


def _refuse_mass_delete(region: _Region, gone: int, existing: int) -> None:
    """A table that is replaced whole needs no permission either."""
    if not region.request.settings.traits.replaces_table:
        refuse_mass_delete(region.request, gone, existing)


def _same_names(left: Sequence[str], right: Sequence[str]) -> bool:
    return {name.lower() for name in left} == {name.lower() for name in right}
