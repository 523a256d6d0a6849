"""A whole result that is written as the rows that differ."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import Snapshot
from tidegate.names import TableName
from tidegate.project.model import ModelSettings
from tidegate.write import WriteOutcome, WriteRequest, write

from .conftest import Branch

pytestmark = pytest.mark.spark

_MADE: dict[tuple[int, str], Pointer] = {}
BASE = (
    "SELECT IF(id = 0, NULL, id) AS id, CAST(id % 7 AS int) AS n, concat('s', id) AS s, map('k', id) AS m"
    " FROM range(100)"
)


def _write(branch: Branch, table: TableName, query: str, **fields: Any) -> WriteOutcome:
    request = WriteRequest(
        branch.session,
        branch.lake,
        table,
        branch.session.sql(query),
        ModelSettings(unique_key=fields.pop("unique_key", ("id",))),
        run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
        complete=False,
        as_difference=True,
        **fields,
    )
    return write(request)


def _commits(branch: Branch, table: TableName, since: int) -> list[Snapshot]:
    metadata = branch.lake.table(table)
    assert metadata is not None
    return [snapshot for snapshot in metadata.ancestors() if snapshot.sequence_number > since]


def _rows(branch: Branch, query: str) -> list[Any]:
    return sorted(map(str, branch.session.sql(query).collect()))


def _begin(branch: Branch, name: str, query: str = BASE) -> tuple[TableName, int]:
    """A table of its own; where the same was made before, it begins with that one's files."""
    table = TableName("shop", "silver", name)
    if (like := (id(branch), query)) not in _MADE:
        first = TableName("shop", "silver", f"made{len(_MADE)}")
        assert _write(branch, first, query).changed
        _MADE[like] = branch.lake.heads()[first]
    branch.lake.restore(table, _MADE[like])
    metadata = branch.lake.table(table)
    assert metadata is not None
    return table, metadata.last_sequence_number


def test_rows_that_differ_are_merged_and_all_others_keep_their_ids(branch: Branch) -> None:
    table, since = _begin(branch, "merged")
    after = (
        f"SELECT id, IF(id IS NULL, 100, n) AS n, s, IF(id = 5, map('k', 0L), m) AS m FROM ({BASE}) WHERE NOT id <=> 9"
        " UNION ALL SELECT 200, 1, 'new', map()"
    )
    outcome = _write(branch, table, after)
    assert (outcome.rows_written, outcome.rows_deleted, outcome.changed) == (3, 1, True)
    assert _rows(branch, f"SELECT * FROM {table.quoted}") == _rows(branch, after)
    commits = _commits(branch, table, since)
    assert commits
    assert all(json.loads(commit.summary["tidegate.row-key"]) == ["id"] for commit in commits)
    assert all("tidegate.changed-columns" not in commit.summary for commit in commits)
    newer = f"SELECT id FROM {table.quoted} WHERE _last_updated_sequence_number > {since}"
    assert _rows(branch, newer) == ["Row(id=200)", "Row(id=5)", "Row(id=None)"]
    assert branch.session.conf.get("spark.sql.iceberg.snapshot-property.tidegate.row-key", None) is None
    assert not [name for name in branch.lake.heads() if name.name.startswith("merged__")]


def test_updates_alone_say_which_columns_they_changed(branch: Branch) -> None:
    table, since = _begin(branch, "columns")
    after = f"SELECT id, n, IF(id = 3, NULL, s) AS s, IF(id = 4, map('z', 1L), m) AS m FROM ({BASE})"
    assert _write(branch, table, after).rows_written == 2
    (commit,) = _commits(branch, table, since)
    assert json.loads(commit.summary["tidegate.changed-columns"]) == ["s", "m"]
    assert _rows(branch, f"SELECT * FROM {table.quoted}") == _rows(branch, after)


def test_the_same_rows_are_no_difference(branch: Branch) -> None:
    table, since = _begin(branch, "same_rows")
    assert not _write(branch, table, f"SELECT * FROM ({BASE}) ORDER BY s").changed
    assert _commits(branch, table, since) == []


@pytest.mark.parametrize(
    ("case", "first", "second"),
    [
        ("too_many", BASE, f"SELECT id, n + 1 AS n, s, m FROM ({BASE})"),
        ("repeated_before", f"{BASE} UNION ALL SELECT 1, 1, '', map()", BASE),
        ("repeated_now", BASE, f"{BASE} UNION ALL SELECT 1, 1, '', map()"),
        ("repeated_always", f"{BASE} UNION ALL {BASE}", f"{BASE} UNION ALL {BASE} UNION ALL SELECT 500, 1, '', map()"),
        ("another_column", BASE, f"SELECT *, 1 AS more FROM ({BASE})"),
        ("from_nothing", f"SELECT * FROM ({BASE}) WHERE false", BASE),
        ("to_nothing", BASE, f"SELECT * FROM ({BASE}) WHERE false"),
    ],
)
def test_the_table_is_replaced_where_rows_cannot_be_told_apart_or_too_many_differ(
    branch: Branch, case: str, first: str, second: str
) -> None:
    table, since = _begin(branch, case, first)
    assert _write(branch, table, second).changed
    assert _rows(branch, f"SELECT * FROM {table.quoted}") == _rows(branch, second)
    assert all("tidegate.row-key" not in commit.summary for commit in _commits(branch, table, since))


def test_a_key_may_come_with_the_request(branch: Branch) -> None:
    table, since = _begin(branch, "row_key")
    after = f"SELECT id, IF(n = 3 AND s = 's3', 0, n) AS n, s, m FROM ({BASE})"
    outcome = _write(branch, table, after, unique_key=(), row_key=("s", "id"))
    assert outcome.rows_written == 1
    (commit,) = _commits(branch, table, since)
    assert json.loads(commit.summary["tidegate.row-key"]) == ["s", "id"]
    assert _write(branch, table, BASE, unique_key=()).rows_written == 100
