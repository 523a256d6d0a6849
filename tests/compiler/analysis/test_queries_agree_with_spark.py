"""Analytical queries over the schemas of TPC-H and TPC-DS: what the analysis knows agrees with Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.compiler.analysis.cases import CASES, Case, analyzed, read_cases, read_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FOLDER = CASES / "queries"
TABLES = read_tables(FOLDER / "schemas.txt")
FILES = ("tpc_h", "tpc_ds", "nested")
SMALL = CASES / "analysis"
SMALL_TABLES = read_tables(SMALL / "tables.txt")


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """The tables as empty views; a query over them is analysed, never run."""
    session = spark.newSession()
    for name, relation in TABLES.items():
        fields = [f"{c.name} {c.type}{'' if c.nullable else ' not null'}" for c in relation.columns]
        session.createDataFrame([], ", ".join(fields)).createTempView(name)
    return session


def all_cases() -> list[Case]:
    return [case for name in FILES for case in read_cases(FOLDER / f"{name}.txt")]


def test_columns_and_types_agree_and_nearly_all_are_known(session: SparkSession) -> None:
    cases = all_cases()
    assert len(cases) >= 60
    wrong: list[str] = []
    known = total = 0
    for case in cases:
        analysis = analyzed(case.sql, TABLES)
        wrong += [f"{case.title}: {finding}" for finding in analysis.findings]
        fields = session.sql(case.sql).schema.fields
        ours = analysis.relation.columns
        if len(ours) != len(fields):
            wrong.append(f"{case.title}: {[c.name for c in ours]} but Spark has {[f.name for f in fields]}")
            continue
        for column, field in zip(ours, fields, strict=True):
            total += 1
            known += bool(column.name) and column.type.known
            theirs = field.dataType.simpleString()
            if column.name not in ("", field.name):
                wrong.append(f"{case.title}: column {column.name} is called {field.name} by Spark")
            if column.type.known and column.type.text != theirs:
                wrong.append(f"{case.title}: {field.name} is {column.type} here and {theirs} in Spark")
            if column.nullable is False and field.nullable:
                wrong.append(f"{case.title}: {field.name} may be null in Spark")
    assert not wrong, "\n".join(wrong)
    assert known >= 0.98 * total


@pytest.fixture(scope="module")
def layers(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The tables of tests/cases/analysis as views without rows, each in its layer."""
    session = spark.newSession()
    folder = tmp_path_factory.mktemp("layers")
    for layer in ("silver", "bronze"):
        session.sql(f"create database {layer} location '{folder / layer}'")
    for name, relation in SMALL_TABLES.items():
        columns = ", ".join(f"cast(null as {c.type}) as {c.name}" for c in relation.columns)
        session.sql(f"create view {name.removeprefix('shop.')} as select {columns} from range(0)")
    yield session
    for layer in ("silver", "bronze"):
        session.sql(f"drop database {layer} cascade")


def small_cases() -> list[Case]:
    """Without what only Tidegate knows: namespaces, columns of Iceberg tables, tables that are not known."""
    cases = [case for name in ("columns", "findings", "lineage") for case in read_cases(SMALL / f"{name}.txt")]
    return [case for case in cases if not any(word in case.sql for word in ("elsewhere.", "_file", "shop."))]


def test_what_the_small_cases_expect_is_what_spark_does(layers: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    wrong: list[str] = []
    for case in small_cases():
        analysis = analyzed(case.sql, SMALL_TABLES, "shop")
        # Spark selects one name twice; only a table cannot have that.
        told = [f for f in analysis.findings if f.severity == "error" and f.code != "DuplicateColumn"]
        try:
            fields = layers.sql(case.sql).schema.fields
        except AnalysisException as error:
            wrong += [] if told else [f"{case.title}: Spark refuses it: {str(error)[:300]}"]
            continue
        theirs = [(field.name, field.dataType.simpleString()) for field in fields]
        ours = [(column.name, column.type.text) for column in analysis.relation.columns]
        known = [(name, theirs[i][1] if "?" in kind else kind) for i, (name, kind) in enumerate(ours[: len(theirs)])]
        if told:
            wrong.append(f"{case.title}: Spark takes it, but {told}")
        elif known != theirs or len(ours) != len(theirs):
            wrong.append(f"{case.title}: {ours} here, {theirs} in Spark")
    assert not wrong, "\n".join(wrong)
