"""`tidegate diff`: what a person and a program see of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.calling import Call
from tidegate.cli.commands.diff import diff_lines
from tidegate.cli.terminal import plain
from tidegate.config import load_settings
from tidegate.lake import open_catalog
from tidegate.operations.diff.run_diff import Diff
from tidegate.operations.diff.table_diff import RowChange, TableDiff
from tidegate.operations.run import run_project
from tidegate.runs import RunOptions
from tidegate.state import RunRecord, open_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lines(*tables: TableDiff) -> list[str]:
    return list(diff_lines(Diff("run-1", "run", tables), 1, plain))


def test_each_table_has_a_line_and_samples_below() -> None:
    before = {"id": 7, "status": "open", "amount": 12.5}
    orders = TableDiff(
        "silver.orders",
        "changed",
        inserted=3,
        updated=5,
        deleted=1,
        columns={"status": 5, "amount": 1},
        matched_by="lineage",
        key=("id",),
        samples=(
            RowChange("updated", before, {**before, "status": None, "amount": 13.0}, ("status", "amount")),
            RowChange("inserted", None, {"id": 9, "status": "a\nb", "amount": None}),
            RowChange("deleted", {"id": 2, "status": "x" * 50, "amount": 1.0}, None),
        ),
    )
    assert lines(orders, TableDiff("gold.v", "view", note="view redefined")) == [
        "Run run-1 changed 2 tables.",
        "",
        "silver.orders  +3 inserted  ~5 updated (status, amount)  -1 deleted",
        "  ~ id=7  status: open → NULL  amount: 12.5 → 13.0",
        "  + id=9  status=a\\nb  amount=NULL",
        f"  - id=2  status={'x' * 39}…  amount=1.0",
        "  … and 2 more inserted, 4 more updated: see --limit (now 1)",
        "",
        "gold.v         view redefined",
    ]


def test_what_cannot_be_matched_is_told_as_rows_of_one_side() -> None:
    rewritten = TableDiff("gold.x", "changed", inserted=2, deleted=1, matched_by="rows")
    silent = TableDiff("gold.y", "changed", matched_by="key")
    reshaped = TableDiff("gold.z", "changed", columns_added=("a",), columns_dropped=("b",), columns_renamed={"c": "d"})
    dropped = TableDiff("gold.w", "dropped", deleted=4, note="the table is not there any more")
    told = [line for line in lines(rewritten, silent, reshaped, dropped) if line]
    assert told == [
        "Run run-1 changed 3 tables.",
        "gold.x  +2 only after  -1 only before  rewritten without a unique_key: rows are compared whole",
        "gold.y  written again, no row differs",
        "gold.z  columns: +a, -b, c → d",
        "gold.w  the table is not there any more  -4 rows",
    ]


def test_a_row_without_a_key_is_shown_by_what_stayed() -> None:
    change = RowChange("updated", {"a": 1, "b": 2}, {"a": 1, "b": 3}, ("b",))
    table = TableDiff("gold.x", "changed", updated=1, columns={"b": 1}, matched_by="lineage", samples=(change,))
    assert lines(table)[-1] == "  ~ a=1  b: 2 → 3"


def test_a_project_without_runs_says_so(project: Path, tidegate: Call) -> None:
    told = tidegate("diff", "latest")
    assert told.code == 1
    assert "There is no run yet" in told.err
    assert not (project / ".tidegate").exists()


def test_the_latest_run_is_the_newest_even_if_it_changed_nothing(project: Path, tidegate: Call) -> None:
    settings = load_settings(project)
    catalog = open_catalog(settings)
    catalog.create_branch("run-1")
    catalog.drop_branch("run-1")
    with open_state(settings.state.url) as store:
        store.start_run(RunRecord("run-1", "shop", "run", "run-1", "run", datetime(2026, 1, 2, tzinfo=UTC), "skipped"))
    told = tidegate("diff", "latest")
    assert (told.code, told.out) == (0, "Run run-1 changed no table.\n")
    assert "`latest` is the newest run, whatever its result: `tidegate history` lists the ones before." in told.err
    assert tidegate("diff", "run-1").err == ""


@pytest.mark.spark
def test_a_run_is_shown_to_people_and_to_programs(project: Path, tidegate: Call, spark: SparkSession) -> None:
    model = project / "models" / "silver" / "orders.sql"
    model.parent.mkdir(parents=True)
    for status in ("open", "paid"):
        model.write_text(f"-- @unique_key: id\nSELECT id, IF(id = 1, '{status}', 'new') AS status FROM range(3)\n")
        run = run_project(load_settings(project), RunOptions())
    shown = tidegate("diff", "latest")
    assert shown.code == 0
    assert shown.out.splitlines()[2:] == ["silver.orders  ~1 updated (status)", "  ~ id=1  status: open → paid"]
    document = tidegate("diff", run.run_id, "silver.orders", "--json").document
    assert (document["name"], document["of"]) == (run.run_id, "run")
    (orders,) = document["tables"]
    assert (orders["updated"], orders["columns"], orders["matched_by"]) == (1, {"status": 1}, "key")
    assert orders["samples"][0]["after"] == {"id": 1, "status": "paid"}
    missing = tidegate("diff", "latest", "silver.order")
    assert missing.code == 1
    assert "Did you mean silver.orders?" in missing.err
