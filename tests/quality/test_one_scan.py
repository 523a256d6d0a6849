"""Twenty checks of a table, and functions of a project with them, read it once, as Spark's own record of plans tells;
samples are looked for where some fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tidegate.checks.check_values import AggregateRule, Check, ColumnName, FunctionRule, RowRule, Stage
from tidegate.problems import Place
from tidegate.quality import CheckAnswer, CheckQuery, evaluate_checks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCE = "def most(column, least=0):\n    return column >= least"


def ask(session: SparkSession, least: int, described: str) -> tuple[CheckAnswer, ...]:
    rules = [RowRule(f"c{n} < {least}", "x", (f"c{n}",)) for n in range(10)]
    means = [AggregateRule((("value", f"avg(c{n})"),), "value", "value > 0", "x") for n in range(10)]
    columns = [ColumnName(f"c{n}") for n in range(3)]
    own = [
        FunctionRule("most", "checks/most.py", 1, SOURCE, (("column", c), ("least", least)), "x", (c.name,))
        for c in columns
    ]
    asked = [CheckQuery(Check("c", Stage.BEFORE_PUBLISH, Place("m.sql")), form) for form in (*rules, *means, *own)]
    session.sparkContext.setJobDescription(described)
    try:
        return evaluate_checks(session, "shop.silver.t", asked)
    finally:
        session.sparkContext.setLocalProperty("spark.job.description", None)


def scans(session: SparkSession, described: str) -> list[str]:
    """The scans in the plans of all queries with this description."""
    session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    store = session._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    found = []
    for execution in (executions.apply(place) for place in range(executions.size())):
        if execution.description() == described:
            nodes = store.planGraph(execution.executionId()).allNodes()
            found += [nodes.apply(place).name() for place in range(nodes.size())]
    return [name for name in found if "Scan" in name]


def test_spark_scans_once_for_twenty_checks_and_once_more_for_samples_of_those_that_fail(
    on_branch: Callable[[str], SparkSession],
) -> None:
    session = on_branch("run-1")
    session.sql("CREATE NAMESPACE shop")
    session.sql("CREATE NAMESPACE shop.silver")
    columns = ", ".join(f"id + {n} AS c{n}" for n in range(10))
    session.sql(f"CREATE TABLE shop.silver.t USING iceberg AS SELECT {columns} FROM range(0, 1000, 1, 4)")
    passing, failing = "one scan: all pass", "one scan: some fail"
    assert all(one.status == "passed" for one in ask(session, 0, passing))
    found = ask(session, 5, failing)
    assert [one.value for one in found[:10]] == [5, 4, 3, 2, 1, 0, 0, 0, 0, 0]
    assert [one.value for one in found[20:]] == [5, 4, 3]
    assert all(one.samples for one in (*found[:5], *found[20:]))
    assert len(scans(session, passing)) == 1
    assert len(scans(session, failing)) == 2
