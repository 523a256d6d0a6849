"""The watcher: real files, and a pause that makes the changes instead of waiting."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tidegate.cli.watch import Watched, watch


class Stopped(Exception):
    """The pauses are used up: the watcher would wait on."""


def pausing(*doings: Callable[[], object]) -> Callable[[float], None]:
    """Does the next of `doings` in each pause."""
    left = list(doings)

    def pause(seconds: float) -> None:
        if not left:
            raise Stopped
        left.pop(0)()

    return pause


def nothing() -> None:
    """A pause in which nothing happens."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "models" / "silver").mkdir(parents=True)
    (tmp_path / "models" / "silver" / "a.sql").write_text("select 1")
    (tmp_path / "tidegate.toml").write_text("")
    return tmp_path


def changes(folder: Path, *doings: Callable[[], object]) -> Iterator[list[str]]:
    watched = Watched([folder / "models"], [folder / "tidegate.toml"], [folder / "landing"])
    for changed in watch(lambda: watched, pausing(*doings)):
        yield sorted(path.removeprefix(f"{folder}/") for path in changed)


def rewrite(path: Path, text: str) -> Callable[[], object]:
    def write() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        # Two writes may fall into one tick of the file system's clock.
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))

    return write


def test_a_saved_file_is_a_change(folder: Path) -> None:
    found = changes(folder, nothing, rewrite(folder / "models/silver/a.sql", "select 2"), nothing)
    assert next(found) == ["models/silver/a.sql"]


def test_a_save_of_the_same_length_is_a_change(folder: Path) -> None:
    assert next(changes(folder, rewrite(folder / "models/silver/a.sql", "select 9"), nothing)) == [
        "models/silver/a.sql"
    ]


def test_new_removed_and_configured_files_are_changes_together(folder: Path) -> None:
    def three() -> None:
        rewrite(folder / "models/gold/new.sql", "select 1")()
        (folder / "models/silver/a.sql").unlink()
        rewrite(folder / "tidegate.toml", "[project]")()

    assert next(changes(folder, three, nothing)) == ["models/gold/new.sql", "models/silver/a.sql", "tidegate.toml"]


def test_a_file_replaced_by_another_of_the_same_size_and_time_is_a_change(folder: Path) -> None:
    path, other = folder / "models/silver/a.sql", folder / "saved"

    def replace() -> None:
        other.write_text("select 2")
        status = path.stat()
        os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
        other.replace(path)

    assert next(changes(folder, replace, nothing)) == ["models/silver/a.sql"]


def test_a_landing_zone_that_comes_is_a_change_and_its_files_are_not(folder: Path) -> None:
    found = changes(folder, lambda: (folder / "landing/orders").mkdir(parents=True), nothing)
    assert next(found) == ["landing/orders"]
    with pytest.raises(Stopped):
        next(changes(folder, rewrite(folder / "landing/orders/day.csv", "a,b"), nothing))


@pytest.mark.parametrize("name", ["models/.a.sql.swp", "models/silver/a.sql~", "models/notes.md", "models/.git/a.sql"])
def test_files_that_no_project_is_made_of_are_no_change(folder: Path, name: str) -> None:
    with pytest.raises(Stopped):
        next(changes(folder, rewrite(folder / name, "x"), nothing))


def test_a_save_in_several_steps_is_one_change(folder: Path) -> None:
    path = folder / "models/silver/a.sql"
    found = changes(folder, rewrite(path, ""), rewrite(path, "select"), rewrite(path, "select 22"), nothing, nothing)
    assert next(found) == ["models/silver/a.sql"]
    with pytest.raises(Stopped):
        next(found)


def test_a_change_that_is_taken_back_while_it_settles_is_none(folder: Path) -> None:
    path = folder / "models/silver/b.sql"
    with pytest.raises(Stopped):
        next(changes(folder, rewrite(path, "select 1"), path.unlink, nothing))


def test_what_changes_before_the_first_question_is_not_missed(folder: Path) -> None:
    watched = Watched([folder / "models"])
    found = watch(lambda: watched, pausing(nothing))
    rewrite(folder / "models/silver/a.sql", "select 3")()
    assert next(found) == {str(folder / "models/silver/a.sql")}


def test_a_large_project_is_looked_at_less_often(folder: Path) -> None:
    waits: list[float] = []
    clock = iter([0.0, 0.4, 10.0, 10.001])

    def pause(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise Stopped

    with pytest.raises(Stopped):
        next(watch(lambda: Watched([folder / "models"]), pause, lambda: next(clock)))
    assert waits == pytest.approx([4.0, 0.1])
