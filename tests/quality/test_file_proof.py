"""What the files of a table prove about it is true of every row, and rules that do not hold are never proven."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidegate.checks.check_registry import rule_of
from tidegate.checks.check_values import Check, CheckRule, RowRule, Stage, ValueRange
from tidegate.checks.parsing import parse_call
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.problems import Place
from tidegate.quality import CheckQuery, evaluate_checks
from tidegate.quality.file_proof import FileProof
from tidegate.spark.session import child_session

pytestmark = pytest.mark.spark

PROVEN = (
    "not_null(id)",
    "not_null(d)",
    "compare(id, >=, 1)",
    "compare(id, >, 0)",
    "compare(id, <, 10)",
    "between(id, 1, 9)",
    "compare(price, <=, 12345678901234.25)",
    "compare(price, >, -0.51)",
    "between(price, -0.5, 12345678901234.25)",
    "compare(one, =, 7)",
    "no_nan(d)",
    "finite(d)",
    "compare(d, >=, 0.1)",
    "between(gaps, 2, 2)",
    "not_null(word)",
)
BROKEN = (
    "not_null(gaps)",
    "not_null(late)",
    "compare(id, >, 1)",
    "compare(id, <, 9)",
    "between(id, 2, 9)",
    "compare(price, <, 12345678901234.25)",
    "compare(price, >=, -0.49)",
    "compare(one, =, 8)",
    "no_nan(odd)",
    "finite(odd)",
    "finite(far)",
    "compare(d, >, 0.1)",
    "compare(odd, <, 100)",
)
UNKNOWN = (
    "compare(word, >=, 'a')",  # of text the files know the beginning
    "compare(one, !=, 8)",
    "compare(small, >=, 0.1)",  # Spark compares as a float
    "compare(odd, >=, 1)",  # NaN is more than any number
)
ROWS = """
    VALUES (1, 0.1D, 5D, 1D, -0.5, 7, 2, 'a', 0.5F), (9, 4D, double('NaN'), 2D, 3.25, 7, NULL, 'b', 0.25F),
           (4, 2D, 1D, double('Infinity'), 12345678901234.25, 7, NULL, 'c', 1F)
    AS t (id, d, odd, far, price, one, gaps, word, small)
"""
TYPED = """
    SELECT CAST(id AS INT) AS id, d, odd, far, CAST(price AS DECIMAL(16, 2)) AS price, CAST(one AS BIGINT) AS one,
           CAST(gaps AS SMALLINT) AS gaps, word, small FROM
"""


def test_rules_are_proven_where_they_hold_and_only_there(spark: SparkSession, tmp_path: Path) -> None:
    catalog = EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog.create_branch("b")
    session = child_session(spark, catalog.spark_conf("b"), catalog.spark_catalog("b"))
    table = TableName("shop", "silver", "t")
    catalog.create_namespace("b", table)
    session.sql(f"CREATE TABLE {table.quoted} USING iceberg AS {TYPED} ({ROWS})")
    session.sql(f"ALTER TABLE {table.quoted} ADD COLUMN late INT")
    session.sql(f"ALTER TABLE {table.quoted} ALTER COLUMN id TYPE BIGINT")
    session.sql(f"INSERT INTO {table.quoted} VALUES (2, 1D, 3D, 3D, 0, 7, 2, 'd', 2F, 1)")
    metadata = BranchView(catalog, "b").table(table)
    assert metadata is not None
    columns = relation_of(metadata.fields)
    calls = (*PROVEN, *BROKEN, *UNKNOWN)
    checks = [Check(text, Stage.BEFORE_WRITE, Place("m.sql"), parse_call(text)[0]) for text in calls]
    forms = [rule_of(check, columns, "shop") for check in checks]
    proof = FileProof(metadata, least_rows=1)

    by_files = {text for text, form in zip(calls, forms, strict=True) if proof.proves(within(form))}
    found = evaluate_checks(
        session, table.quoted, [CheckQuery(check, form) for check, form in zip(checks, forms, strict=True)]
    )
    by_rows = {text for text, one in zip(calls, found, strict=True) if one.status == "passed"}

    assert by_files == set(PROVEN)
    assert by_rows == {*PROVEN, *UNKNOWN}
    assert not FileProof(metadata).proves(ValueRange("id"))  # so few rows are read sooner than the manifests


def within(form: CheckRule) -> ValueRange:
    assert isinstance(form, RowRule)
    return form.within or ValueRange("no such column")


def test_what_is_proven_is_not_asked(spark: SparkSession) -> None:
    rule = RowRule("id >= 0", "negative", within=ValueRange("id", high=Fraction(-1)))
    question = CheckQuery(Check("c", Stage.BEFORE_WRITE, Place("m.sql")), rule)
    asked = [question, replace(question, relation="range(5)")]
    found = evaluate_checks(spark, "range(10)", asked, proven=lambda within: within.column == "id")
    assert [(one.status, one.value) for one in found] == [("passed", 0), ("failed", 5)]
