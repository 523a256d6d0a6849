"""Rows are told apart by what they break; what a result cannot answer is left to whoever can."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidegate.checks.check_registry import RowConstraint
from tidegate.checks.check_values import Check, ColumnName, FunctionRule, RowRule, Stage
from tidegate.problems import Place
from tidegate.quality import OwnFunctions
from tidegate.quality.check_queries import SampleColumns
from tidegate.quality.quarantine_marks import GOOD, REFUSED, about_refused, count_refused, mark_rows

pytestmark = pytest.mark.spark

SOURCE = "def even(column):\n    return column % 2 == 0\n\n\ndef broken(column):\n    raise ValueError('no')\n"


def function(name: str) -> FunctionRule:
    return FunctionRule(name, f"checks/{name}.py", 1, SOURCE, (("column", ColumnName("n")),), f"{name}(n)", ("n",))


def constraint(name: str, rule: RowRule | FunctionRule) -> RowConstraint:
    return RowConstraint(Check(name, Stage.BEFORE_WRITE, Place("m.sql")), rule)


def test_rows_are_told_apart_by_every_rule_that_the_result_can_answer(spark: SparkSession) -> None:
    frame = spark.sql("SELECT * FROM VALUES (1, 'a'), (2, 'it\\'s'), (3, NULL), (NULL, 'd') AS t(n, `odd ``name`)")
    found = mark_rows(
        frame,
        [
            constraint("named", RowRule("`odd ``name` IS NULL", "a name")),
            constraint("added later", RowRule("valid_from IS NULL", "a time")),
            constraint("even(n)", function("even")),
            constraint("broken(n)", function("broken")),
            constraint("it's small", RowRule("n > 2", "n <= 2", ("N",))),
        ],
        OwnFunctions(Path()),
    )
    assert [one.check.name for one in found.constraints] == ["named", "even(n)", "it's small"]
    found.frame.createOrReplaceTempView("marked_rows")
    columns = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    look = count_refused(spark, "marked_rows", found.constraints, SampleColumns(columns))
    assert (look.good, look.refused) == (2, 2)
    assert [one.rows for one in look.by_constraint] == [1, 2, 1]
    assert look.by_constraint[0].samples == ({"odd `name": None},)
    about = about_refused(found.constraints, frame.columns, "run-1", datetime(2024, 1, 1, 2, tzinfo=UTC))
    rows = spark.sql(f"SELECT n, {about} FROM marked_rows WHERE {REFUSED} ORDER BY n").collect()
    assert [(row["n"], row["_reasons"], row["_columns"]) for row in rows] == [
        (1, ["even(n): even(n)"], ["n"]),
        (3, ["named: a name", "even(n): even(n)", "it's small: n <= 2"], ["odd `name", "n"]),
    ]
    assert {(row["_run_id"], row["_quarantined_at"].timestamp()) for row in rows} == {("run-1", 1704074400.0)}
    assert [row["n"] for row in spark.sql(f"SELECT n FROM marked_rows WHERE {GOOD}").collect()] == [2, None]
    spark.catalog.dropTempView("marked_rows")


def test_where_no_rule_can_be_answered_the_result_is_as_it_was(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1 AS n")
    found = mark_rows(frame, [constraint("later", RowRule("valid_from IS NULL", "a time"))], OwnFunctions(Path()))
    assert found.constraints == ()
    assert found.frame.columns == ["n"]
