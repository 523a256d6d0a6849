from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from tidegate.errors import StateError
from tidegate.state import EventRecord, open_reader, open_state
from tidegate.state.migrations import latest_version
from tidegate.state.sql_types import metadata


def columns(path: Path) -> dict[str, list[tuple[str, str, bool]]]:
    engine = create_engine(f"sqlite:///{path}")
    try:
        look = inspect(engine)
        return {
            table: [(column["name"], str(column["type"]), column["nullable"]) for column in look.get_columns(table)]
            for table in metadata.tables
        }
    finally:
        engine.dispose()


def test_migrations_from_nothing_give_exactly_the_tables_that_the_code_reads(tmp_path: Path) -> None:
    with open_state(f"sqlite:///{tmp_path}/migrated.db"):
        pass
    engine = create_engine(f"sqlite:///{tmp_path}/declared.db")
    metadata.create_all(engine)
    engine.dispose()
    assert columns(tmp_path / "migrated.db") == columns(tmp_path / "declared.db")


def test_opening_again_changes_nothing(tmp_path: Path) -> None:
    for _ in range(2):
        with open_state(f"sqlite:///{tmp_path}/state.db"):
            pass
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
        versions = connection.execute("SELECT version, name FROM schema_version").fetchall()
        mode = connection.execute("PRAGMA journal_mode").fetchone()
    names = ["m0001_runs", "m0002_check_values", "m0003_profiles", "m0004_resume", "m0005_whereabouts", "m0006_stages"]
    assert versions == list(enumerate(names, 1))
    assert mode == ("wal",)


_OPENED_BY_FOUR = """
import os, sys, traceback
from tidegate.state import open_state

def opened():
    process = os.fork()
    if process:
        return process
    try:
        open_state(sys.argv[1]).close()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)

started = [opened() for _ in range(4)]
print(*(os.waitpid(process, 0)[1] for process in started))
"""


def test_many_processes_may_open_a_new_database_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OPENED_BY_FOUR, f"sqlite:///{tmp_path}/state.db"], capture_output=True
    )
    assert (done.stdout, done.stderr, done.returncode) == (b"0 0 0 0\n", b"", 0)
    with open_reader(f"sqlite:///{tmp_path}/state.db") as reader:
        assert reader.runs() == ()


def test_reading_a_database_that_is_not_there_gives_no_runs_and_makes_no_file(tmp_path: Path) -> None:
    with open_reader(f"sqlite:///{tmp_path}/none/state.db") as reader:
        assert reader.runs() == ()
        assert reader.latest_of_each_model() == {}
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named_with_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    path.write_text("this is a text file, and quite a long one for a database" * 50)
    for opening in (open_state, open_reader):
        with pytest.raises(StateError, match="not a database") as caught:
            opening(f"sqlite:///{path}")
        assert caught.value.where == str(path)
        assert "Move the file away" in str(caught.value.remedy)


def test_a_folder_in_the_way_of_the_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="folder of the state database cannot be made") as caught:
        open_state(f"sqlite:///{tmp_path}/file/state.db")
    assert caught.value.where == str(tmp_path / "file")


def test_a_place_that_cannot_be_opened_is_named_with_where_to_change_it(tmp_path: Path) -> None:
    (tmp_path / "state.db").mkdir()
    with pytest.raises(StateError, match="cannot be opened") as caught:
        open_state(f"sqlite:///{tmp_path}/state.db")
    assert "[state] url" in str(caught.value.remedy)


def test_a_database_of_a_newer_tidegate_is_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    open_state(url).close()
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 'm0099_future', '2030-01-01 00:00:00')")
        connection.commit()
    for opening in (open_state, open_reader):
        with pytest.raises(StateError, match=f"version 99; this Tidegate knows up to {latest_version()}"):
            opening(url)


def test_a_full_disk_is_told_as_such_and_nothing_half_done_stays(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with open_state(url) as store, closing(sqlite3.connect(tmp_path / "state.db")) as other:
        pages = other.execute("PRAGMA page_count").fetchone()[0]
        with store._engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StateError, match="disk that holds the state database is full"):
            store.add_event(EventRecord("run-1", datetime.now(UTC), "phase", None, {"text": "x" * 100_000}))
        assert store.reader().events("run-1") == ()


@pytest.mark.parametrize("url", ["nonsense", "mysql://host/db"])
def test_a_url_of_another_kind_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(StateError) as caught:
        open_state(url)
    assert caught.value.where == "[state] url"
    assert "sqlite:///" in str(caught.value.remedy)
