"""Quarantine in a run: both tables move together, whatever happens, and no row is lost or there twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder, run_types, statuses
from tests.runs.test_killed import start
from tidegate.cli.main import run_cli
from tidegate.hooks.events import Event
from tidegate.operations.publish import publish_run
from tidegate.results import ModelResult
from tidegate.runs import RunResult
from tidegate.spark.session import child_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Sql = Callable[[str], object]
REFUSED = "SELECT id, _columns, _run_id FROM silver.people__quarantine"


@pytest.fixture
def others(shop: ProjectFolder, spark: SparkSession) -> Sql:
    return source(shop, spark, "people")


def source(shop: ProjectFolder, spark: SparkSession, *tables: str) -> Sql:
    """Somebody else's program that writes straight to main."""
    catalog = shop.catalog
    session = child_session(spark, catalog.spark_conf("main"), catalog.spark_catalog("main"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.sql("CREATE NAMESPACE shop.src")
    for table in tables:
        session.sql(
            f"CREATE TABLE shop.src.{table} AS SELECT * FROM VALUES"
            " (1, 'anna@clear.example', 5), (2, NULL, -1) AS t(id, email, n)"
        )
    sql: Sql = session.sql
    return sql


def people(shop: ProjectFolder, *more: str, name: str = "people", **settings: str) -> None:
    checks = ("constraint: not_null(email)", "constraint: compare(n, >, 0)", "constraint: unique(id)", *more)
    header = "".join(f"-- @{check}\n" for check in ("quarantine: true", "column: email: [mask_email]", *checks))
    header += "".join(f"-- @{key}: {value}\n" for key, value in settings.items())
    shop.file(f"models/silver/{name}.sql", f"{header}SELECT id, email, n FROM src.{name}\n")


def of(result: RunResult, name: str = "silver.people") -> ModelResult:
    return next(m for m in result.materializations if m.model == name)


def found(result: RunResult, model: str = "silver.people") -> dict[str, tuple[str, Any]]:
    return {check.name: (check.status, check.value) for check in result.check_results if check.model == model}


def test_both_tables_move_together_and_go_back_together(
    shop: ProjectFolder, others: Sql, capsys: pytest.CaptureFixture[str]
) -> None:
    people(shop, "audit: row_count(<, 3)", "constraint: compare(n, <, 5) warn")
    shop.model("gold.why", "SELECT id, explode(_reasons) AS reason FROM silver.people__quarantine")
    first = shop.run()
    assert first.exit_code == 0
    assert (of(first).rows_written, of(first).rows_quarantined) == (1, 1)
    assert found(first) == {
        "not_null(email)": ("warned", 1),
        "compare(n, >, 0)": ("warned", 1),
        "unique(id)": ("passed", 0),
        "row_count(<, 3)": ("passed", 1),
        "compare(n, <, 5)": ("warned", 1),
    }
    assert set(first.publish.tables) == {"silver.people", "silver.people__quarantine", "gold.why"}
    assert shop.rows("silver.people") == [(1, "a***@clear.example", 5)]
    assert shop.rows(REFUSED) == [(2, ["email", "n"], first.run_id)]
    reasons = ["compare(n, >, 0): n > 0", "not_null(email): no NULL in email"]
    assert sorted(reason for _, reason in shop.rows("gold.why")) == reasons
    assert run_cli(["preview", "silver.people__quarantine", "--project", str(shop.root)]) == 0
    assert "compare(n, >, 0)" in capsys.readouterr().out

    assert statuses(shop.run()) == {"silver.people": "skipped", "gold.why": "skipped"}

    people(shop, "audit: row_count(<, 9)", "constraint: compare(n, <, 5) warn")
    again = shop.run()
    assert statuses(again) == {"silver.people": "skipped", "gold.why": "skipped"}
    assert (found(again)["row_count(<, 9)"], found(again)["not_null(email)"]) == (("passed", 1), ("passed", 0))
    people(shop, "audit: row_count(<, 3)", "constraint: compare(n, <, 5) warn")

    others(
        "INSERT INTO shop.src.people VALUES"
        " (3, 'c@clear.example', 1), (4, 'd@clear.example', 1), (5, 'e@clear.example', 0)"
    )
    before = shop.catalog.head()
    failed = shop.run()
    assert statuses(failed) == {"silver.people": "failed", "gold.why": "blocked"}
    assert of(failed).reason == "src.people gained 3 rows; it quarantines rows"
    assert shop.catalog.head() == before
    assert found(failed)["compare(n, >, 0)"] == ("warned", 2)

    others("DELETE FROM shop.src.people WHERE id IN (2, 3)")
    kept = shop.run(no_publish=True)
    assert (of(kept).rows_written, of(kept).rows_quarantined) == (2, 1)
    assert shop.rows(REFUSED) == [(2, ["email", "n"], first.run_id)]
    publish_run(shop.settings, kept.run_id, root=shop.spark)
    assert shop.rows(REFUSED) == [(5, ["n"], kept.run_id)]
    assert [row[0] for row in shop.rows("gold.why")] == [5]
    assert [row[0] for row in shop.rows("silver.people")] == [1, 4]

    others("DELETE FROM shop.src.people WHERE id = 5")
    assert of(shop.run()).rows_quarantined == 0
    assert shop.rows(REFUSED) == []
    assert not any("clear" in str(check.samples) for check in kept.check_results)


@dataclass
class Story:
    """Three runs of one project, each model with a source of its own."""

    shop: ProjectFolder
    results: list[RunResult] = field(default_factory=list)
    refused: list[list[tuple[Any, ...]]] = field(default_factory=list)
    """The quarantine of silver.changing after each run."""

    empty: list[tuple[Any, ...]] = field(default_factory=list)
    """The rows of silver.changing after the run in which a constraint refused all of them."""


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder, spark: SparkSession) -> Story:
    shop, story, sql = module_shop, Story(module_shop), source(module_shop, spark, "changing", "ratio", "added")
    sql("INSERT INTO shop.src.ratio VALUES (3, 'c@clear.example', 0)")
    keyed = {"merge_strategy": "incremental", "unique_key": "id"}

    def run() -> None:
        story.results.append(shop.run())
        story.refused.append(shop.rows("SELECT id, _columns, _run_id FROM silver.changing__quarantine"))

    people(shop, name="changing", **keyed)
    people(shop, "constraint: check('ratio', '1 / n < 9')", name="ratio")
    people(shop, name="added", **keyed, watermark_column="n", deltas="always")
    run()
    people(shop, "constraint: compare(n, >, 9)", name="changing", **keyed)
    sql("INSERT INTO shop.src.added VALUES (3, NULL, 7), (4, 'd@clear.example', 8)")
    run()
    story.empty = shop.rows("silver.changing")
    shop.model("silver.changing", "SELECT id, email, n FROM src.changing", **keyed)
    run()
    return story


def test_a_constraint_that_changes_makes_the_table_anew_and_switching_off_leaves_the_quarantine(story: Story) -> None:
    changed, without = (of(result, "silver.changing") for result in story.results[1:])
    assert (changed.reason, changed.rows_quarantined) == ("definition changed", 2)
    assert story.empty == []
    assert without.rows_written == 2
    assert story.refused[1] == story.refused[2]
    assert len(story.refused[1]) == 2


def test_a_constraint_that_fails_on_some_row_is_an_error_and_blocks(story: Story) -> None:
    result = story.results[0]
    assert of(result, "silver.ratio").failure_kind == "QualityFailed"
    assert "constraint ratio could not run: Division by zero." in (of(result, "silver.ratio").error or "")
    checks = found(result, "silver.ratio")
    assert (checks["ratio"], checks["compare(n, >, 0)"]) == (("error", None), ("warned", 2))
    assert not {"silver.ratio", "silver.ratio__quarantine"} & set(result.publish.tables)
    tables = {table.name for table in story.shop.catalog.head() if table.name.startswith("ratio")}
    assert tables == {"ratio"}, "the source alone"


def test_an_upsert_from_changes_adds_what_it_refuses(story: Story) -> None:
    first, second, _ = story.results
    assert run_types(second)["silver.added"] == "incremental"
    assert (of(second, "silver.added").rows_written, of(second, "silver.added").rows_quarantined) == (1, 1)
    assert [row[0] for row in story.shop.rows("silver.added")] == [1, 4]
    refused = story.shop.rows("SELECT id, _columns, _run_id FROM silver.added__quarantine")
    assert refused == [(2, ["email", "n"], first.run_id), (3, ["email"], second.run_id)]


@pytest.mark.skipif(not os.environ.get("TIDEGATE_PROVE"), reason="a process with a Spark of its own: make prove")
def test_a_run_that_was_killed_adds_nothing_twice(shop: ProjectFolder) -> None:
    shop.model(
        "silver.people",
        "SELECT id, n FROM {{ landing_zone('people') }}",
        merge_strategy="append_only",
        quarantine="true",
        constraint="not_null(n)",
    )
    shop.file("landing/people/a.csv", "id,n\n1,1\n2,\n")
    assert shop.run().exit_code == 0
    before = shop.catalog.head()
    shop.file("landing/people/b.csv", "id,n\n3,\n4,4\n")
    process = start(shop.root, TIDEGATE_FAULT="after_write")
    output, _ = process.communicate(timeout=180)
    assert process.returncode == -signal.SIGKILL, output
    assert shop.catalog.head() == before
    shop.clock.set("2024-06-02T12:00:00")
    assert of(shop.run()).rows_quarantined == 1
    assert shop.rows("SELECT id FROM silver.people__quarantine") == [(2,), (3,)]
    assert shop.rows("SELECT id FROM silver.people") == [(1,), (4,)]


def test_what_moved_under_a_run_is_refused_again_on_what_main_has(shop: ProjectFolder, others: Sql) -> None:
    people(shop, merge_strategy="append_only")
    shop.run()
    others("INSERT INTO shop.src.people VALUES (3, NULL, 7)")
    moved: list[Event] = []

    def meanwhile(event: Event) -> None:
        if event.name == "after_checks" and not moved:
            moved.append(event)
            others("DELETE FROM shop.silver.people__quarantine WHERE id = 2")

    result = shop.run(listener=meanwhile)
    assert (result.exit_code, result.publish.conflicts) == (0, 1)
    assert shop.rows("SELECT id FROM silver.people__quarantine") == [(3,)]
    assert [row[0] for row in shop.rows("silver.people")] == [1]
