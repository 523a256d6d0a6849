"""One Spark session for all tests; a fresh lake for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.config import SparkSection
from tidegate.lake.embedded import EmbeddedCatalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests work on a few rows: a JVM that optimises little starts and warms up in half the time."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from tidegate.spark.session import start_session

    section = SparkSection(
        master="local[2]",
        memory="2g",
        conf={"spark.driver.extraJavaOptions": QUICK_JVM, "spark.sql.codegen.wholeStage": "false"},
    )
    session = start_session(section, tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def catalog(tmp_path: Path) -> EmbeddedCatalog:
    return EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")


@pytest.fixture
def on_branch(spark: SparkSession, catalog: EmbeddedCatalog) -> Callable[[str], SparkSession]:
    """A child session on a branch of `catalog`, made if it is not there; "main" gives one on main."""
    from tidegate.spark.session import child_session

    def session(branch: str) -> SparkSession:
        if branch != "main" and branch not in {info.name for info in catalog.list_branches()}:
            catalog.create_branch(branch)
        return child_session(spark, catalog.spark_conf(branch), catalog.spark_catalog(branch))

    return session
