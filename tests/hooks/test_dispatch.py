"""Who is told of what, in which order, and what a failure does."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tests.hooks.receiver import Post, Reply, in_turn, receiving
from tests.hooks.told import Told, built, check, command, event, webhook
from tidegate.config import CommandHook
from tidegate.errors import FailureKind, HookError, SelectionError


def note(name: str, *events: str, **settings: object) -> CommandHook:
    """A command that writes down that it was called."""
    return command(f'echo "{name} $TIDEGATE_EVENT $TIDEGATE_MODEL" >> told', *events, name=name, **settings)


def told_in(root: Path) -> list[str]:
    file = root / "told"
    return [line.strip() for line in file.read_text().splitlines()] if file.exists() else []


def test_the_hooks_of_an_event_are_called_in_the_order_of_the_file(tmp_path: Path) -> None:
    run = Told(
        tmp_path, note("b", "pipeline_start"), note("a", "pipeline_start", "pipeline_complete"), note("c", "phase")
    )
    run.of("pipeline_start")
    run.of("pipeline_complete", status="success")
    run.of("compile_complete")
    assert told_in(tmp_path) == ["b pipeline_start", "a pipeline_start", "a pipeline_complete"]


def test_check_failed_means_a_result_that_failed(tmp_path: Path) -> None:
    both = note("both", "check_result", "check_failed")
    run = Told(tmp_path, note("f", "check_failed"), note("all", "check_result"), both)
    for status in ("passed", "warned", "failed", "error"):
        run.of("check_result", "silver.orders", result=check(status))
    assert told_in(tmp_path).count("f check_failed silver.orders") == 3
    assert told_in(tmp_path).count("all check_result silver.orders") == 4
    # Once each: what failed as check_failed, the rest as check_result.
    assert told_in(tmp_path).count("both check_failed silver.orders") == 3
    assert told_in(tmp_path).count("both check_result silver.orders") == 1


def test_a_hook_may_choose_models_and_statuses(tmp_path: Path) -> None:
    silver = note("silver", "after_model_run", models=("silver.*",))
    broken = note("broken", "after_model_run", statuses=frozenset({"failed", "blocked"}))
    run = Told(tmp_path, silver, broken)
    run.hooks.choose(lambda patterns: {"silver.orders"})
    run.of("after_model_run", "silver.orders", result=built())
    run.of("after_model_run", "gold.sales", result=built("blocked"))
    assert told_in(tmp_path) == ["silver after_model_run silver.orders", "broken after_model_run gold.sales"]


def test_a_selection_that_means_nothing_names_its_hook(tmp_path: Path) -> None:
    def nothing(patterns: object) -> set[str]:
        raise SelectionError("'silver.oders' selects no model", remedy="did you mean silver.orders?")

    run = Told(tmp_path, note("x", "model_error", models=("silver.oders",)))
    with pytest.raises(SelectionError, match=r"hook 'x': 'silver\.oders' selects no model"):
        run.hooks.choose(nothing)


def test_a_failure_warns_aborts_or_is_ignored(tmp_path: Path) -> None:
    for on_failure in ("warn", "ignore"):
        run = Told(tmp_path, command("exit 4", "pipeline_start", name="gate", on_failure=on_failure))
        run.of("pipeline_start")
        assert run.warnings == (["hook 'gate' on pipeline_start failed: exit code 4"] if on_failure == "warn" else [])
    gate = command("echo frozen; exit 4", "pipeline_start", name="gate", on_failure="abort")
    run = Told(tmp_path, note("before", "pipeline_start"), gate, note("after", "pipeline_start"))
    with pytest.raises(HookError) as caught:
        run.of("pipeline_start")
    assert str(caught.value) == "hook 'gate' on pipeline_start failed: exit code 4: frozen"
    assert caught.value.hook == "gate"
    assert "tidegate hooks test pipeline_start" in str(caught.value.remedy)
    assert told_in(tmp_path) == ["before pipeline_start"]


def test_a_gate_that_hangs_and_a_webhook_that_never_answers_abort_in_time(tmp_path: Path) -> None:
    short = timedelta(milliseconds=100)

    def never(came: object) -> Reply:
        receiver.over.wait(30)
        return Reply()

    with receiving(never) as receiver:
        web = webhook(receiver.url, "pipeline_start", timeout=short, retries=0, on_failure="abort")
        for hook in (command("sleep 600", "pipeline_start", timeout=short, on_failure="abort"), web):
            with pytest.raises(HookError) as caught:
                Told(tmp_path, hook).of("pipeline_start")
            assert caught.value.kind is FailureKind.TIMEOUT
            assert "100ms" in str(caught.value)


def test_a_webhook_is_told_with_its_tries_and_without_its_address(tmp_path: Path) -> None:
    with receiving(in_turn(Reply(500, "down"))) as receiver:
        run = Told(tmp_path, webhook(f"{receiver.url}/T0/secret-path", "pipeline_error", retries=2))
        run.of("pipeline_error", status="failed")
    assert run.warnings == ["hook 'web' on pipeline_error failed: HTTP 500: down (3 tries)"]
    assert receiver.events == ["pipeline_error"] * 3


def test_a_body_that_cannot_be_made_is_a_failure_like_any_other(tmp_path: Path) -> None:
    run = Told(tmp_path, webhook("http://127.0.0.1:1", "pipeline_start", body="not {{ json }}"))
    run.of("pipeline_start")
    assert "its body is not JSON" in run.warnings[0]


def test_an_async_webhook_is_not_waited_for_but_drained_at_the_end_in_order(tmp_path: Path) -> None:
    go_on = threading.Event()

    def when_told(came: Post) -> Reply:
        go_on.wait(30)
        return Reply()

    with receiving(when_told) as receiver:
        events = ("before_model_run", "after_model_run", "pipeline_complete")
        run = Told(tmp_path, webhook(receiver.url, *events, background=True))
        for name in events:
            run.hooks(event(name, status="success"))
        receiver.came.acquire(timeout=30)
        assert len(receiver.posts) == 1
        go_on.set()
        run.hooks.drain(30)
        assert receiver.events == list(events)
        run.hooks.close()
    assert run.warnings == []


def test_the_end_of_a_run_does_not_wait_for_ever(tmp_path: Path) -> None:
    def never(came: object) -> Reply:
        receiver.over.wait(30)
        return Reply()

    with receiving(never) as receiver:
        run = Told(tmp_path, webhook(receiver.url, "pipeline_start", "pipeline_complete", background=True, name="slow"))
        run.of("pipeline_start")
        run.of("pipeline_complete")
        receiver.came.acquire(timeout=30)
        run.hooks.drain(0.05)
        run.hooks.close()
    assert run.warnings == ["hook 'slow': 2 notices were not delivered within 0.05s"]


def test_an_async_failure_is_a_warning(tmp_path: Path) -> None:
    with receiving(in_turn(Reply(400, "no"))) as receiver:
        run = Told(tmp_path, webhook(receiver.url, "pipeline_start", background=True))
        run.of("pipeline_start")
        run.hooks.drain(30)
    assert run.warnings == ["hook 'web' on pipeline_start failed: HTTP 400: no"]


def test_models_side_by_side_do_not_wait_for_each_others_hooks(tmp_path: Path) -> None:
    """Each hook of one model returns only when the other one is there as well."""
    both = threading.Barrier(2)

    def together(came: Post) -> Reply:
        both.wait(30)
        return Reply()

    with receiving(together) as receiver:
        run = Told(tmp_path, webhook(receiver.url, "before_model_run", retries=0))
        threads = [
            threading.Thread(target=run.of, args=("before_model_run", name)) for name in ("silver.a", "silver.b")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert run.warnings == []
    assert {json.loads(post.body)["model"] for post in receiver.posts} == {"silver.a", "silver.b"}
