"""Hooks, callback and budget together, as a run has them: what they stop and what they tell."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.hooks.receiver import Reply, in_turn, receiving
from tests.hooks.told import check, command, event
from tidegate.config import BudgetSection, Endpoint, Secret, Settings, load_settings
from tidegate.errors import BudgetError, FailureKind, HookError, TidegateError
from tidegate.hooks.events import Ending
from tidegate.hooks.run_hooks import check_hooks, open_run_hooks

PHASES = {"build_result": 2100, "iceberg_write": 650}
ENDING = Ending("run-1", "success", 15482, 3200, PHASES)


class Run:
    """What a run does with what it hears from outside."""

    def __init__(self, root: Path, sizes: dict[str, int] | None = None, **settings: Any) -> None:
        (root / "tidegate.toml").write_text('[project]\nname = "shop"\n')
        self.settings: Settings = replace(load_settings(root), **settings)
        self.emitted: list[tuple[str, dict[str, Any]]] = []
        self.halted: list[TidegateError] = []
        self.stopped = threading.Event()
        self.watch = open_run_hooks(self.settings, "run", self.emit, self.halt, (sizes or {}).__getitem__)

    def emit(self, name: str, model: str | None, data: Any) -> None:
        self.emitted.append((name, dict(data)))
        self.watch(event(name, model, **data))

    def halt(self, error: TidegateError) -> None:
        self.halted.append(error)
        self.stopped.set()

    @property
    def warnings(self) -> list[str]:
        return [data["message"] for name, data in self.emitted if name == "warning"]


def test_without_any_of_them_nothing_is_imported_and_nothing_happens(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.emit("pipeline_start", None, {})
    run.watch.drain()
    run.watch.close(ENDING)
    assert type(run.watch).__name__ == "_NoHooks"


def test_a_hook_stops_the_run_before_a_write_by_an_exception(tmp_path: Path) -> None:
    gate = command("exit 1", "before_materialize", name="gate", on_failure="abort")
    run = Run(tmp_path, hooks=(gate,))
    with pytest.raises(HookError, match=r"hook 'gate' on before_materialize of silver\.a failed: exit code 1"):
        run.emit("before_materialize", "silver.a", {})
    assert len(run.halted) == 1


def test_after_an_event_that_nobody_can_take_back_the_run_is_only_asked_to_stop(tmp_path: Path) -> None:
    gate = command("exit 1", "after_model_run", name="gate", on_failure="abort")
    run = Run(tmp_path, hooks=(gate,))
    run.emit("after_model_run", "silver.a", {})
    assert [str(error) for error in run.halted] == ["hook 'gate' on after_model_run of silver.a failed: exit code 1"]


def test_the_callback_gets_what_the_end_of_a_run_is(tmp_path: Path) -> None:
    with receiving() as receiver:
        url = Secret(f"{receiver.url}/api/v1/internal/runs/{{run_id}}/callback")
        run = Run(tmp_path, callback=Endpoint(url=url, secret=Secret("shared")))
        run.watch.close(ENDING)
    (came,) = receiver.posts
    assert came.path == "/api/v1/internal/runs/run-1/callback"
    assert came.document == {
        "status": "success",
        "rows_written": 15482,
        "duration_ms": 3200,
        "phase_profiles": PHASES,
        "run_id": "run-1",
        "error": None,
    }
    assert came.headers["x-tidegate-signature"].startswith("sha256=")
    assert run.warnings == []


def test_a_callback_is_tried_again_and_its_failure_is_a_warning_without_the_address(tmp_path: Path) -> None:
    with receiving(in_turn(Reply(503), Reply(404, "no such run"))) as receiver:
        run = Run(tmp_path, callback=Endpoint(url=Secret(f"{receiver.url}/key-in-path"), retry_delay=timedelta()))
        run.watch.close(ENDING)
    assert len(receiver.posts) == 2
    assert run.warnings == [f"the callback to {receiver.url} failed: HTTP 404: no such run"]


def written(run: Run, model: str, rows: int) -> None:
    run.emit("after_materialize", model, {"rows_written": rows})


def test_too_many_rows_are_told_once_and_the_run_goes_on(tmp_path: Path) -> None:
    run = Run(tmp_path, budget=BudgetSection(max_rows=10))
    for number in range(4):
        written(run, f"silver.t{number}", 5)
    breaches = [data for name, data in run.emitted if name == "budget_breach"]
    assert [(data["budget"], data["limit"], data["value"]) for data in breaches] == [("max_rows", 10, 15)]
    assert run.warnings == ["the run has written 15 rows: max_rows = 10 of [run.budget]"]
    assert run.halted == []


def test_a_model_that_is_built_again_counts_once(tmp_path: Path) -> None:
    run = Run(tmp_path, budget=BudgetSection(max_rows=10))
    for _ in range(3):
        written(run, "silver.orders", 10)
    assert run.warnings == []


def test_too_many_bytes_fail_the_run_and_hooks_hear_of_it(tmp_path: Path) -> None:
    told = command('echo "$TIDEGATE_MESSAGE" > told', "budget_breach")
    sizes = {"silver.a": 600, "silver.b": 500}
    run = Run(tmp_path, sizes, budget=BudgetSection(max_bytes=1000, on_breach="fail"), hooks=(told,))
    written(run, "silver.a", 1)
    assert run.halted == []
    written(run, "silver.b", 1)
    (error,) = run.halted
    assert isinstance(error, BudgetError)
    assert error.kind is FailureKind.QUALITY_FAILED  # trying again would write as much
    assert str(error) == "the run has written 1,100 bytes: max_bytes = 1,000 of [run.budget]"
    assert "1,100 bytes" in (tmp_path / "told").read_text()


def test_a_run_that_takes_too_long_is_stopped_though_nothing_happens_in_it(tmp_path: Path) -> None:
    run = Run(tmp_path, budget=BudgetSection(max_duration=timedelta(milliseconds=20), on_breach="fail"))
    assert run.stopped.wait(30)
    assert run.halted[0].kind is FailureKind.TIMEOUT
    assert str(run.halted[0]) == "the run takes longer than max_duration = 20ms of [run.budget]"


def test_a_run_that_ended_in_time_is_not_told_later(tmp_path: Path) -> None:
    run = Run(tmp_path, budget=BudgetSection(max_duration=timedelta(hours=77), on_breach="fail"))
    (timer,) = (t for t in threading.enumerate() if isinstance(t, threading.Timer) and t.interval == 77 * 3600)
    run.watch.close(ENDING)
    timer.join(30)
    assert not timer.is_alive()
    assert run.halted == []


def test_a_check_of_published_tables_tells_of_its_results_and_nothing_else(tmp_path: Path) -> None:
    with receiving() as receiver:
        hook = command('echo "$TIDEGATE_EVENT $TIDEGATE_MODEL" >> told', "check_failed")
        callback = Endpoint(url=Secret(receiver.url))
        settings = Run(tmp_path, hooks=(replace(hook, models=("silver.*",)),), callback=callback).settings
        with check_hooks(settings, lambda patterns: {"silver.orders"}, print) as tell:
            for model in ("gold.sales", "silver.orders"):
                tell("check_result", model, {"result": check("failed", model)})
    assert (tmp_path / "told").read_text() == "check_failed silver.orders\n"
    assert receiver.posts == []


def test_a_hook_that_may_abort_fails_a_check_of_published_tables(tmp_path: Path) -> None:
    gate = command("exit 1", "check_result", name="gate", on_failure="abort")
    settings = Run(tmp_path, hooks=(gate, command("exit 2", "after_checks", name="late"))).settings
    said: list[str] = []

    def check_one() -> None:
        with check_hooks(settings, lambda patterns: (), said.append) as tell:
            tell("check_result", "silver.a", {"result": check("passed")})
            tell("after_checks", "silver.a", {})

    with pytest.raises(HookError, match="hook 'gate'"):
        check_one()
    assert said == ["[WARN] hook 'late' on after_checks of silver.a failed: exit code 2"]


def test_what_comes_after_the_end_of_a_run_takes_none_of_its_time(tmp_path: Path) -> None:
    run = Run(tmp_path, budget=BudgetSection(max_duration=timedelta(hours=78), on_breach="fail"))
    (timer,) = (t for t in threading.enumerate() if isinstance(t, threading.Timer) and t.interval == 78 * 3600)
    run.emit("pipeline_complete", None, {"status": "success"})
    timer.join(30)
    assert not timer.is_alive()
    assert run.halted == []


def test_a_run_that_failed_cannot_be_aborted_any_more(tmp_path: Path) -> None:
    gate = command("exit 1", "pipeline_error", name="gate", on_failure="abort")
    run = Run(tmp_path, hooks=(gate,))
    run.emit("pipeline_error", None, {"status": "partial"})
    assert (run.halted, run.warnings) == ([], ["hook 'gate' on pipeline_error failed: exit code 1"])
