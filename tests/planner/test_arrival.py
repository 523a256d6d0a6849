"""Which queries take the newest arrival of a key, and since when the rows of a table stand in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.planner.histories import History
from tidegate.compiler.sql.row_by_row import Obstacle, RowQuery, is_row_by_row, read_row_query
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import WHOLE, Order, Progress
from tidegate.names import TableName
from tidegate.planner.arrival_order import order_after
from tidegate.planner.deltas.delta_query import InputTable
from tidegate.planner.deltas.rewrite import newest_rows

TABLE = TableName("shop", "bronze", "a")
INPUTS = {TABLE: InputTable(("id", "v"))}
A = "`shop`.`bronze`.`a`"

ROW_BY_ROW = [
    f"SELECT * FROM {A}",
    f"SELECT /* a note */ a.id, upper(v) AS v FROM {A} AS a WHERE v IS NOT NULL AND id IN (1, 2)",
    f"WITH x AS (SELECT id, v FROM {A}), y AS (SELECT * FROM x) SELECT y.id, v || 'x' AS v FROM y WHERE v <> ''",
    f"SELECT id, v FROM (SELECT id + 1 AS id, v FROM {A}) AS t",
]
OTHERS = [
    f"SELECT DISTINCT id FROM {A}",
    f"SELECT id, max(v) AS v FROM {A} GROUP BY id",
    f"SELECT max(id) AS id FROM {A}",
    f"SELECT id, row_number() OVER (ORDER BY v) AS n FROM {A}",
    f"SELECT id, explode(split(v, ',')) AS v FROM {A}",
    f"SELECT id, x FROM {A} LATERAL VIEW explode(split(v, ',')) AS x",
    f"SELECT id FROM {A} ORDER BY v LIMIT 3",
    f"SELECT a.id FROM {A} AS a JOIN {A} AS b ON a.id = b.id",
    f"SELECT a.id FROM {A} AS a, {A} AS b",
    f"SELECT id FROM {A} UNION ALL SELECT id FROM {A}",
    f"SELECT id FROM {A} WHERE id IN (SELECT id FROM {A})",
    f"SELECT id FROM {A} TABLESAMPLE (10 PERCENT)",
    "SELECT 1 AS id",
]


def newest(sql: str, inputs: Mapping[TableName, InputTable] = INPUTS, order: Order = WHOLE) -> str | None:
    query = read_row_query(sql)
    assert isinstance(query, RowQuery), query
    wrapped = newest_rows(query, ("id",), inputs, order)
    assert not isinstance(wrapped, Obstacle), wrapped
    return wrapped


@pytest.mark.parametrize("sql", ROW_BY_ROW)
def test_a_query_that_gives_each_row_once_takes_the_newest(sql: str) -> None:
    assert is_row_by_row(sql)
    wrapped = newest(sql)
    assert wrapped is not None
    assert "row_number() OVER (PARTITION BY `id`" in wrapped
    assert wrapped.count("_row_id AS __tidegate_row") == 1
    assert wrapped.startswith("SELECT `id`, `v`\n")


@pytest.mark.parametrize("sql", OTHERS)
def test_any_other_query_does_not(sql: str) -> None:
    assert not is_row_by_row(sql)
    assert isinstance(read_row_query(sql), Obstacle)


@pytest.mark.parametrize(
    ("sql", "reason", "remedy"),
    [
        (f"SELECT id, upper(v) FROM {A}", "the column UPPER(v) has no name", "UPPER(v) AS …"),
        (f"SELECT ALL id, v FROM {A}", "begins with ALL", "remove ALL"),
        (f"SELECT /* every */ ALL id, v FROM {A}", "begins with ALL", "remove ALL"),
        (f"FROM {A} SELECT id, v", "stands after its FROM", "write SELECT before FROM"),
        (f"SELECT /*+ COALESCE(1) */ id, v FROM {A}", "a hint", "remove the hint"),
        (f"WITH x(id, v) AS (SELECT id, v FROM {A}) SELECT id, v FROM x", "x(id, v)", "with AS"),
        (f"SELECT id, v FROM {A} AS t(id, v)", "t(id, v)", "with AS"),
        (f"SELECT id, v FROM {A} TABLESAMPLE (10 PERCENT)", "TABLESAMPLE", "in a model that reads this one"),
        (f"SELECT id FROM {A} UNION ALL SELECT id FROM {A}", "UNION", "in a model that reads this one"),
        (f"SELECT id, v FROM {A} ORDER BY id", "ORDER BY", "remove ORDER BY"),
        (
            f"SELECT id, v FROM {A} WHERE id IN (SELECT 1)",
            "a subquery in an expression",
            "select without that expression",
        ),
        (f"FROM {A} |> SELECT id, v", "is written in steps (|>)", "write it as SELECT"),
        (f"SELECT id, v FROM {A} VERSION AS OF 3", "as it was at another time", None),
        (f"SELECT id, v FROM {A} TIMESTAMP AS OF '2026-01-01'", "as it was at another time", None),
    ],
)
def test_what_stands_in_the_way_is_named_with_what_to_do(sql: str, reason: str, remedy: str | None) -> None:
    obstacle = read_row_query(sql)
    assert isinstance(obstacle, Obstacle)
    assert reason in obstacle.reason
    assert obstacle.remedy is None if remedy is None else remedy in (obstacle.remedy or "")


def test_a_key_that_is_unique_has_no_versions() -> None:
    unique = {TABLE: InputTable(("id", "v"), (frozenset({"id"}),))}
    assert newest(f"SELECT id, v FROM {A}", unique) is None


def test_commits_without_an_order_keep_all_their_rows() -> None:
    wrapped = newest(f"SELECT id, v FROM {A}", order=Order(3, (5, 7)))
    assert wrapped is not None
    assert "rank() OVER" in wrapped
    assert ">= 3 AND __tidegate_commit NOT IN (5, 7)" in wrapped


def written(folder: Path, lines: str, *runs: str) -> TableMetadata:
    """A table whose commits were made by `runs`, in order; `-`: by another program."""
    metadata = History(folder).play(lines)
    found = sorted(metadata.snapshots.values(), key=lambda snapshot: snapshot.sequence_number)
    marked = [
        replace(snapshot, summary={**snapshot.summary, **({} if run == "-" else {"tidegate.run-id": run})})
        for snapshot, run in zip(found, runs, strict=True)
    ]
    return replace(metadata, snapshots={snapshot.id: snapshot for snapshot in marked})


def former(snapshot: int, order: Order | None) -> Progress:
    return Progress("r1", "f", "incremental", "append_only", snapshot_id=snapshot, order=order)


def test_a_first_run_and_those_after_it_are_in_order(tmp_path: Path) -> None:
    first = written(tmp_path / "a", "append +1", "r1")
    assert order_after(first, None, "r1", rebuilt=False) == WHOLE
    second = written(tmp_path / "b", "append +1\nappend +1", "r1", "r2")
    assert order_after(second, former(1, WHOLE), "r2", rebuilt=False) == WHOLE


def test_what_another_program_wrote_has_no_order(tmp_path: Path) -> None:
    table = written(tmp_path / "a", "append +1\nappend +1\nappend +1", "r1", "-", "r2")
    assert order_after(table, former(1, WHOLE), "r2", rebuilt=False) == Order(0, (2,))
    nothing_written = written(tmp_path / "b", "append +1\nupdate ~1", "r1", "-")
    assert order_after(nothing_written, former(1, Order(0, (1,))), "r2", rebuilt=False) == Order(0, (1, 2))


def test_what_was_written_before_the_order_was_kept_has_none(tmp_path: Path) -> None:
    table = written(tmp_path / "a", "append +1\nappend +1", "r1", "r2")
    assert order_after(table, former(1, None), "r2", rebuilt=False) == Order(2)


def test_a_rebuilt_table_is_in_order_again(tmp_path: Path) -> None:
    table = written(tmp_path / "a", "append +1\nrebuild +2", "r1", "r2")
    assert order_after(table, former(1, None), "r2", rebuilt=True) == WHOLE


def test_rows_written_again_keep_the_order_that_they_had(tmp_path: Path) -> None:
    table = written(tmp_path / "a", "append +1\nrebuild +1\nappend +1", "r1", "r2", "r2")
    assert order_after(table, former(1, WHOLE), "r2", rebuilt=False) == WHOLE
    assert order_after(table, former(1, None), "r2", rebuilt=False) == Order(3)
    assert order_after(table, former(1, Order(0, (1,))), "r2", rebuilt=False) == Order(3)


def test_a_sorted_or_partitioned_table_has_no_order(tmp_path: Path) -> None:
    table = replace(written(tmp_path / "a", "append +1", "r1"), partition_fields=({"source-id": 1},))
    assert order_after(table, None, "r1", rebuilt=False) is None


def test_an_order_is_remembered() -> None:
    progress = former(1, Order(4, (6, 7)))
    assert Progress.from_json(progress.to_json()) == progress
