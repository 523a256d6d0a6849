"""The branch of a run that is taken up again, where an earlier try left something under its name."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from tidegate.config import Settings, load_settings
from tidegate.errors import TidegateError
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.names import TableName
from tidegate.runs.clock import SystemClock
from tidegate.runs.context import Phases, RunContext
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.heartbeat import Heartbeat
from tidegate.runs.ledger import Ledger
from tidegate.runs.options import RunOptions
from tidegate.runs.run_branch import RunBranch
from tidegate.runs.tally import Tally
from tidegate.state import RunRecord, StateStore, open_state

RUN = "run-20261115-120000-000"
RECORD = RunRecord(RUN, "shop", "run", RUN, "run", datetime(2026, 11, 15, 12, tzinfo=UTC), "running", resumes=1)
LEFT = TableName("shop", "silver", "left")


@dataclass(frozen=True)
class RegisteredRun:
    """As much of a run as its branch needs to be made."""

    catalog: BranchCatalog


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    return load_settings(tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[StateStore]:
    with open_state(settings.state.url) as store:
        store.start_run(RECORD)
        yield store


def unwanted(*told: object) -> None:
    raise AssertionError(told)


def branch_of(store: StateStore, halt: Callable[[TidegateError], None] = unwanted) -> RunBranch:
    clock = SystemClock()
    heart = Heartbeat(RECORD, store, clock, unwanted, halt)
    ledger = Ledger.of(store, RECORD, clock)
    return RunBranch(RECORD, RunOptions(), ledger, Tally(), Cancellation(), heart, unwanted)


def test_what_was_written_after_the_branch_was_dropped_does_not_keep_the_run_from_going_on(
    settings: Settings, store: StateStore
) -> None:
    """A query that could not be ended in time goes on for a moment when its run is cancelled."""
    catalog = open_catalog(settings)
    catalog.head()
    with closing(sqlite3.connect(settings.lake.catalog_path)) as db, db:
        row = ("run_20261115_120000_000", "shop.silver", "left", "file:/w/left.metadata.json", None, "TABLE")
        db.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?, ?)", row)
    with branch_of(store).held(cast(RunContext, RegisteredRun(catalog)), (), Phases(SystemClock())):
        assert LEFT not in catalog.head(RUN)
    assert catalog.list_branches() == ()


def test_the_branch_of_a_run_that_others_took_up_a_moment_ago_is_left_alone(
    settings: Settings, store: StateStore
) -> None:
    """The heart looks twice a second only."""
    catalog = open_catalog(settings)
    told: list[TidegateError] = []
    branch = branch_of(store, told.append)
    with branch.held(cast(RunContext, RegisteredRun(catalog)), (), Phases(SystemClock())):
        assert store.take_over(RECORD, replace(RECORD, resumes=2, host="elsewhere"))
    assert [info.name for info in catalog.list_branches()] == [RUN]
    assert len(told) == 1
