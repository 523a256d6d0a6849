"""A full refresh that changes no row is no change; one that changes anything is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.lake.metadata import TableMetadata
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.spark.session import temporary_conf
from tidegate.write import WriteOutcome, WriteRequest, observed_rows, write
from tidegate.write.observed_rows import CONTENT_PROPERTY, ObservedRows, content_of
from tidegate.write.spark_sql import literal
from tidegate.write.write_columns import columns_of

from .conftest import Branch

pytestmark = pytest.mark.spark


def _write(branch: Branch, table: TableName, query: str, remember: bool = True, **settings: Any) -> WriteOutcome:
    request = WriteRequest(
        branch.session,
        branch.lake,
        table,
        branch.session.sql(query),
        ModelSettings(**settings),
        run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
        complete=False,
    )
    outcome = write(request)
    if remember:
        _set(branch, table, outcome.properties)
    return outcome


def _set(branch: Branch, table: TableName, properties: Mapping[str, str]) -> None:
    for name, value in properties.items():
        branch.session.sql(f"ALTER TABLE {table.quoted} SET TBLPROPERTIES ('{name}' = {literal(value)})")


def _metadata(branch: Branch, table: TableName) -> TableMetadata:
    metadata = branch.lake.table(table)
    assert metadata is not None
    return metadata


SAME = {
    "other_order_of_rows_and_maps": (
        "SELECT * FROM VALUES (1, map('a', 1, 'b', 2)), (1, map('a', 1, 'b', 2)), (2, map()) AS t(n, m)",
        "SELECT * FROM VALUES (2, map()), (1, map('b', 2, 'a', 1)), (1, map('a', 1, 'b', 2)) AS t(n, m)",
    ),
    "no_rows": ("SELECT 1 AS n WHERE false", "SELECT 1 AS n WHERE false"),
}
DIFFERENT = {
    "another_number_of_duplicates": (
        "SELECT * FROM VALUES (1), (1), (2) AS t(n)",
        "SELECT * FROM VALUES (1), (2), (2) AS t(n)",
    ),
    "values_that_changed_places": (
        "SELECT * FROM VALUES (1, 2), (3, 4) AS t(a, b)",
        "SELECT * FROM VALUES (1, 4), (3, 2) AS t(a, b)",
    ),
    "values_of_other_columns": ("SELECT 1 AS a, 2 AS b", "SELECT 2 AS a, 1 AS b"),
    "null_in_another_column": (
        "SELECT 1 AS a, CAST(NULL AS int) AS b",
        "SELECT CAST(NULL AS int) AS a, 1 AS b",
    ),
    "null_and_nothing": ("SELECT CAST(NULL AS string) AS s", "SELECT '' AS s"),
    "bounds_of_arrays": (
        "SELECT array(array(1), array(2, 3)) AS a",
        "SELECT array(array(1, 2), array(3)) AS a",
    ),
    "microseconds_in_arrays": (
        "SELECT array(timestamp'2024-01-01 00:00:00.000001') AS a",
        "SELECT array(timestamp'2024-01-01 00:00:00.000002') AS a",
    ),
}
ONE_AFTER_THE_OTHER = {
    "rows": "SELECT * FROM VALUES (1, 2), (3, 4) AS t(a, b)",
    "values that changed places": "SELECT * FROM VALUES (1, 4), (3, 2) AS t(a, b)",
    "another order of columns": "SELECT * FROM VALUES (4, 1), (2, 3) AS t(b, a)",
    "another type": "SELECT * FROM VALUES (4, 1L), (2, 3L) AS t(b, a)",
    "another name": "SELECT * FROM VALUES (4, 1L), (2, 3L) AS t(b, c)",
    "no rows": "SELECT 4 AS b, 1L AS c WHERE false",
    "rows where there were none": "SELECT 4 AS b, 1L AS c",
}


@pytest.mark.parametrize("case", SAME)
def test_the_same_rows_make_no_snapshot(branch: Branch, case: str) -> None:
    table = TableName("shop", "silver", f"same_{case}")
    first, second = SAME[case]
    assert _write(branch, table, first).changed
    before = branch.lake.pointer(table)
    outcome = _write(branch, table, second, remember=False)
    assert (outcome.changed, outcome.rows_written) == (False, 0)
    assert branch.lake.pointer(table) == before


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_rows_are_another_content(branch: Branch, case: str) -> None:
    columns = columns_of(branch.session.sql(DIFFERENT[case][0]))
    first, second = (content_of(branch.session, f"({query})", columns) for query in DIFFERENT[case])
    assert first.rows == second.rows
    assert first.first != second.first
    assert first.second != second.second


def test_other_rows_and_other_columns_are_a_change(branch: Branch) -> None:
    table = TableName("shop", "silver", "others")
    for change, query in ONE_AFTER_THE_OTHER.items():
        before = branch.lake.pointer(table)
        assert _write(branch, table, query).changed, change
        assert branch.lake.pointer(table) != before


def test_a_table_that_was_written_otherwise_since_is_looked_at(branch: Branch) -> None:
    table = TableName("shop", "silver", "written_since")
    _write(branch, table, "SELECT id, 'x' AS s FROM range(5)")
    branch.session.sql(f"UPDATE {table.quoted} SET s = 'y' WHERE id = 1")
    assert _write(branch, table, "SELECT id, 'x' AS s FROM range(5)").changed
    branch.session.sql(f"UPDATE {table.quoted} SET s = 'y' WHERE id = 1")
    query = "SELECT id, IF(id = 1, 'y', 'x') AS s FROM range(5)"
    assert not _write(branch, table, query).changed
    assert CONTENT_PROPERTY in _metadata(branch, table).properties
    assert not _write(branch, table, query).changed


def test_what_is_remembered_is_taken_at_its_word(branch: Branch) -> None:
    """Else each refresh would scan the old table: a false memory shows that it does not."""
    table = TableName("shop", "silver", "remembered")
    outcome = _write(branch, table, "SELECT id FROM range(3)")
    false = outcome.properties[CONTENT_PROPERTY].replace('"rows":3', '"rows":4')
    _set(branch, table, {CONTENT_PROPERTY: false})
    assert _write(branch, table, "SELECT id FROM range(3)").changed


def test_another_layout_is_a_change(branch: Branch) -> None:
    table = TableName("shop", "silver", "other_layout")
    _write(branch, table, "SELECT id FROM range(3)")
    assert _write(branch, table, "SELECT id FROM range(3)", sorted_by=("id",)).changed
    assert not _write(branch, table, "SELECT id FROM range(3)", sorted_by=("id",)).changed
    assert _write(branch, table, "SELECT id FROM range(3)", partitioned_by=("bucket(2, id)",)).changed
    assert not _write(branch, table, "SELECT id FROM range(3)", partitioned_by=("bucket(2, id)",)).changed


def test_a_table_that_nobody_reads_is_not_looked_at(branch: Branch) -> None:
    table = TableName("shop", "silver", "unread")
    _write(branch, table, "SELECT id FROM range(3)")
    request = WriteRequest(
        branch.session,
        branch.lake,
        table,
        branch.session.sql("SELECT id FROM range(3)"),
        ModelSettings(),
        run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
        complete=False,
        has_readers=False,
    )
    assert write(request).changed
    outcome = write(replace(request, has_readers=True))
    assert not outcome.changed


def test_content_learnt_while_writing_is_that_of_the_table(branch: Branch) -> None:
    query = (
        "SELECT id, IF(id % 3 = 0, NULL, cast(id AS decimal(10,2))) AS d, array(id, NULL) AS a, map(id, 'x') AS m,"
        " named_struct('t', timestamp'2024-01-01' + make_dt_interval(0, 0, 0, id / 1000000)) AS s, -0.0D AS z"
        " FROM range(100)"
    )
    table = TableName("shop", "silver", "learnt")
    branch.lake.create_namespace(table)
    rows = branch.session.sql(query)
    columns = columns_of(rows)
    watched = ObservedRows(branch.session, columns)
    watched.of(rows).writeTo(table.quoted).using("iceberg").create()
    learnt = watched.content(100)
    assert learnt == content_of(branch.session, table.quoted, columns)
    assert learnt == content_of(branch.session, f"({query})", columns)


def test_content_that_was_counted_twice_is_not_believed(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observed_rows, "_PATIENCE_SECONDS", 1.0)
    rows = branch.session.sql("SELECT id FROM range(1000)")
    watched = ObservedRows(branch.session, columns_of(rows))
    with temporary_conf(branch.session, {"spark.sql.shuffle.partitions": "4"}):
        watched.of(rows).orderBy("id", ascending=False).collect()
    assert watched.content(1000) is None
