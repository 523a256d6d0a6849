"""The file of Spark's classes only ever makes starting quicker: whatever is wrong with it, Spark starts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.config import SparkSection
from tidegate.spark import session
from tidegate.spark.class_archive import SPARES_ARCHIVE, class_archive, ensure_class_archive
from tidegate.spark.java import Java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    jar = tmp_path / "a.jar"
    jar.write_text("jar")
    return jar


def test_it_is_left_out_where_nobody_wants_it(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPARES_ARCHIVE, "1")
    java = Java(jar.parent, 17, "a test")
    assert ensure_class_archive(java, (jar,), print) is None
    assert not (jar.parent / "home").exists()


def test_a_java_that_cannot_make_it_is_not_asked_twice(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPARES_ARCHIVE, raising=False)
    made: list[Path] = []
    monkeypatch.setattr("tidegate.spark.class_archive._warm_up", made.append)
    said: list[str] = []
    java = Java(jar.parent, 17, "a test")
    assert ensure_class_archive(java, (jar,), said.append) is None
    assert ensure_class_archive(java, (jar,), said.append) is None
    assert (len(made), len(said)) == (1, 1)


def test_another_java_or_another_jar_has_another_file(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPARES_ARCHIVE, raising=False)
    monkeypatch.setattr("tidegate.spark.class_archive._warm_up", lambda path: path.write_bytes(b"classes"))
    java = Java(jar.parent, 17, "a test")
    path = ensure_class_archive(java, (jar,), lambda line: None)
    assert path is not None
    assert path.read_bytes() == b"classes"
    assert class_archive(java, (jar,)) == path
    assert class_archive(Java(jar.parent, 21, "a test"), (jar,)) is None
    jar.write_text("another jar")
    assert class_archive(java, (jar,)) is None


def test_a_folder_that_cannot_be_written_is_no_error(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPARES_ARCHIVE, raising=False)
    (jar.parent / "home").write_text("a file where the folder should be")
    assert ensure_class_archive(Java(jar.parent, 17, "a test"), (jar,), lambda line: None) is None


def test_only_the_newest_few_files_stay(jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SPARES_ARCHIVE, raising=False)
    monkeypatch.setattr("tidegate.spark.class_archive._warm_up", lambda path: path.write_bytes(b"classes"))
    for version in range(17, 22):
        made = ensure_class_archive(Java(jar.parent, version, "a test"), (jar,), lambda line: None)
        assert made is not None
        os.utime(made, (version, version))
    left = [class_archive(Java(jar.parent, version, "a test"), (jar,)) is not None for version in range(17, 22)]
    assert left == [False, False, True, True, True]


@pytest.mark.spark
def test_none_is_made_for_a_spark_that_runs_already(
    spark: SparkSession, spark_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "ensure_class_archive", lambda *_: pytest.fail("it would be of no use"))
    again = session.start_session(SparkSection(master="local[2]", memory="2g"), spark_log.parent)
    assert again.sparkContext is spark.sparkContext
