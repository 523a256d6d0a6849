"""`tidegate plan`: what would run and why, without a lake and without a JVM."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.compiler import compile_project
from tidegate.config import load_settings
from tidegate.lake import PROGRESS_PROPERTY, BranchView, Pointer, PointerKind, Progress, TableInput, open_catalog
from tidegate.names import TableName
from tidegate.project import load_project


@pytest.fixture
def shop(project: Path) -> Path:
    models = project / "models"
    (models / "silver").mkdir(parents=True)
    (models / "gold").mkdir()
    (models / "silver" / "orders.sql").write_text("-- @kind: merge\n-- @unique_key: id\nSELECT 1 AS id, 5 AS amount\n")
    (models / "silver" / "notes.sql").write_text("-- @tags: daily\nSELECT 1 AS id\n")
    (models / "gold" / "revenue.sql").write_text("SELECT sum(amount) AS revenue FROM silver.orders\n")
    return project


def test_each_step_has_its_wave_its_kind_and_its_reason(shop: Path, tidegate: Call) -> None:
    told = tidegate("plan")
    assert (told.code, told.err) == (0, "")
    assert told.out.splitlines() == [
        "wave  model          strategy      how       why",
        "----  -------------  ------------  --------  ---------",
        "   1  silver.notes   full_refresh  backfill  first run",
        "   1  silver.orders  incremental   backfill  first run",
        "   2  gold.revenue   full_refresh  backfill  first run",
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
        "strategy": "full_refresh",
        "tentative": False,
        "inputs": [{"table": "silver.orders", "from_snapshot": None, "to_snapshot": None}],
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
    (shop / "models" / "silver" / "notes.sql").write_text("-- @deltas: never\nSELECT 1 AS id\n")
    assert "The project has 1 warning: `tidegate compile` shows them." in tidegate("plan").err
    for path in (shop / "models").rglob("*.sql"):
        path.unlink()
    assert tidegate("plan").out == "No models yet: put a SQL file into models/<layer>/.\n"


def test_times_that_make_no_sense_are_refused(shop: Path, tidegate: Call) -> None:
    turned = tidegate("plan", "--from", "2026-02-01", "--to", "2026-01-01")
    assert "--from (2026-02-01 00:00) must be before --to" in turned.err
    assert tidegate("plan", "--full-refresh", "--from", "2026-02-01").code == 1


def write_table(folder: Path, snapshots: tuple[int, ...], progress: Progress) -> Pointer:
    """The metadata file of a table with these snapshots, each an append, as runs would have left it."""
    summary = {"operation": "append", "added-records": "1", "total-records": "1"}
    data = {
        "format-version": 3,
        "table-uuid": folder.name,
        "location": f"file:{folder}",
        "last-updated-ms": 1,
        "last-sequence-number": 1,
        "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "required": False, "type": "int"}]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {PROGRESS_PROPERTY: progress.to_json()},
        "current-snapshot-id": snapshots[-1],
        "next-row-id": 1,
        "refs": {"main": {"snapshot-id": snapshots[-1], "type": "branch"}},
        "snapshots": [
            {"snapshot-id": id, "sequence-number": n, "timestamp-ms": n, "manifest-list": "", "summary": summary}
            for n, id in enumerate(snapshots, 1)
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
    assert [line.split()[-2:] for line in told[2:5]] == [["skip", "unchanged"]] * 3
    assert told[-1] == "Nothing would run: 3 models up to date."


def test_a_change_reaches_what_reads_it_with_the_snapshots_it_is_about(shop: Path, tidegate: Call) -> None:
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,), "gold.revenue": (13,)})
    publish(shop, "run-2", {"silver.orders": (12, 14)})
    *_, last = tidegate("plan", "--json").document["steps"]
    assert (last["run_type"], last["reason"], last["tentative"]) == ("full", "silver.orders changed", False)
    assert last["inputs"] == [{"table": "silver.orders", "from_snapshot": 12, "to_snapshot": 14}]
    (shop / "models/silver/orders.sql").write_text("-- @kind: merge\n-- @unique_key: id\nSELECT 2 AS id, 5 AS amount\n")
    publish(shop, "run-3", {"gold.revenue": (15,)})
    steps = tidegate("plan", "--json").document["steps"]
    assert (steps[1]["model"], steps[1]["reason"]) == ("silver.orders", "definition changed")
    assert (steps[2]["reason"], steps[2]["tentative"]) == ("if silver.orders changes", True)
    assert steps[2]["inputs"][0]["to_snapshot"] is None
    assert tidegate("plan").out.endswith("2 of 3 models would run, 1 of them only if what they read changes\n")


def test_a_full_refresh_names_the_tables_whose_history_it_would_lose(shop: Path, tidegate: Call) -> None:
    (shop / "models/silver/notes.sql").write_text("-- @kind: append\nSELECT 1 AS id\n")
    publish(shop, "run-1", {"silver.notes": (11,), "silver.orders": (12,)})
    told = tidegate("plan", "--full-refresh")
    assert "asks for --yes: silver.notes\n" in told.err
    assert [line.split()[-1] for line in told.out.splitlines()[2:4]] == ["--full-refresh"] * 2
