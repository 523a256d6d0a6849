"""A project folder to run: files in, rows of main out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conftest import QUICK_JVM
from tests.pointer_builder import PointerBuilder
from tidegate.config import Settings, ZoneSettings, load_settings
from tidegate.hooks.events import Event
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.operations.maintain import maintain_after_run
from tidegate.operations.query import query
from tidegate.planner.intervals import parse_time
from tidegate.runs import RunOptions, RunResult
from tidegate.runs.build.spark_builder import open_spark_builder
from tidegate.runs.lifecycle import run_project

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FAILS = "SELECT CAST(raise_error('down') AS INT) AS x"
"""A query that Spark and the pointer builder refuse alike."""


class FakeClock:
    """Starts where a test says and moves by a millisecond whenever somebody looks."""

    def __init__(self, start: str = "2024-06-01T12:00:00") -> None:
        self.moment = parse_time(start)
        self.slept: list[float] = []

    def now(self) -> datetime:
        self.moment += timedelta(milliseconds=1)
        return self.moment

    def monotonic(self) -> float:
        return self.now().timestamp()

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def set(self, text: str) -> None:
        self.moment = parse_time(text)


class ProjectFolder:
    """Without `spark`, its tables are built by `builder`, which moves pointers and writes no rows."""

    def __init__(self, root: Path, spark: SparkSession | None = None) -> None:
        self.root = root
        self.spark = spark
        self.builder = PointerBuilder()
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.profiles = False
        self.zones: dict[str, ZoneSettings] = {}
        """Of contracts, beside those of tidegate.toml."""
        spark_conf = f'[spark.conf]\n"spark.driver.extraJavaOptions" = "{QUICK_JVM}"\n'
        self.file("tidegate.toml", '[project]\nname = "shop"\n\n[spark]\nmaster = "local[2]"\n\n' + spark_conf)

    def file(self, path: str, text: str) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def model(self, name: str, sql: str, **directives: str) -> None:
        layer, table = name.split(".")
        header = "".join(f"-- @{key}: {value}\n" for key, value in directives.items())
        self.file(f"models/{layer}/{table}.sql", header + sql + "\n")

    @property
    def settings(self) -> Settings:
        """Without profiles, unless a test is about them: they take a while, and there are many runs here."""
        settings = load_settings(self.root)
        landing = replace(settings.landing, zones={**settings.landing.zones, **self.zones})
        return replace(settings, run=replace(settings.run, profiles=self.profiles), landing=landing)

    @property
    def catalog(self) -> BranchCatalog:
        return open_catalog(self.settings)

    @property
    def main(self) -> BranchView:
        return BranchView(self.catalog, "main")

    def run(self, *select: str, **options: Any) -> RunResult:
        listener = options.pop("listener", None)
        listeners = [self.events.append, *([listener] if listener else [])]
        open_builder = open_spark_builder if self.spark is not None else self.builder.start
        return run_project(
            self.settings,
            RunOptions(select=select, **options),
            listeners,
            self.clock,
            open_builder=open_builder,
            maintain=maintain_after_run,
        )

    def built_by(self) -> dict[str, str]:
        """The run that built each table of main, by short name."""
        namespace = self.settings.project.namespace
        found = ((table.short(namespace), self.main.progress(table)) for table in self.main.heads())
        return {name: progress.run_id for name, progress in sorted(found) if progress is not None}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a query (or of a table, by name) on main, sorted."""
        text = sql if " " in sql else f"SELECT * FROM {sql}"
        result = query(self.settings, text, None, self.spark)
        return sorted((tuple(row.values()) for row in result.rows), key=str)

    def rows_of(self, *queries: str) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of several queries (or tables, by name) in one job: values as in JSON, so times are texts."""
        texts = [sql if " " in sql else f"SELECT * FROM {sql}" for sql in queries]
        parts = [
            f"SELECT {number} AS number, to_json(struct(*), map('ignoreNullFields', 'false')) AS row FROM ({text})"
            for number, text in enumerate(texts)
        ]
        read: dict[str, list[tuple[Any, ...]]] = {sql: [] for sql in queries}
        for number, row in self.rows(" UNION ALL ".join(parts)):
            read[queries[number]].append(tuple(json.loads(row).values()))
        return {sql: sorted(rows, key=str) for sql, rows in read.items()}

    def branches(self) -> list[str]:
        return [branch.name for branch in self.catalog.list_branches()]


def statuses(result: RunResult) -> dict[str, str]:
    return {m.model: m.status for m in result.materializations}


def run_types(result: RunResult) -> dict[str, str | None]:
    return {m.model: m.run_type for m in result.materializations}


@pytest.fixture(scope="module")
def module_shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> ProjectFolder:
    """One project for all tests of a file, for a fixture that runs it and tests that look at what came of it."""
    return ProjectFolder(tmp_path_factory.mktemp("project") / "shop", spark)


@pytest.fixture
def make_project(tmp_path: Path, spark: SparkSession) -> Callable[[str], ProjectFolder]:
    return lambda name: ProjectFolder(tmp_path / name, spark)


@pytest.fixture
def shop(make_project: Callable[[str], ProjectFolder]) -> ProjectFolder:
    return make_project("shop")


@pytest.fixture
def pointer_shop(tmp_path: Path) -> ProjectFolder:
    """A project whose tables are pointers: no Spark, no rows."""
    return ProjectFolder(tmp_path / "shop")
