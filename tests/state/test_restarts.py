"""A server that holds the history and is restarted while a run writes to it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

from tests.sources.postgres import Postgres
from tidegate.errors import FailureKind, StateError
from tidegate.state import EventRecord, RunRecord, open_reader, open_state, store

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def event(name: str) -> EventRecord:
    return EventRecord("run-1", NOON, name, None, {})


def test_a_restart_is_waited_for_and_nothing_is_lost_or_there_twice(postgres: Postgres, postgres_url: str) -> None:
    with open_state(postgres_url) as state:
        state.start_run(RunRecord("run-1", "shop", "run", "run-1", "run", NOON))
        state.add_event(event("before"))
        postgres.stop()
        starting = threading.Timer(0.5, postgres.start)
        starting.start()
        state.add_event(event("after"))
        starting.join()
    with open_reader(postgres_url) as reader:
        assert [found.name for found in reader.events("run-1")] == ["before", "after"]


def test_a_server_that_stays_away_is_an_error_after_a_while(
    postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_RESTART_SECONDS", 0.1)
    with open_state(postgres_url) as state:
        postgres.stop()
        try:
            with pytest.raises(StateError, match="The state database cannot be reached") as caught:
                state.add_event(event("lost"))
            monkeypatch.setattr(store, "_RESTART_SECONDS", 600)
            with pytest.raises(StateError):
                state.add_event(event("lost, too"))  # who was waited for in vain is not waited for again
        finally:
            postgres.start()
        assert caught.value.kind is FailureKind.CONNECTION_FAILED
        state.start_run(RunRecord("run-1", "shop", "run", "run-1", "run", NOON))
