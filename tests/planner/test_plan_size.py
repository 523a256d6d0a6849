"""How much work a plan is taken to be, before any of it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.projects import ProjectFolder
from tidegate.lake.progress import Progress
from tidegate.names import TableName
from tidegate.planner.decide import Decision, RunType
from tidegate.planner.estimate import Estimate
from tidegate.planner.inputs import Inputs
from tidegate.planner.make_plan import ModelPlan, Plan, PlanStep
from tidegate.planner.plan_size import work_of_plan, work_on_tables
from tidegate.spark.work import Work

KNOWN = Progress(run_id="run-1", fingerprint="f", run_type="full", strategy="full_refresh")
A, B, C = (TableName("shop", "silver", name) for name in "abc")
SMALL, LARGE = Estimate(10, 1 << 10, 0.5), Estimate(10, 1 << 40, 0.5)


def step(
    table: TableName,
    estimate: Estimate,
    run_type: RunType = RunType.FULL,
    waits_for: Sequence[TableName] = (),
    inputs: Inputs = Inputs(),  # noqa: B008 - frozen
    progress: Progress | None = KNOWN,
) -> PlanStep:
    decision = Decision(run_type, "", estimate=estimate)
    return PlanStep(table, 0, decision, facts=ModelPlan(decision, inputs, progress), waits_for=tuple(waits_for))


def work(*steps: PlanStep) -> Work:
    return work_of_plan(Plan(steps))


def test_small_steps_are_short_work_and_one_large_step_is_long() -> None:
    assert work(step(A, SMALL), step(B, SMALL)) is Work.SHORT
    assert work(step(A, SMALL), step(B, LARGE)) is Work.LONG


def test_a_step_that_is_skipped_costs_nothing() -> None:
    assert work(step(A, SMALL), step(B, LARGE, RunType.SKIP)) is Work.SHORT


def test_many_seconds_are_long_work_whatever_is_read() -> None:
    assert work(step(A, replace(SMALL, seconds=600.0))) is Work.LONG


def test_a_step_reads_what_its_upstreams_are_built_from() -> None:
    unknown = Estimate()
    assert work(step(A, SMALL), step(B, unknown, waits_for=[A]), step(C, unknown, waits_for=[A, B])) is Work.SHORT
    middle = replace(SMALL, bytes=(1 << 40) // 3)
    assert work(step(A, middle), step(B, unknown, waits_for=[A]), step(C, unknown, waits_for=[A, B])) is Work.LONG


def test_what_has_no_known_size_is_long_work() -> None:
    assert work(step(A, Estimate(), inputs=Inputs(untracked=frozenset({"web.raw.events"})))) is Work.LONG
    assert work(step(A, Estimate(0, 0, 0.5), progress=None)) is Work.LONG, "a query may make any number of rows itself"
    assert work(step(A, Estimate(0, 0, 0.5))) is Work.SHORT, "it did so before, and it took half a second"


def test_reading_tables_is_as_much_work_as_they_are_large(tmp_path: Path) -> None:
    shop = ProjectFolder(tmp_path / "shop")
    shop.model("silver.a", "SELECT 1 AS x")
    shop.model("silver.v", "SELECT x FROM silver.a", materialized="view")
    shop.run()
    heads = shop.catalog.head()
    a, v = (TableName("shop", "silver", name) for name in "av")
    assert work_on_tables(heads, [a, v]) is Work.SHORT
    assert work_on_tables(heads, []) is Work.SHORT
    assert work_on_tables(heads, [a, None]) is Work.LONG
    assert work_on_tables(heads, [C]) is Work.LONG


def test_a_run_starts_spark_for_what_its_plan_knows(tmp_path: Path) -> None:
    shop = ProjectFolder(tmp_path / "shop")
    shop.model("silver.a", "SELECT 1 AS x")
    shop.run()
    assert shop.builder.work is Work.LONG
    shop.model("silver.b", "SELECT x FROM silver.a")
    shop.run()
    assert shop.builder.work is Work.SHORT
    shop.builder.rows["silver.a"] = 1 << 40
    shop.model("silver.a", "SELECT 2 AS x")
    shop.run()
    assert shop.builder.work is Work.SHORT
    shop.model("silver.b", "SELECT x + 1 AS x FROM silver.a")
    shop.run()
    assert shop.builder.work is Work.LONG
