"""Models over Delta tables of chunked loads: when they are built, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.lake.delta_logs import COLUMNS, DeltaLog, added, counted, metadata, removed
from tests.projects import ProjectFolder, run_types, statuses
from tests.services.ports import free_port
from tidegate.compiler.compiled import Origin
from tidegate.config import S3Section
from tidegate.errors import ProjectError, SelectionError, StatementError, TableMissingError
from tidegate.operations.listings import list_sources
from tidegate.operations.openlineage import past_run_events
from tidegate.operations.plan import plan_run
from tidegate.operations.query import query
from tidegate.operations.workspace import Workspace
from tidegate.sources.pings import ping_chunks, ping_project
from tidegate.storage import s3_bucket

SOURCES = """
[chunks.sources.dataset_1]
model = "shop.models:Row"
primary_key = ["id"]
"""


@pytest.fixture
def lake(pointer_shop: ProjectFolder) -> ProjectFolder:
    file = pointer_shop.root / "tidegate.toml"
    file.write_text(file.read_text() + SOURCES)
    pointer_shop.model("gold.sums", "SELECT sum(amount) AS total FROM silver.dataset_1")
    pointer_shop.model("gold.other", "SELECT 1 AS x")
    return pointer_shop


def delta_log(lake: ProjectFolder, feed: bool = False) -> DeltaLog:
    log = DeltaLog(lake.root / "silver/dataset_1/records.delta")
    log.commit(metadata(feed=feed), added("a"))
    return log


def reasons(lake: ProjectFolder) -> dict[str, str]:
    return {step.model: step.planned.decision.reason for step in plan_run(Workspace(lake.settings)).steps}


def test_a_model_is_skipped_until_the_table_moves(lake: ProjectFolder) -> None:
    log = delta_log(lake)
    assert run_types(lake.run()) == {"gold.other": "backfill", "gold.sums": "backfill"}
    assert run_types(lake.run()) == {"gold.other": "skip", "gold.sums": "skip"}
    log.commit(added("b"))
    log.commit(added("c"))
    moved = "silver.dataset_1 moved from version 0 to 2, without a change feed"
    assert reasons(lake) == {"gold.other": "unchanged", "gold.sums": moved}
    assert run_types(lake.run()) == {"gold.other": "skip", "gold.sums": "full"}
    assert run_types(lake.run()) == {"gold.other": "skip", "gold.sums": "skip"}


def test_a_plan_has_the_versions(lake: ProjectFolder) -> None:
    log = delta_log(lake)
    lake.run()
    log.commit(added("b"))
    (sums,) = (step for step in plan_run(Workspace(lake.settings)).steps if step.model == "gold.sums")
    assert sums.document()["inputs"] == [
        {"table": "silver.dataset_1", "from_snapshot": 0, "to_snapshot": 1, "changed_rows": None}
    ]


def test_a_table_with_a_change_feed_is_read_by_its_changes(lake: ProjectFolder) -> None:
    """Also beside a table of the lake that did not change."""
    log = delta_log(lake, feed=True)
    lake.model("gold.names", "SELECT 1 AS x")
    lake.model(
        "gold.named", "SELECT d.id, n.x FROM silver.dataset_1 AS d JOIN gold.names AS n ON d.id = n.x", unique_key="id"
    )
    lake.model("gold.sums", "SELECT id, sum(amount) AS total FROM silver.dataset_1 GROUP BY id")
    lake.run()
    log.commit(added("b"), counted(numOutputRows=5))
    steps = {step.model: step for step in plan_run(Workspace(lake.settings), explain=True).steps}
    for name in ("gold.sums", "gold.named"):
        decision = steps[name].planned.decision
        assert (str(decision.run_type), decision.reason) == (
            "incremental",
            "silver.dataset_1 moved from version 0 to 1: gained 5 rows",
        )
        assert "table_changes('shop.silver.dataset_1', 1, 1)" in str(steps[name].sql)
    assert steps["gold.sums"].document()["inputs"] == [
        {"table": "silver.dataset_1", "from_snapshot": 0, "to_snapshot": 1, "changed_rows": 5}
    ]


def test_a_table_that_was_only_compacted_has_not_moved(lake: ProjectFolder) -> None:
    log = delta_log(lake)
    lake.run()
    log.commit(added("b", changes_rows=False), removed("a", changes_rows=False))
    assert reasons(lake)["gold.sums"] == "unchanged"


def test_a_table_with_other_columns_has_moved(lake: ProjectFolder) -> None:
    log = delta_log(lake)
    lake.run()
    log.commit(metadata([*COLUMNS, ("note", "string")]))
    assert reasons(lake)["gold.sums"].startswith("silver.dataset_1 moved from version 0 to 1")


def test_a_table_that_was_created_again_is_another_one(lake: ProjectFolder) -> None:
    log = delta_log(lake)
    lake.run()
    log.version = -1
    log.commit(metadata(table_id="two"), added("a"))
    assert reasons(lake)["gold.sums"].startswith("silver.dataset_1 was dropped and created again")


def test_a_run_reads_one_version_throughout(lake: ProjectFolder) -> None:
    """The table moves while the run's first model is built; the second is still planned over what the first read."""
    log = delta_log(lake)
    lake.model("gold.later", "SELECT total FROM gold.sums CROSS JOIN silver.dataset_1")
    lake.builder.while_building["gold.sums"] = lambda run, model: log.commit(added("b"))
    lake.run()
    progress = {name: lake.main.progress(table) for table in lake.main.heads() if (name := table.name)}
    versions = {name: {read.version for read in one.delta.values()} for name, one in progress.items() if one}
    assert versions == {"sums": {0}, "later": {0}, "other": set()}
    assert set(reasons(lake)) == {"gold.later", "gold.other", "gold.sums"}
    assert "moved from version 0 to 1" in reasons(lake)["gold.sums"]


