"""What is particular to a history on PostgreSQL."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from sqlalchemy import create_engine, inspect

from tests.sources.postgres import Postgres
from tests.state.test_opening import _OPENED_BY_FOUR
from tidegate.config.database_url import parse_database_url
from tidegate.errors import StateError
from tidegate.state import EventRecord, RunRecord, open_reader, open_state
from tidegate.state.migrations import latest_version
from tidegate.state.sql_types import metadata


def tables(url: str) -> dict[str, list[tuple[str, str, bool]]]:
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        look = inspect(engine)
        return {
            table: [(column["name"], str(column["type"]), column["nullable"]) for column in look.get_columns(table)]
            for table in look.get_table_names()
        }
    finally:
        engine.dispose()


def test_migrations_from_nothing_give_exactly_the_tables_that_the_code_reads(postgres_url: str) -> None:
    open_state(postgres_url).close()
    migrated = tables(postgres_url)
    engine = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    metadata.drop_all(engine)
    metadata.create_all(engine)
    engine.dispose()
    declared = tables(postgres_url)
    assert {name: migrated[name] for name in metadata.tables} == {name: declared[name] for name in metadata.tables}


def test_reading_a_database_without_tables_gives_no_runs_and_makes_none(postgres_url: str) -> None:
    with open_reader(postgres_url) as reader:
        assert reader.runs() == ()
    assert tables(postgres_url) == {}


def test_many_processes_may_open_a_new_database_at_once(postgres_url: str) -> None:
    done = subprocess.run([sys.executable, "-c", _OPENED_BY_FOUR, postgres_url], capture_output=True)
    assert (done.stdout, done.stderr, done.returncode) == (b"0 0 0 0\n", b"", 0)
    engine = create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        versions = connection.exec_driver_sql("SELECT version FROM schema_version ORDER BY 1").fetchall()
    engine.dispose()
    assert [version for (version,) in versions] == list(range(1, latest_version() + 1))


def test_sessions_that_the_server_ended_are_opened_again(postgres: Postgres, postgres_url: str) -> None:
    name = parse_database_url(postgres_url).user
    with open_state(postgres_url) as store:
        store.add_event(EventRecord("run-1", datetime.now(UTC), "phase", None, {}))
        postgres.execute(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{name}'")
        store.add_event(EventRecord("run-1", datetime.now(UTC), "phase", None, {}))
        assert [event.seq for event in store.reader().events("run-1")] == [1, 2]


def test_two_stores_that_write_the_events_of_one_run_number_them_in_one_order(postgres_url: str) -> None:
    with open_state(postgres_url) as one, open_state(postgres_url) as two:
        for store in (one, two, two, one):
            store.add_event(EventRecord("run-1", datetime.now(UTC), "phase", None, {}))
        assert [event.seq for event in one.reader().events("run-1")] == [1, 2, 3, 4]


def test_a_character_that_the_database_cannot_hold_fails_no_run(postgres_url: str) -> None:
    run = RunRecord("run-1", "shop", "run", "run-1", "run", datetime.now(UTC), error="not a number: 'a\0b'")
    with open_state(postgres_url) as store:
        store.start_run(run)
        store.add_event(EventRecord("run-1", datetime.now(UTC), "phase", None, {"text": "a\0b"}))
        found = store.reader().run("run-1")
        (event,) = store.reader().events("run-1")
    assert found is not None
    assert found.error == "not a number: 'a\ufffdb'"
    assert event.data == {"text": "a\0b"}


@pytest.mark.parametrize(
    ("found", "given", "says"),
    [("pass%3A", "wrong", "password authentication failed"), (r":\d+/", ":1/", "cannot be reached")],
)
def test_a_server_that_refuses_is_named_with_a_remedy_and_without_secrets(
    postgres_url: str, found: str, given: str, says: str
) -> None:
    for opening in (open_state, open_reader):
        with pytest.raises(StateError, match=says) as caught:
            opening(re.sub(found, given, postgres_url))
        told = f"{caught.value} {caught.value.where} {caught.value.remedy}"
        assert "[state] url" in told
        assert not [secret for secret in ("pass:", "%3A", "wrong") if secret in told]
