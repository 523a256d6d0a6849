"""The plan as a value: its document, what is in its way, and its exit code."""

from __future__ import annotations

import pytest

from tidegate.cli.commands.plan import obstacle_lines
from tidegate.errors import FailureKind, LakeError, SourceError, TidegateError
from tidegate.names import TableName
from tidegate.operations.plan import PlanView, StepView
from tidegate.planner.decide import Decision, RunType
from tidegate.planner.make_plan import PlanStep


def step(name: str, error: TidegateError | None = None, lost: bool = False) -> StepView:
    """`lost`: it reads what cannot be planned."""
    decision = Decision(RunType.INCREMENTAL, str(error) if error else "new rows")
    planned = PlanStep(TableName("shop", "silver", name), 0, decision, unplannable=lost or error is not None)
    return StepView(planned, f"silver.{name}", "incremental", (), (), None, error, None)


def test_an_error_without_a_remedy_leaves_no_empty_advice() -> None:
    view = PlanView((step("orders", LakeError("it is gone")),))
    assert [found["reason"] for found in view.document()["steps"]] == ["it is gone"]
    assert list(obstacle_lines(view)) == ["Not planned: silver.orders, because it is gone"]


def test_models_that_read_the_same_source_share_an_obstacle() -> None:
    down = SourceError("crm is down", source="crm", kind=FailureKind.TRANSIENT, remedy="start it")
    gone = LakeError("it is gone")
    view = PlanView((step("a", down), step("b", gone), step("c", down), step("d", lost=True)))
    assert list(view.obstacles) == [(["silver.b"], gone), (["silver.a", "silver.c"], down)]
    assert view.document()["steps"][0]["reason"] == "crm is down; fix: start it"


@pytest.mark.parametrize(("lost", "code"), [((False, False), 0), ((True, False), 2), ((True, True), 1), ((), 0)])
def test_the_exit_code_says_whether_all_or_some_models_cannot_be_planned(lost: tuple[bool, ...], code: int) -> None:
    assert PlanView(tuple(step(f"m{number}", lost=one) for number, one in enumerate(lost))).exit_code == code
