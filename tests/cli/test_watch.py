"""The watcher, on real files: what changes after the call is reported, also before the first answer is asked for."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.cli.project_watch import WatchedPaths, watch_project


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models" / "silver").mkdir(parents=True)
    (tmp_path / "models" / "silver" / "a.sql").write_text("select 1")
    (tmp_path / "tidegate.toml").write_text("")
    return tmp_path


@pytest.fixture
def changes(folder: Path) -> Iterator[list[str]]:
    return watching(folder)


def watching(folder: Path) -> Iterator[list[str]]:
    folders = (folder / "models", folder / "macros")
    paths = WatchedPaths(folders, (folder / "tidegate.toml",), folder / "landing")
    answers = watch_project(lambda: paths)
    return (sorted(path.removeprefix(f"{folder}/") for path in changed) for changed in answers)


def collect(changes: Iterator[list[str]], last: str) -> set[str]:
    """Everything that is reported up to `last`; a busy machine may report in several answers."""
    paths: set[str] = set()
    while last not in paths:
        paths |= set(next(changes))
    return paths


def assert_next(folder: Path, changes: Iterator[list[str]], path: str) -> None:
    """A watch gone deaf fails, instead of waiting for ever: another file changes after a while."""
    other = threading.Timer(5, write, (folder / "tidegate.toml", "[project]"))
    other.start()
    try:
        assert next(changes) == [path]
    finally:
        other.cancel()


def write(path: Path, text: str = "select 2") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_saved_file_is_a_change(folder: Path, changes: Iterator[list[str]]) -> None:
    write(folder / "models/silver/a.sql", "select 9")
    assert next(changes) == ["models/silver/a.sql"]
    write(folder / "models/silver/a.sql", "select 22")
    assert next(changes) == ["models/silver/a.sql"]


def test_new_and_removed_files_are_changes(folder: Path, changes: Iterator[list[str]]) -> None:
    write(folder / "models/gold/new.sql")
    (folder / "models/silver/a.sql").unlink()
    paths = collect(changes, "models/gold/new.sql") | {"models/silver/a.sql"}
    assert paths == {"models/gold/new.sql", "models/silver/a.sql"}


def test_the_configuration_file_is_watched(folder: Path, changes: Iterator[list[str]]) -> None:
    write(folder / "tidegate.toml", "[project]")
    assert next(changes) == ["tidegate.toml"]


def test_a_file_replaced_by_another_of_the_same_size_and_time_is_a_change(
    folder: Path, changes: Iterator[list[str]]
) -> None:
    path, other = folder / "models/silver/a.sql", folder / "saved"
    other.write_text("select 2")
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)
    assert next(changes) == ["models/silver/a.sql"]


def test_a_landing_zone_that_comes_is_a_change_and_its_files_are_not(
    folder: Path, changes: Iterator[list[str]]
) -> None:
    (folder / "landing/orders").mkdir(parents=True)
    assert next(changes) == ["landing/orders"]
    write(folder / "landing/orders/day.csv", "a,b")
    write(folder / "models/silver/a.sql")
    assert next(changes) == ["models/silver/a.sql"]


def test_a_folder_that_comes_is_watched_from_then_on(folder: Path, changes: Iterator[list[str]]) -> None:
    (folder / "macros").mkdir()
    assert next(changes) == ["macros"]
    write(folder / "macros/money.sql")
    assert next(changes) == ["macros/money.sql"]


def test_a_folder_that_is_moved_in_or_away_is_a_change(folder: Path, changes: Iterator[list[str]]) -> None:
    write(folder / "elsewhere/new.sql")
    (folder / "elsewhere").rename(folder / "models/gold")
    assert next(changes) == ["models/gold/new.sql"]
    (folder / "models/gold").rename(folder / "elsewhere")
    assert next(changes) == ["models/gold"]


def test_a_folder_with_a_dot_in_its_name_that_is_moved_away_is_a_change(folder: Path) -> None:
    write(folder / "models/v1.2/old.sql")
    changes = watching(folder)
    (folder / "models/v1.2").rename(folder / "elsewhere")
    assert_next(folder, changes, "models/v1.2")


@pytest.mark.parametrize("how", ["removed", "swapped"])
def test_a_watched_folder_that_is_replaced_at_once_is_watched_on(
    folder: Path, changes: Iterator[list[str]], how: str
) -> None:
    if how == "swapped":
        write(folder / "new/silver/a.sql")
        (folder / "models").rename(folder / "old")
        (folder / "new").rename(folder / "models")
    else:
        shutil.rmtree(folder / "models")
        write(folder / "models/silver/a.sql")
    collect(changes, "models")
    write(folder / "models/silver/b.sql")
    assert_next(folder, changes, "models/silver/b.sql")


def test_an_edited_file_that_a_model_links_to_is_a_change(folder: Path) -> None:
    write(folder / "shared/b.sql")
    (folder / "models/silver/b.sql").symlink_to(folder / "shared/b.sql")
    changes = watching(folder)
    write(folder / "shared/b.sql", "select 22")
    assert_next(folder, changes, "models/silver/b.sql")
    (folder / "models/silver/c.sql").symlink_to(folder / "shared/c.sql")
    assert next(changes) == ["models/silver/c.sql"]
    write(folder / "shared/c.sql")
    assert_next(folder, changes, "models/silver/c.sql")


@pytest.mark.parametrize("name", ["models/.a.sql.swp", "models/silver/a.sql~", "models/notes.md", "models/.git/a.sql"])
def test_files_that_no_project_is_made_of_are_no_change(folder: Path, changes: Iterator[list[str]], name: str) -> None:
    write(folder / name, "x")
    write(folder / "models/silver/a.sql")
    assert next(changes) == ["models/silver/a.sql"]


def test_a_save_in_several_steps_is_one_change(folder: Path, changes: Iterator[list[str]]) -> None:
    path = folder / "models/silver/a.sql"
    for text in ("", "select", "select 22"):
        write(path, text)
    assert next(changes) == ["models/silver/a.sql"]
    write(folder / "models/silver/b.sql")
    assert collect(changes, "models/silver/b.sql") <= {"models/silver/a.sql", "models/silver/b.sql"}
