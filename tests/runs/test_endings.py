"""How the end of a run is told to those outside, where no JVM is needed: whatever they answer, it is told rightly."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_plan import publish, write_table
from tests.hooks.receiver import Receiver, receiving
from tidegate.config import load_settings
from tidegate.errors import HookError
from tidegate.hooks.events import Event
from tidegate.lake import BranchView, open_catalog
from tidegate.names import TableName
from tidegate.operations.publish import publish_run
from tidegate.operations.run import run_project
from tidegate.runs import RunResult
from tidegate.state import RunRecord, open_state

ORDERS = TableName("shop", "silver", "orders")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """One model, which is up to date."""
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "models/silver").mkdir(parents=True)
    (tmp_path / "models/silver/orders.sql").write_text("SELECT 1 AS amount\n")
    publish(tmp_path, "run-1", {"silver.orders": (11,)})
    return tmp_path


def configure(shop: Path, *tables: str, receiver: Receiver | None = None) -> None:
    callback = f'[callback]\nurl = "{receiver.url}/{{run_id}}"\nretries = 0\n' if receiver else ""
    (shop / "tidegate.toml").write_text('[project]\nname = "shop"\n' + callback + "".join(tables))


def hook(event: str, command: str, on_failure: str = "abort") -> str:
    return f'[[hooks]]\nname = "on {event}"\nevents = "{event}"\ncommand = "{command}"\non_failure = "{on_failure}"\n'


def record_of(shop: Path, result: RunResult) -> RunRecord:
    with open_state(load_settings(shop).state.url) as store:
        found = store.reader().run(result.run_id)
    assert found is not None
    return found


def test_the_callback_tells_what_the_last_hook_made_of_the_run(shop: Path) -> None:
    with receiving() as receiver:
        configure(shop, hook("state_synced", "exit 1"), receiver=receiver)
        result = run_project(load_settings(shop))
    assert (result.status, result.error) == ("failed", "hook 'on state_synced' on state_synced failed: exit code 1")
    (came,) = receiver.posts
    assert (came.document["status"], came.document["error"]) == (result.status, result.error)
    assert record_of(shop, result).status == "failed"


def test_the_callback_of_a_publish_tells_what_its_hooks_made_of_it(shop: Path) -> None:
    catalog = open_catalog(load_settings(shop))
    catalog.create_branch("run-2")
    progress = BranchView(catalog, "main").progress(ORDERS)
    assert progress is not None
    catalog.restore("run-2", ORDERS, write_table(shop / "warehouse" / "later", (11, 12), progress))
    catalog.keep_branch("run-2")
    with receiving() as receiver:
        configure(shop, hook("pipeline_complete", "exit 1"), receiver=receiver)
        result = publish_run(load_settings(shop), "run-2")
    assert (result.status, result.publish.tables) == ("partial", ("silver.orders",))
    (came,) = receiver.posts
    assert (came.document["status"], came.document["error"]) == (result.status, result.error)


def test_a_signal_at_the_end_only_ends_the_waiting_for_those_outside(shop: Path) -> None:
    configure(shop, hook("pipeline_complete", "kill -INT $PPID; sleep 600"))
    result = run_project(load_settings(shop))
    assert result.status == "skipped"
    assert "interrupted while hooks were notified" in " ".join(result.warnings)
    assert record_of(shop, result).status == "skipped"


def test_why_a_run_was_stopped_is_told_with_its_kind(shop: Path) -> None:
    gate = '[[hooks]]\nname = "gate"\nevents = "pipeline_start"\nurl = "http://127.0.0.1:1"\nretries = 0\n'
    configure(shop, gate + 'on_failure = "abort"\n', hook("pipeline_error", "cat > told", "warn"))
    with pytest.raises(HookError, match="hook 'gate' on pipeline_start failed"):
        run_project(load_settings(shop))
    told: dict[str, Any] = json.loads((shop / "told").read_text())
    assert (told["status"], told["data"]["failure_kind"]) == ("failed", "ConnectionFailed")


@pytest.mark.parametrize("resumed_with", [True, False])
def test_the_end_of_a_run_that_is_somebody_elses_is_theirs_to_tell(shop: Path, resumed_with: bool) -> None:
    def meddle(event: Event) -> None:
        if event.name == "after_model_run":
            with open_state(load_settings(shop).state.url) as store:
                seen = store.reader().run(event.run_id)
                assert seen is not None
                other = replace(seen, resumes=1) if resumed_with else replace(seen, status="failed", error="reaped")
                assert store.take_over(seen, other)

    with receiving() as receiver:
        ends = ("pipeline_complete", "pipeline_error", "state_synced")
        configure(shop, *(hook(end, "touch told") for end in ends), receiver=receiver)
        result = run_project(load_settings(shop), listeners=[meddle])
    assert result.status == "failed"
    assert (receiver.posts, (shop / "told").exists()) == ([], False)


def test_a_hook_that_aborts_what_has_failed_already_is_not_forgotten(shop: Path) -> None:
    """The first error stays the run's; the second is a warning."""
    configure(shop, hook("pipeline_complete", "exit 1"), hook("state_synced", "exit 2"))
    result = run_project(load_settings(shop))
    assert result.error == "hook 'on pipeline_complete' on pipeline_complete failed: exit code 1"
    assert result.warnings == ("hook 'on state_synced' on state_synced failed: exit code 2",)


def test_a_model_that_is_up_to_date_is_told_before_and_after(shop: Path) -> None:
    configure(shop, '[[hooks]]\nevents = "*"\ncommand = "echo $TIDEGATE_EVENT >> told"\n')
    assert run_project(load_settings(shop)).status == "skipped"
    assert (shop / "told").read_text().split() == [
        "compile_complete",
        "pipeline_start",
        "before_model_run",
        "after_model_run",
        "pipeline_complete",
        "state_synced",
    ]
