"""One lake and one branch for all tests of a module: each test has a table of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.view import BranchView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Branch:
    session: SparkSession
    lake: BranchView


@pytest.fixture(scope="module")
def branch(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Branch:
    from tidegate.spark.session import child_session

    folder = tmp_path_factory.mktemp("lake")
    catalog = EmbeddedCatalog(folder / "catalog.db", folder / "warehouse")
    catalog.create_branch("run-1")
    session = child_session(spark, catalog.spark_conf("run-1"), catalog.spark_catalog("run-1"))
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than a few rows do
    return Branch(session, BranchView(catalog, "run-1"))
