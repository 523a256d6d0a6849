"""A kept branch is published when its run has ended well, and not while, or after, somebody was at work on it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.runs.test_register import dead
from tidegate.config import Settings, load_settings
from tidegate.errors import RunInFlightError, TidegateError
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.names import TableName
from tidegate.operations.publish import publish_run
from tidegate.runs.result import Publish, RunResult
from tidegate.state import RunRecord, open_state

RUN = "run-20261115-120000-000"
NOW = datetime.now(UTC)
TABLE = TableName("shop", "silver", "a")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A run that kept its branch, with one table on it."""
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    settings = load_settings(tmp_path)
    catalog = open_catalog(settings)
    catalog.create_branch(RUN)
    catalog.restore(RUN, TABLE, Pointer(PointerKind.TABLE, "file:/w/a.metadata.json"))
    catalog.keep_branch(RUN)
    result = RunResult(RUN, "partial", RUN, Publish("run"), NOW, 1, {}, (), branch_kept_for="publish")
    with open_state(settings.state.url) as store:
        store.start_run(RunRecord(RUN, "shop", "run", RUN, "run", NOW, heartbeat_at=NOW))
        store.finish_run(RUN, "partial", finished_at=NOW, duration_ms=1, result=result.to_dict())
    return settings


def resumed_with(settings: Settings, change: Callable[[RunRecord], RunRecord]) -> None:
    """As `run --resume` does it; `change`: what became of that."""
    with open_state(settings.state.url) as store:
        seen = store.reader().run(RUN)
        assert seen is not None
        again = replace(seen, status="running", result=None, finished_at=None, host=socket.gethostname(), resumes=1)
        assert store.take_over(seen, change(again))


def test_it_is_published_where_its_run_has_ended(settings: Settings) -> None:
    assert publish_run(settings, RUN).publish.tables == ("silver.a",)
    assert TABLE in open_catalog(settings).head()


def test_it_is_published_where_the_history_is_lost(settings: Settings) -> None:
    for file in settings.root.glob(".tidegate/state.db*"):
        file.unlink()
    assert publish_run(settings, RUN).publish.tables == ("silver.a",)


def test_it_is_not_published_while_its_run_is_taken_up_again(settings: Settings) -> None:
    resumed_with(settings, lambda run: replace(run, pid=os.getpid()))
    with pytest.raises(RunInFlightError, match=f"Run {RUN} is at work on its branch: process {os.getpid()} on "):
        publish_run(settings, RUN)
    assert open_catalog(settings).head() == {}


@pytest.mark.parametrize("reaped", [False, True])
def test_it_is_not_published_where_that_was_interrupted(settings: Settings, reaped: bool) -> None:
    """What was written last is on the branch, and nobody has checked it."""
    status = "failed" if reaped else "running"
    resumed_with(settings, lambda run: replace(run, pid=dead(), status=status, heartbeat_at=NOW - timedelta(hours=1)))
    with pytest.raises(TidegateError, match="was interrupted while it worked on its branch") as caught:
        publish_run(settings, RUN)
    assert caught.value.remedy == f"Let it end first: tidegate run --resume {RUN}"
    assert open_catalog(settings).head() == {}
