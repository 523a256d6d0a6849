"""The jars, the extension and the catalog of Delta are there where a project uses Delta, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidegate.config import SparkSection, load_settings
from tidegate.errors import SetupError
from tidegate.spark import session
from tidegate.spark.jars import JARS, Jar
from tidegate.spark.java import Java
from tidegate.spark.table_formats import DELTA, formats_of

CHUNKS = '[chunks.sources.orders]\ncontract = "orders.odcs.yml"\n'
ICEBERG = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[set[str], Mapping[str, str]]]:
    """Starts a session that is none: the names of the jars that were fetched, the settings and the JVM's variables."""
    fetched: set[str] = set()
    settings: dict[str, str] = {}
    archived: list[tuple[Path, ...]] = []

    def ensure(java: Java, report: Any, jars: tuple[Jar, ...] = JARS) -> tuple[Path, ...]:
        fetched.update(jar.file_name for jar in jars)
        return tuple(tmp_path / jar.file_name for jar in jars)

    def connect(conf: Mapping[str, str], log: Any, environment: Mapping[str, str]) -> Any:
        settings.update({**conf, **environment})
        return SimpleNamespace(conf=dict(conf))

    monkeypatch.setattr(session, "ensure_jars", ensure)
    monkeypatch.setattr(session, "_connect", connect)
    monkeypatch.setattr(session, "find_java", lambda: Java(tmp_path, 17, "a test"))
    monkeypatch.setattr(session, "is_connected", lambda: False)
    monkeypatch.setattr(session, "ensure_class_archive", lambda java, jars, report: archived.append(jars))

    def start(toml: str) -> tuple[set[str], Mapping[str, str]]:
        (tmp_path / "tidegate.toml").write_text(f'[project]\nname = "shop"\n{toml}')
        formats = formats_of(load_settings(tmp_path))
        session.start_session(SparkSection(), tmp_path, formats=formats)
        assert archived == [tuple(tmp_path / jar.file_name for jar in JARS)]
        return fetched, settings

    return start


@pytest.mark.parametrize("toml", ["", "[chunks]\n", f'[chunks]\nformat = "iceberg"\n{CHUNKS}'])
def test_project_without_delta_neither_fetches_nor_loads_it(started: Callable[..., Any], toml: str) -> None:
    fetched, conf = started(toml)
    assert fetched == {jar.file_name for jar in JARS}
    assert conf["spark.sql.extensions"] == ICEBERG
    assert "spark.sql.catalog.spark_catalog" not in conf
    assert "io.delta" not in str(conf)


def test_project_with_delta_has_both_extensions_and_the_jars_at_the_end(started: Callable[..., Any]) -> None:
    """A JVM uses the archive of classes as long as the class path begins as it did when it was made: Spark's launcher
    puts its own jars between those of the two settings."""
    fetched, conf = started(CHUNKS)
    assert fetched == {jar.file_name for jar in (*JARS, *DELTA.jars)}
    assert conf["spark.sql.extensions"] == f"{ICEBERG},io.delta.sql.DeltaSparkSessionExtension"
    assert conf["spark.sql.catalog.spark_catalog"] == "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    assert conf["spark.databricks.delta.snapshotPartitions"] == "2"
    first, last = (
        [Path(path).name for path in conf[key].split(os.pathsep)]
        for key in ("spark.driver.extraClassPath", "SPARK_DIST_CLASSPATH")
    )
    assert (first, last) == ([jar.file_name for jar in JARS], [jar.file_name for jar in DELTA.jars])


def test_spark_that_runs_without_delta_is_refused(monkeypatch: pytest.MonkeyPatch, started: Callable[..., Any]) -> None:
    running = SimpleNamespace(conf={"spark.sql.extensions": ICEBERG})
    monkeypatch.setattr(session, "_connect", lambda conf, log, *_: running)
    with pytest.raises(SetupError, match="without Delta"):
        started(CHUNKS)
