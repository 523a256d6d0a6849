"""What a replacement leaves of a table, and what a failed write does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.errors import StrategyError
from tidegate.names import TableName
from tidegate.project.model import ModelSettings, Strategy
from tidegate.write import WriteOutcome, WriteRequest, write

from .conftest import Branch

pytestmark = pytest.mark.spark


def _write(branch: Branch, table: TableName, query: str, complete: bool = False, **settings: Any) -> WriteOutcome:
    request = WriteRequest(
        branch.session,
        branch.lake,
        table,
        branch.session.sql(query),
        ModelSettings(**settings),
        run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
        complete=complete,
    )
    return write(request)


def _rows(branch: Branch, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in branch.session.sql(query).collect())


def test_layout_is_in_the_table_and_rows_are_sorted_in_it(branch: Branch) -> None:
    table = TableName("shop", "silver", "layout")
    query = "SELECT timestamp'2024-01-01' + make_interval(0, 0, 0, id % 2) AS ts, id FROM range(100)"
    _write(branch, table, query, partitioned_by=("days(ts)", "bucket(2, id)"), sorted_by=("id desc nulls last",))
    metadata = branch.lake.table(table)
    assert metadata is not None
    assert [field["transform"] for field in metadata.partition_fields] == ["day", "bucket[2]"]
    assert [(field["direction"], field["null-order"]) for field in metadata.sort_fields] == [("desc", "nulls-last")]
    assert metadata.properties["write.distribution-mode"] == "range"
    assert "write.spark.fanout.enabled" not in metadata.properties
    unsorted = (
        "SELECT * FROM (SELECT id, lag(id) OVER (PARTITION BY _file ORDER BY _pos) AS before FROM {}) WHERE id > before"
    )
    assert _rows(branch, unsorted.format(table.quoted)) == []
    files = branch.session.sql(f"SELECT count(*) AS n FROM {table.quoted}.files").collect()[0]["n"]
    assert files == 4


def test_rewritten_and_replaced_tables_keep_their_history(branch: Branch) -> None:
    table, append = TableName("shop", "silver", "history"), Strategy.APPEND_ONLY
    _write(branch, table, "SELECT 1 AS v", strategy=append)
    before = branch.lake.table(table)
    _write(branch, table, "SELECT 'x' AS v", strategy=append)
    _write(branch, table, "SELECT 2 AS w")
    after = branch.lake.table(table)
    assert before is not None
    assert after is not None
    assert after.uuid == before.uuid
    old = f"SELECT * FROM {table.quoted} VERSION AS OF {before.current_snapshot_id}"
    assert _rows(branch, old) == [(1,)]
    assert _rows(branch, f"SELECT * FROM {table.quoted}") == [(2,)]


def test_append_that_reads_its_own_table_may_add_a_column(branch: Branch) -> None:
    table = TableName("shop", "silver", "itself")
    _write(branch, table, "SELECT 1 AS id", strategy=Strategy.APPEND_ONLY)
    query = f"SELECT id + 1 AS id, 'x' AS note FROM {table.quoted}"
    assert _write(branch, table, query, strategy=Strategy.APPEND_ONLY).rows_written == 1
    assert _rows(branch, f"SELECT * FROM {table.quoted} WHERE note IS NOT NULL") == [(2, "x")]


def test_interval_that_reads_its_own_table_sees_the_rows_it_replaces(branch: Branch) -> None:
    table = TableName("shop", "silver", "itself_by_day")
    settings = ModelSettings(strategy=Strategy.TIME_INTERVAL, time_column="d", partitioned_by=("n",))
    for query in ("SELECT date'2024-01-01' AS d, 1 AS n", f"SELECT d, n + 1 AS n FROM {table.quoted}"):
        request = WriteRequest(
            branch.session,
            branch.lake,
            table,
            branch.session.sql(query),
            settings,
            run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
            complete=False,
            interval=(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC)),
        )
        outcome = write(request)
    assert (outcome.rows_written, outcome.rows_deleted) == (1, 1)
    assert _rows(branch, f"SELECT n FROM {table.quoted}") == [(2,)]


def test_query_that_breaks_half_way_leaves_table_and_no_staging(branch: Branch) -> None:
    table, keyed = TableName("shop", "silver", "broken"), {"strategy": Strategy.INCREMENTAL, "unique_key": ("id",)}
    _write(branch, table, "SELECT 1 AS id, 1 AS v", **keyed)
    before = branch.lake.pointer(table)
    for broken in (
        "SELECT id, 1 / (id - 5) AS v, 1 AS w FROM range(10)",
        "SELECT id, assert_true(id < 5) AS v FROM range(9)",
    ):
        with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|USER_RAISED|no type|is not true"):
            _write(branch, table, broken, **keyed)
    assert branch.lake.pointer(table) == before
    assert not [name for name in branch.lake.heads() if name.name.startswith("broken__")]


def test_a_users_table_is_never_taken_for_staging(branch: Branch) -> None:
    table, theirs = TableName("shop", "silver", "mine"), TableName("shop", "silver", "mine__staging")
    _write(branch, theirs, "SELECT 1 AS precious")
    _write(branch, table, "SELECT 1 AS id", strategy=Strategy.INCREMENTAL, unique_key=("id",))
    with pytest.raises(StrategyError, match="mine__staging stands where"):
        _write(branch, table, "SELECT 1 AS id", strategy=Strategy.INCREMENTAL, unique_key=("id",))
    assert _rows(branch, f"SELECT * FROM {theirs.quoted}") == [(1,)]