def test_nothing_loaded_yet_fails_only_the_models_that_read_it(lake: ProjectFolder) -> None:
    result = lake.run()
    assert statuses(result) == {"gold.other": "completed", "gold.sums": "failed"}
    failed = next(one for one in result.materializations if one.model == "gold.sums")
    assert "nothing has been loaded into silver.dataset_1 yet" in str(failed.error)
    assert "nothing has been loaded" in reasons(lake)["gold.sums"]
    with pytest.raises(TableMissingError, match="nothing has been loaded"):
        query(lake.settings, "SELECT * FROM silver.dataset_1")


def test_the_columns_are_known_to_the_compiler_and_to_lineage(lake: ProjectFolder) -> None:
    delta_log(lake)
    compiled = Workspace(lake.settings).compile()
    (sums,) = (model for table, model in compiled.models.items() if table.name == "sums")
    assert [str(column.type) for column in sums.relation.columns] == ["decimal(20,2)"]
    assert [edge.origin for edge in sums.edges] == [Origin("shop.silver.dataset_1", "amount")]
    lake.model("gold.sums", "SELECT sum(amuont) AS total FROM silver.dataset_1")
    (error,) = Workspace(lake.settings).compile().errors
    assert (error.code, "amuont" in error.message) == ("UnknownColumn", True)
    with pytest.raises(StatementError, match="amuont"):
        query(lake.settings, "SELECT amuont FROM silver.dataset_1")


def test_a_model_and_a_chunked_load_cannot_make_one_table(lake: ProjectFolder) -> None:
    lake.model("silver.Dataset_1", "SELECT 1 AS amount")
    (error,) = Workspace(lake.settings).compile().errors
    assert error.code == "DuplicateModel"
    assert "[chunks.sources.dataset_1]" in error.message


def test_a_view_cannot_read_a_delta_table(lake: ProjectFolder) -> None:
    lake.model("gold.sums", "SELECT id FROM silver.dataset_1", materialized="view")
    assert [error.code for error in Workspace(lake.settings).compile().errors] == ["ViewOverSource"]


