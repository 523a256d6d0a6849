"""What builds the tables dies under a model: it is started again, and the model to blame is found."""

from __future__ import annotations

import threading

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.compiler.compiled import CompiledModel
from tidegate.runs.context import RunContext


@pytest.fixture
def hungry(pointer_shop: ProjectFolder) -> ProjectFolder:
    """`a.hungry` and `a.second` are built side by side; each has a model below it."""
    pointer_shop.model("a.hungry", "SELECT 1 AS x")
    pointer_shop.model("a.second", "SELECT 2 AS x")
    pointer_shop.model("b.below_hungry", "SELECT x FROM a.hungry")
    pointer_shop.model("b.below_second", "SELECT x FROM a.second")
    return pointer_shop


def kill(shop: ProjectFolder, times: int) -> None:
    """The builder dies under `a.hungry` so many times; the first time `a.second` is under way too."""
    both, gone, left = threading.Barrier(2, timeout=30), threading.Event(), iter(range(times))
    shop.builder.most_restarts = 2

    def die(run: RunContext, model: CompiledModel) -> None:
        turn = next(left, None)
        if turn == 0:
            both.wait()
        if turn is not None:
            try:
                shop.builder.die(run, model)
            finally:
                gone.set()

    def beside(run: RunContext, model: CompiledModel) -> None:
        if not gone.is_set():
            both.wait()
            assert gone.wait(30)
            raise ConnectionError("the builder is gone")

    shop.builder.while_building = {"a.hungry": die, "a.second": beside}


def test_where_it_dies_once_under_several_models_everything_is_built(hungry: ProjectFolder) -> None:
    kill(hungry, times=1)
    result = hungry.run(concurrency=2)
    assert (result.exit_code, set(statuses(result).values())) == (0, {"completed"})
    assert set(result.publish.tables) == set(statuses(result))
    assert hungry.builder.most_restarts == 1
    assert sorted(hungry.builder.builds) == sorted(["a.hungry", "a.second"] * 2 + ["b.below_hungry", "b.below_second"])


def test_the_model_under_which_it_dies_alone_fails_and_is_built_by_the_next_run(hungry: ProjectFolder) -> None:
    kill(hungry, times=2)
    result = hungry.run(concurrency=2)
    assert statuses(result) == {
        "a.hungry": "failed",
        "a.second": "completed",
        "b.below_hungry": "blocked",
        "b.below_second": "completed",
    }
    assert (result.exit_code, set(result.publish.tables)) == (2, {"a.second", "b.below_second"})
    hungry.builder.while_building = {}
    again = hungry.run()
    assert (again.exit_code, set(again.publish.tables)) == (0, {"a.hungry", "b.below_hungry"})
