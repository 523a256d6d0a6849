"""`tidegate plan`: what would run and why, without a lake and without a JVM."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import sqlglot

from tests.cli.calling import Call
from tests.planner.histories import History
from tidegate.compiler import compile_project
from tidegate.config import load_settings
from tidegate.lake import PROGRESS_PROPERTY, BranchView, Pointer, PointerKind, Progress, TableInput, open_catalog, view
from tidegate.names import TableName
from tidegate.operations.run import run_project
from tidegate.project import load_project
from tidegate.runs import RunOptions
from tidegate.spark.session import child_session
from tidegate.state import ModelRunRecord, RunRecord, open_state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.fixture
def shop(project: Path) -> Path:
    models = project / "models"
    (models / "silver").mkdir(parents=True)
    (models / "gold").mkdir()
    (models / "silver" / "orders.sql").write_text("-- @kind: merge\n-- @unique_key: id\nSELECT 1 AS id, 5 AS amount\n")
    (models / "silver" / "notes.sql").write_text("-- @tags: daily\nSELECT 1 AS id\n")
    (models / "gold" / "revenue.sql").write_text("SELECT avg(amount) AS revenue FROM silver.orders\n")
    return project


def test_what_a_run_cannot_promise_is_told(shop: Path, tidegate: Call) -> None:
    assert tidegate("plan", "--json").document["notes"] == []
    toml = shop / "tidegate.toml"
    toml.write_text(toml.read_text() + '\n[lake]\non_branch_failure = "direct"\n')
    told = tidegate("plan")
    assert "If the catalog cannot make a branch, the run writes main itself" in told.err
    (note,) = tidegate("plan", "--json").document["notes"]
    assert note in told.err


def test_each_step_has_its_wave_its_kind_and_its_reason(shop: Path, tidegate: Call) -> None:
    told = tidegate("plan")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "wave  model          strategy      how       rows  size  time                   why",
        "----  -------------  ------------  --------  ----  ----  ---------------------  ---------",
        "   1  silver.notes   full_refresh  backfill     0  0 B   500ms (250ms to 1.0s)  first run",
        "   1  silver.orders  incremental   backfill     0  0 B   500ms (250ms to 1.0s)  first run",
        "   2  gold.revenue   full_refresh  backfill     -  -     -                      first run",
        "",
        "3 of 3 models would run",
    ]


def test_the_document_has_the_steps_in_order(shop: Path, tidegate: Call) -> None:
    document = tidegate("plan", "--json").document
    assert document["command"] == "plan"
    assert document["steps"][-1] == {
        "model": "gold.revenue",
        "wave": 2,
        "run_type": "backfill",
        "reason": "first run",
        "warnings": [],
        "strategy": "full_refresh",
        "tentative": False,
        "waits_for": ["silver.orders"],
        "inputs": [{"table": "silver.orders", "from_snapshot": None, "to_snapshot": None, "changed_rows": None}],
        "estimated_rows": None,
        "estimated_bytes": None,
        "estimated_seconds": None,
    }


def test_a_selection_narrows_it_and_a_misspelt_one_is_told(shop: Path, tidegate: Call) -> None:
    steps = tidegate("plan", "+gold.revenue", "--json").document["steps"]
    assert [step["model"] for step in steps] == ["silver.orders", "gold.revenue"]
    assert [s["model"] for s in tidegate("plan", "tag:daily", "--json").document["steps"]] == ["silver.notes"]
    told = tidegate("plan", "gold.revenu")
    assert told.code == 1
    assert "did you mean gold.revenue?" in told.err


def test_planning_makes_no_lake(shop: Path, tidegate: Call) -> None:
    tidegate("plan")
    assert not (shop / ".tidegate" / "catalog.db").exists()
    assert not (shop / ".tidegate" / "state.db").exists()


def test_a_project_with_errors_has_no_plan(shop: Path, tidegate: Call) -> None:
    (shop / "models" / "gold" / "bad.sql").write_text("SELECT * FROM silver.ordres\n")
    told = tidegate("plan")
    assert (told.code, told.out) == (1, "")
    assert "error[UnknownDependency]" in told.err
    assert "The project has errors; nothing can be planned" in told.err
    assert tidegate("plan", "--json").document["diagnostics"][0]["code"] == "UnknownDependency"


def test_warnings_are_mentioned_and_an_empty_project_says_what_to_do(shop: Path, tidegate: Call) -> None:
    (shop / "models" / "silver" / "notes.sql").write_text("-- @quarantine: true\nSELECT 1 AS id\n")
    assert "The project has 1 warning: `tidegate compile` shows them." in tidegate("plan").err
    for path in (shop / "models").rglob("*.sql"):
        path.unlink()
    assert tidegate("plan").out == "No models yet: put a SQL file into models/<layer>/.\n"


def test_times_that_make_no_sense_are_refused(shop: Path, tidegate: Call) -> None:
    turned = tidegate("plan", "--from", "2026-02-01", "--to", "2026-01-01")
    assert "--from (2026-02-01 00:00) must be before --to" in turned.err
    assert tidegate("plan", "--full-refresh", "--from", "2026-02-01").code == 1


def write_table(folder: Path, snapshots: tuple[int, ...], progress: Progress) -> Pointer:
    """The metadata file of a table with these snapshots, each an append of a row, as runs would have left it."""
    amount = {"id": 1, "name": "amount", "required": False, "type": "int"}
    data = {
        "format-version": 3,
        "table-uuid": folder.name,
        "location": f"file:{folder}",
        "last-updated-ms": 1,
        "last-sequence-number": len(snapshots),
        "last-column-id": 1,
        "last-partition-id": 999,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [amount]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {PROGRESS_PROPERTY: progress.to_json()},
        "current-snapshot-id": snapshots[-1],
        "next-row-id": len(snapshots),
        "refs": {"main": {"snapshot-id": snapshots[-1], "type": "branch"}},
        "snapshots": [
            {
                "snapshot-id": id,
                **({"parent-snapshot-id": snapshots[n - 1]} if n else {}),
                "sequence-number": n + 1,
                "timestamp-ms": n + 1,
                "manifest-list": "",
                "first-row-id": n,
                "added-rows": 1,
                "summary": {
                    "operation": "append",
                    "added-records": "1",
                    "added-files-size": "40",
                    "total-records": str(n + 1),
                    "total-files-size": str(40 * (n + 1)),
                },
            }
            for n, id in enumerate(snapshots)
        ],
    }
    path = folder / "metadata" / f"{snapshots[-1]}.metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return Pointer(PointerKind.TABLE, f"file:{path}")


def publish(project: Path, run_id: str, built: Mapping[str, tuple[int, ...]]) -> None:
    """What a run that built these models leaves on main, without the run."""
    settings = load_settings(project)
    compiled, catalog = compile_project(load_project(settings), settings, (), {}), open_catalog(settings)
    catalog.create_branch(run_id)
    lake = BranchView(catalog, run_id)
    tables = [TableName.parse(name, "shop") for name in built]
    for table, snapshots in zip(tables, built.values(), strict=True):
        model = compiled.models[table]
        read: dict[str, TableInput] = {}
        for upstream in model.depends_on:
            metadata = lake.metadata(upstream)
            assert metadata
            read[str(upstream)] = metadata.table_input()
        progress = Progress(run_id, model.fingerprint, "full", str(model.model.settings.strategy), tables=read)
        catalog.create_namespace(run_id, table)
        catalog.restore(run_id, table, write_table(project / "warehouse" / table.name, snapshots, progress))
    catalog.publish(run_id, tables)
    catalog.drop_branch(run_id)


def test_what_is_unchanged_would_not_run(shop: Path, tidegate: Call) -> None:
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    told = tidegate("plan").out.splitlines()
    assert [line.split()[3:] for line in told[2:5]] == [["skip", "-", "-", "-", "unchanged"]] * 3
    assert told[-1] == "Nothing would run: 3 models up to date."


def test_a_missing_metadata_file_leaves_the_other_models_to_be_planned(shop: Path, tidegate: Call) -> None:
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    heads = open_catalog(load_settings(shop)).head()
    Path(heads[TableName("shop", "silver", "orders")].location.removeprefix("file:")).unlink()
    view._read.cache_clear()  # as in a process that did not read the file before
    told = tidegate("plan", "--json")
    how = {step["model"]: step["run_type"] for step in told.document["steps"]}
    assert (told.code, how) == (2, {"silver.notes": "skip", "silver.orders": None, "gold.revenue": None})
    assert "Not planned: silver.orders, because shop.silver.orders: a metadata file" in told.err
    assert "fix: restore the file" in told.err
    reasons = {step["model"]: step["reason"] for step in told.document["steps"]}
    assert "; fix: restore the file" in reasons["silver.orders"]
    assert "fix: " not in reasons["silver.notes"]


def test_nothing_heavy_is_imported_to_plan_what_is_unchanged(shop: Path) -> None:
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    heavy = ["pyspark", "pyarrow", "pyiceberg", "sqlalchemy", "httpx", "tidegate.planner.deltas.rewrite"]
    call = "import sys; from tidegate.cli.main import run_cli; assert run_cli(['plan']) == 0; "
    check = f"{call}print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", check], cwd=shop, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "Nothing would run" in done.stdout


def test_a_change_reaches_what_reads_it_with_the_snapshots_it_is_about(shop: Path, tidegate: Call) -> None:
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    publish(shop, "run-2", {"silver.orders": (12, 14)})
    *_, last = tidegate("plan", "--json").document["steps"]
    why = "revenue of an aggregate without GROUP BY, which is no plain count, sum, min or max"
    reason = f"silver.orders gained 1 row; no delta: {why}"
    assert (last["run_type"], last["reason"], last["tentative"]) == ("full", reason, False)
    read = {"table": "silver.orders", "from_snapshot": 12, "to_snapshot": 14, "changed_rows": 1}
    assert (last["inputs"], last["estimated_rows"], last["estimated_bytes"]) == ([read], 2, 80)
    (shop / "models/silver/orders.sql").write_text("-- @kind: merge\n-- @unique_key: id\nSELECT 2 AS id, 5 AS amount\n")
    publish(shop, "run-3", {"gold.revenue": (15,)})
    steps = tidegate("plan", "--json").document["steps"]
    assert (steps[1]["model"], steps[1]["reason"]) == ("silver.orders", "definition changed")
    assert (steps[2]["reason"], steps[2]["tentative"]) == ("if silver.orders changes", True)
    assert steps[2]["inputs"][0]["to_snapshot"] is None
    assert tidegate("plan").out.endswith("2 of 3 models would run, 1 of them only if what they read changes\n")


def remember(project: Path, model: str, *runs: tuple[str, str, int]) -> None:
    """Runs of a model, oldest first, as (status, run type, milliseconds)."""
    with open_state(load_settings(project).state.url) as store:
        for n, (status, kind, ms) in enumerate(runs):
            at = NOW + timedelta(minutes=n)
            store.start_run(RunRecord(f"run-{n:03}", "shop", "run", "b", "run", at))
            record = ModelRunRecord(model, status, "full_refresh", kind, "", run_id=f"run-{n:03}", finished_at=at)
            store.add_model_run(replace(record, duration_ms=ms))


def test_what_is_decided_later_is_told_as_such_everywhere(shop: Path, tidegate: Call) -> None:
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    (shop / "models/silver/orders.sql").write_text("-- @kind: merge\n-- @unique_key: id\nSELECT 2 AS id, 5 AS amount\n")
    remember(shop, "gold.revenue", ("completed", "full", 4000), ("completed", "incremental", 2000))
    *_, last = tidegate("plan", "--json", "--explain").document["steps"]
    assert (last["run_type"], last["tentative"], last["waits_for"]) == (None, True, ["silver.orders"])
    assert last["estimated_seconds"] == {"probable": 3.0, "low": 2.0, "high": 4.0}
    assert last["sql"] is None
    told = tidegate("plan", "--explain").out
    assert told.endswith("\n\n-- gold.revenue: decided when silver.orders has run\n")
    assert re.search(r" perhaps .* 3\.0s \(2\.0s to 4\.0s\) +if silver\.orders changes\n", told)


def test_a_decision_that_an_upstream_may_overtake_says_so(large: Path, tidegate: Call) -> None:
    orders = large / "models" / "silver" / "orders.sql"
    orders.write_text("SELECT 2 AS id, 1 AS customer, 'x' AS status, 1 AS amount\n")
    told = tidegate("plan", "--explain").out
    mark = "silver.orders changed: about 1,000 rows (as the lake is now; silver.orders runs first)"
    assert f"  {mark}\n" in told
    assert f"-- gold.spending: incremental, {mark}\nWITH " in told
    *_, step = tidegate("plan", "--json").document["steps"]
    assert (step["run_type"], step["tentative"], step["waits_for"]) == ("incremental", False, ["silver.orders"])
    assert step["reason"] == "silver.orders changed: about 1,000 rows"


def test_runs_that_did_nothing_do_not_push_out_the_times_of_those_that_did(large: Path, tidegate: Call) -> None:
    skips = [("skipped", "skip", 1)] * 30
    remember(large, "gold.spending", ("completed", "incremental", 2000), ("failed", "incremental", 9), *skips)
    *_, step = tidegate("plan", "--json").document["steps"]
    assert step["estimated_seconds"] == {"probable": 2.0, "low": 2.0, "high": 2.0}


def test_a_long_reason_is_wrapped_and_nothing_of_it_is_lost(shop: Path, tidegate: Call) -> None:
    (shop / "models" / "gold" / "revenue.sql").write_text("SELECT map(1, amount) AS m FROM silver.orders\n")
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    publish(shop, "run-2", {"silver.orders": (12, 14)})
    told = tidegate("plan").out
    reason = tidegate("plan", "--json").document["steps"][-1]["reason"]
    assert len(reason) > 100
    lines = told.splitlines()
    assert "…" not in told
    assert lines[5].strip()
    assert f"{lines[4]} {lines[5].strip()}".endswith(reason)
    assert lines[4].index("silver.orders gained") == len(lines[5]) - len(lines[5].lstrip())


@pytest.mark.spark
def test_the_explained_sql_can_be_run_as_it_is(project: Path, tidegate: Call, spark: SparkSession) -> None:
    settings = load_settings(project)
    catalog = open_catalog(settings)
    main = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    main.sql("CREATE NAMESPACE shop.src")
    main.sql("CREATE TABLE shop.src.orders AS SELECT id, id % 2 AS customer, 1 AS amount FROM range(4)")
    model = project / "models" / "gold" / "spending.sql"
    model.parent.mkdir(parents=True)
    query = "SELECT customer, sum(amount) AS amount FROM src.orders GROUP BY customer"
    model.write_text(f"-- @deltas: always\n{query}\n")
    assert run_project(settings, RunOptions()).exit_code == 0
    main.sql("UPDATE shop.src.orders SET amount = 5 WHERE id = 2")
    (step,) = tidegate("plan", "--explain", "--json").document["steps"]
    assert "VERSION AS OF" in step["sql"]
    assert "_last_updated_sequence_number" in step["sql"]
    assert "_row_id" in step["sql"]
    told = tidegate("sql", step["sql"], "--json")
    assert told.code == 0, told.err
    assert told.document["rows"] == [{"customer": 0, "amount": 6}]


@pytest.fixture
def large(project: Path) -> Path:
    """Twenty million orders, of which a few changed since gold.spending was built from them."""
    models = project / "models"
    for layer, name, text in (
        ("silver", "orders", "SELECT 1 AS id, 1 AS customer, 'x' AS status, 1 AS amount"),
        ("gold", "spending", "SELECT customer, sum(amount) AS amount FROM silver.orders GROUP BY customer"),
    ):
        (models / layer).mkdir(parents=True)
        (models / layer / f"{name}.sql").write_text(text + "\n")
    settings = load_settings(project)
    compiled, catalog = compile_project(load_project(settings), settings, (), {}), open_catalog(settings)
    orders, spending = TableName("shop", "silver", "orders"), TableName("shop", "gold", "spending")

    def progress(table: TableName, **more: Any) -> str:
        return Progress("run-1", compiled.models[table].fingerprint, "full", "full_refresh", **more).to_json()

    upstream = History(project / "orders", progress=progress(orders))
    upstream.play("append +20000000\nread\nmerge +10 ~990")
    assert upstream.was_read
    read = {str(orders): upstream.was_read.table_input({"customer", "amount"})}
    known = progress(spending, tables=read, full_ms=30_000, full_rows=20_000_000)
    target = History(project / "spending", progress=known)
    target.play("append +1000000")
    catalog.create_branch("run-1")
    for table, history in ((orders, upstream), (spending, target)):
        catalog.create_namespace("run-1", table)
        catalog.restore("run-1", table, history.pointer())
    catalog.publish("run-1", [orders, spending])
    return project


def test_what_a_step_would_read_is_told_with_its_time(large: Path, tidegate: Call) -> None:
    *_, step = tidegate("plan", "--json").document["steps"]
    assert (step["run_type"], step["reason"]) == ("incremental", "silver.orders changed: about 1,000 rows")
    assert step["inputs"] == [{"table": "silver.orders", "from_snapshot": 1, "to_snapshot": 2, "changed_rows": 1000}]
    assert step["estimated_rows"] == 20_000_010 + 1000 + 990
    assert step["estimated_seconds"]["low"] < step["estimated_seconds"]["probable"] < 10
    assert "sql" not in step
    with open_state(load_settings(large).state.url) as store:
        for n, (kind, ms) in enumerate([("full", 31_000), ("incremental", 2000), ("incremental", 3000)]):
            store.start_run(RunRecord(f"run-{n}", "shop", "run", "b", "run", NOW))
            record = ModelRunRecord(
                "gold.spending", "completed", "full_refresh", kind, "", run_id=f"run-{n}", finished_at=NOW
            )
            store.add_model_run(replace(record, duration_ms=ms))
    line = tidegate("plan").out.splitlines()[3]
    assert "incremental  20002000  " in line
    assert "2.5s (2.0s to 3.0s)  silver.orders changed: about 1,000 rows" in line


def test_the_sql_that_reads_only_changes_can_be_shown(large: Path, tidegate: Call) -> None:
    told = tidegate("plan", "--explain", "gold.spending").out
    assert "-- gold.spending: incremental, silver.orders changed: about 1,000 rows\nWITH " in told
    assert "WHERE _last_updated_sequence_number > 1" in told
    assert "VERSION AS OF 1" in told
    *_, step = tidegate("plan", "--explain", "--json").document["steps"]
    assert step["sql"].startswith("WITH ")
    assert sqlglot.parse_one(step["sql"], dialect="spark")


def test_a_full_refresh_names_the_tables_whose_history_it_would_lose(shop: Path, tidegate: Call) -> None:
    (shop / "models/silver/notes.sql").write_text("-- @kind: append\nSELECT 1 AS id\n")
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,)})
    told = tidegate("plan", "--full-refresh")
    assert "needs --yes: silver.notes\n" in told.err
    assert [line.split()[-1] for line in told.out.splitlines()[2:4]] == ["--full-refresh"] * 2
