"""Exit codes as docs/commands.md has them, where no JVM is needed to see them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_plan import publish
from tidegate.config import load_settings
from tidegate.runs.result import Publish, RunResult
from tidegate.state import RunRecord, open_state

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
RUN = "run-20261115-120000-000"


@pytest.fixture
def shop(project: Path) -> Path:
    models = project / "models" / "silver"
    models.mkdir(parents=True)
    (models / "orders.sql").write_text("SELECT 1 AS amount\n")
    publish(project, "run-1", {"silver.orders": (1,)})
    return project


@pytest.mark.parametrize(
    ("status", "code"), [("success", 0), ("skipped", 0), ("partial", 2), ("failed", 1), ("cancelled", 130)]
)
def test_of_a_run(status: str, code: int) -> None:
    assert RunResult(RUN, status, RUN, Publish("run"), NOON, 1, {}, ()).exit_code == code


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("", 0),
        ("--help", 0),
        ("--version", 0),
        ("nothing", 1),
        ("run --nothing", 1),
        ("run --concurrency x", 1),
        ("run", 0),
        ("run state:modified", 0),
        ("run nothing", 1),
        ("run -c nothing.toml", 1),
        ("run --resume nothing", 1),
        ("publish nothing", 1),
        ("compile", 0),
        ("compile --explain nothing", 1),
        ("plan", 0),
        ("ls", 0),
        ("ls --sources", 0),
        ("check", 0),
        ("test", 0),
        ("show orders", 0),
        ("show nothing", 1),
        ("preview nothing", 1),
        ("history", 0),
        ("logs nothing", 1),
        ("branches", 0),
        ("cancel nothing", 1),
        (f"cancel {RUN}", 1),
        ("hooks test pipeline_start", 0),
        ("hooks test nothing", 1),
        ("chaos --list", 0),
        ("reap", 0),
        ("completion bash", 0),
        ("completion tcsh", 1),
        ("init .", 1),
    ],
)
def test_of_a_sound_project(call: str, code: int, shop: Path, tidegate: Call) -> None:
    with open_state(load_settings(shop).state.url) as store:
        store.start_run(RunRecord(RUN, "shop", "run", RUN, "run", NOON))
        store.finish_run(RUN, "failed", finished_at=NOON, duration_ms=1)
    done = tidegate(*call.split())
    assert done.code == code, done.err
    assert bool(done.err) == (code == 1) or call.startswith("cancel run")


@pytest.mark.parametrize(
    ("command", "code"), [("compile", 1), ("plan", 1), ("run", 1), ("check", 1), ("test", 1), ("ls", 0)]
)
def test_of_a_project_with_errors(command: str, code: int, shop: Path, tidegate: Call) -> None:
    (shop / "models/silver/bad.sql").write_text("SELECT nothing FROM silver.orders\n")
    assert tidegate(command).code == code
    assert tidegate(command, "--json").code == code


def test_of_hooks_and_sources_that_fail(shop: Path, tidegate: Call) -> None:
    toml = shop / "tidegate.toml"
    hook = '[[hooks]]\nname = "h"\nevents = ["pipeline_start"]\ncommand = "false"\n'
    source = '[sources.crm]\nkind = "postgres"\nurl = "postgresql://nobody@127.0.0.1:1/none"\n'
    toml.write_text(toml.read_text() + hook)
    assert tidegate("hooks", "test", "pipeline_start").code == 1
    toml.write_text('[project]\nname = "shop"\n' + source)
    assert tidegate("ls", "--sources").code == 1
