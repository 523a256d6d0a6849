"""A run does what its plan decided, and decides again only what another model or another run has moved since."""

from __future__ import annotations

from typing import Any

import pytest

from tests.projects import ProjectFolder, statuses
from tests.recorded import is_current
from tests.runs.test_conflicts import another_run
from tidegate.compiler.compiled import CompiledModel
from tidegate.hooks.events import Event
from tidegate.planner import decide
from tidegate.planner.make_plan import ModelPlan, plan_model
from tidegate.runs import model_run


@pytest.fixture
def decided_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were decided again while the run built them."""
    models: list[str] = []

    def counted(model: CompiledModel, *arguments: Any) -> ModelPlan:
        models.append(model.model.table.name)
        return plan_model(model, *arguments)

    monkeypatch.setattr(model_run, "plan_model", counted)
    return models


def test_a_decision_is_made_again_only_below_what_the_run_itself_moved(
    pointer_shop: ProjectFolder, decided_again: list[str]
) -> None:
    pointer_shop.model("a.base", "SELECT 1 AS x")
    pointer_shop.model("a.other", "SELECT 1 AS x")
    pointer_shop.model("b.view", "SELECT x FROM a.base", materialized="view")
    pointer_shop.model("c.through", "SELECT x FROM b.view")
    pointer_shop.model("c.apart", "SELECT x FROM a.other")
    pointer_shop.run()
    decided_again.clear()
    pointer_shop.model("a.base", "SELECT 2 AS x")
    result = pointer_shop.run()
    assert sorted(decided_again) == ["through", "view"]
    assert statuses(result) == {
        "a.base": "completed",
        "a.other": "skipped",
        "b.view": "skipped",
        "c.apart": "skipped",
        "c.through": "completed",
    }


def test_a_decision_is_made_again_where_another_run_moved_an_input_after_the_plan(
    pointer_shop: ProjectFolder, decided_again: list[str]
) -> None:
    pointer_shop.model("a.base", "SELECT 1 AS x")
    pointer_shop.model("b.reads", "SELECT x FROM a.base")
    pointer_shop.run()
    pointer_shop.model("b.reads", "SELECT x + 1 AS x FROM a.base")
    decided_again.clear()
    moved: list[str] = []

    def move(event: Event) -> None:
        if event.name == "pipeline_start" and not moved:  # planned, and not yet on a branch
            moved.append(another_run(pointer_shop, "a.base", full_refresh=True).run_id)
            decided_again.clear()

    result = pointer_shop.run("b.reads", listener=move)
    assert statuses(result) == {"b.reads": "completed"}
    assert decided_again == ["reads"]
    assert is_current(pointer_shop, "b.reads")


def test_landing_files_are_listed_when_the_model_is_built(
    pointer_shop: ProjectFolder, decided_again: list[str]
) -> None:
    pointer_shop.file("landing/orders/1.csv", "x\n1\n")
    pointer_shop.model("a.orders", "SELECT * FROM {{ landing_zone('orders') }}", merge_strategy="append_only")
    pointer_shop.run()
    assert decided_again == ["orders"]


def test_a_query_that_cannot_be_planned_fails_its_model_alone(
    pointer_shop: ProjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pointer_shop.model("a.base", "SELECT 1 AS id, 1 AS x", merge_strategy="incremental", unique_key="id")
    pointer_shop.model("b.deep", "SELECT id, x FROM a.base", merge_strategy="incremental", unique_key="id")
    pointer_shop.model("b.flat", "SELECT 1 AS x")
    pointer_shop.run()

    def too_deep(*arguments: Any) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    pointer_shop.run("a.base", full_refresh=True)
    pointer_shop.model("b.flat", "SELECT 2 AS x")
    monkeypatch.setattr(decide, "delta_query", too_deep)
    result = pointer_shop.run()
    assert statuses(result) == {"a.base": "skipped", "b.deep": "failed", "b.flat": "completed"}
