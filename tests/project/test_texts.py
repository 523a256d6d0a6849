"""A file that lies untouched is not opened again, and no change is missed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tidegate.config import load_settings
from tidegate.project import load_project
from tidegate.project.texts import Text, Texts


def later() -> int:
    """Long after everything that a test writes."""
    return time.time_ns() + 3_600_000_000_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.sql"
    path.write_text("select 1")
    return path


def read(texts: Texts, file: Path) -> str:
    return texts.read(str(file.parent), file.name)


def test_a_file_that_lies_untouched_is_not_opened_again(file: Path) -> None:
    texts = Texts(now=later)
    assert read(texts, file) == "select 1"
    texts.by_path[file.name] = Text("what is remembered", texts.by_path[file.name].marks)
    assert read(texts, file) == "what is remembered"


def test_a_change_of_the_same_length_and_time_is_seen(file: Path) -> None:
    texts, before = Texts(now=later), file.stat()
    read(texts, file)
    file.write_text("select 2")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert read(texts, file) == "select 2"


def test_a_file_put_in_the_place_of_another_is_seen(file: Path) -> None:
    other, before = file.with_name("b.sql"), file.stat()
    other.write_text("select 2")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    texts = Texts(now=later)
    read(texts, file)
    os.replace(other, file)
    assert read(texts, file) == "select 2"


def test_a_file_that_was_just_written_is_read_again(file: Path) -> None:
    """A second write within one tick of the file system's clock would leave the same marks."""
    texts = Texts()
    read(texts, file)
    assert texts.by_path[file.name].marks is None
    texts.by_path[file.name] = Text("out of date", None)
    assert read(texts, file) == "select 1"


def test_once_it_has_lain_a_while_it_is_remembered(file: Path) -> None:
    texts = Texts()
    read(texts, file)
    texts.changed.clear()
    texts.now = later
    read(texts, file)
    assert texts.by_path[file.name].marks is not None
    assert texts.changed == {file.name}


def test_a_file_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "models/silver").mkdir(parents=True)
    for name in ("a", "b"):
        (tmp_path / f"models/silver/{name}.sql").write_text("select 1 as id")
    texts, settings = Texts(), load_settings(tmp_path, env={})
    assert len(load_project(settings, texts).models) == len(texts.by_path) == 2
    (tmp_path / "models/silver/b.sql").unlink()
    load_project(settings, texts)
    assert list(texts.by_path) == ["models/silver/a.sql"]


def test_a_file_that_cannot_be_read_is_told_each_time(tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    (tmp_path / "models/silver").mkdir(parents=True)
    path = tmp_path / "models/silver/a.sql"
    path.write_text("select 1 as id")
    texts, settings = Texts(now=later), load_settings(tmp_path, env={})
    assert load_project(settings, texts).problems == ()
    path.write_bytes(b"select '\xff'")
    for _ in range(2):
        assert [problem.code for problem in load_project(settings, texts).problems] == ["UnreadableFile"]