def test_append_only_cannot_tell_which_rows_are_new(lake: ProjectFolder) -> None:
    lake.model("gold.sums", "SELECT id FROM silver.dataset_1", merge_strategy="append_only")
    (error,) = Workspace(lake.settings).compile().errors
    assert (error.code, "Delta table silver.dataset_1" in error.message) == ("AppendOverSource", True)


def test_checks_compare_with_tables_of_the_lake(lake: ProjectFolder) -> None:
    lake.model("gold.sums", "SELECT id FROM silver.dataset_1", constraint="references(id, silver.dataset_1, id)")
    (error,) = Workspace(lake.settings).compile().errors
    assert (error.code, "outside the lake" in error.message) == ("WrongCheckArgument", True)


def test_the_table_is_listed_with_the_sources(lake: ProjectFolder) -> None:
    (table,) = list_sources(lake.settings).discovery.tables
    assert (str(table.table), table.source, table.kind) == ("shop.silver.dataset_1", "chunks", "delta")
    assert "nothing has been loaded" in str(table.problem)
    delta_log(lake)
    (table,) = list_sources(lake.settings).discovery.tables
    assert (len(table.relation.columns), table.problem) == (2, None)


def test_a_ping_says_where_the_files_are(lake: ProjectFolder) -> None:
    ping = ping_project(lake.settings)[-1]
    assert (ping.name, ping.kind, ping.detail, ping.ok) == ("chunks", "folder", str(lake.root), True)


def test_a_ping_says_why_a_bucket_cannot_be_used(lake: ProjectFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_bucket, "_RETRIES", 0)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "one")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter22")
    settings = replace(lake.settings, s3=S3Section(f"http://127.0.0.1:{free_port()}", path_style=True))
    ping = ping_chunks(replace(settings, chunks=replace(settings.chunks, root="s3://lake/loads")))
    assert (ping.kind, ping.ok, "cannot be reached" in ping.detail) == ("s3", False, True)


def test_openlineage_names_the_folder(lake: ProjectFolder) -> None:
    delta_log(lake)
    result = lake.run()
    workspace = Workspace(lake.settings)
    events = list(past_run_events(workspace, workspace.compile(), result.run_id, "gold.sums"))
    inputs = [read for event in events for read in event.get("inputs", ())]
    assert {(read["namespace"], read["name"]) for read in inputs} == {
        ("file", str(lake.root / "silver/dataset_1/records.delta"))
    }
    assert [field["name"] for field in inputs[0]["facets"]["schema"]["fields"]] == ["id", "amount"]


def test_tables_in_iceberg_are_the_lakes(lake: ProjectFolder) -> None:
    delta_log(lake)
    file = lake.root / "tidegate.toml"
    file.write_text(file.read_text().replace("[chunks.sources", '[chunks]\nformat = "iceberg"\n\n[chunks.sources'))
    assert [error.code for error in Workspace(lake.settings).compile().errors] == ["UnknownDependency"]
    with pytest.raises(SelectionError):
        Workspace(lake.settings).queryable("silver.dataset_1")


def test_a_damaged_log_fails_only_the_models_that_read_it(lake: ProjectFolder) -> None:
    log = delta_log(lake)
    (log.folder / f"{0:020}.json").write_text("{")
    assert statuses(lake.run()) == {"gold.other": "completed", "gold.sums": "failed"}


def test_serializable_runs_are_about_the_lake(lake: ProjectFolder) -> None:
    file = lake.root / "tidegate.toml"
    file.write_text(file.read_text() + '\n[run]\nisolation = "serializable"\n')
    delta_log(lake)
    assert statuses(lake.run()) == {"gold.other": "completed", "gold.sums": "completed"}


def test_plans_need_a_project_without_errors(lake: ProjectFolder) -> None:
    lake.model("gold.sums", "SELECT id FROM silver.dataset_2")
    with pytest.raises(ProjectError):
        plan_run(Workspace(lake.settings))
