"""Functions of a project in, conditions of rows out; what is wrong with one is told and breaks no other."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.checks.check_values import (
    AggregateRule,
    Argument,
    Check,
    CheckRule,
    ColumnName,
    FunctionRule,
    RowRule,
    Stage,
)
from tidegate.errors import QueryError
from tidegate.problems import Place
from tidegate.quality import CheckAnswer, CheckQuery, OwnFunctions, breaks, evaluate_checks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ROWS = "(SELECT * FROM VALUES (1, 'a', 5), (2, 'b', NULL), (3, 'b', -1), (4, NULL, -2) AS t(id, name, amount))"
COUNT = AggregateRule((("value", "count(*)"),), "value", "value = 4", "4 rows")


def rule(name: str, text: str, *columns: str, **others: Argument) -> FunctionRule:
    """`text`: the body of a file; its first function begins in line 3 or later."""
    source = f"from pyspark.sql import functions as f\n\n{text}"
    line = source[: source.index(f"def {name}")].count("\n") + 1
    arguments = (*((column, ColumnName(column)) for column in columns), *others.items())
    return FunctionRule(name, f"checks/{name}.py", line, source, arguments, "good", columns)


def ask(
    session: SparkSession, *forms: CheckRule, root: Path = Path("project"), **options: object
) -> tuple[CheckAnswer, ...]:
    asked = [CheckQuery(Check("c", Stage.BEFORE_PUBLISH, Place("m.sql")), form) for form in forms]
    return evaluate_checks(session, ROWS, asked, functions=OwnFunctions(root), **options)  # type: ignore[arg-type]


POSITIVE = rule("positive", "def positive(amount, least=0):\n    return amount > least\n", "amount")


def test_a_function_is_answered_with_the_other_rules_and_null_passes(spark: SparkSession) -> None:
    high = rule("high", "def high(amount, least=0):\n    return amount > least\n", "amount", least=-2)
    found = ask(spark, POSITIVE, COUNT, high, RowRule("id > 3", "few", ("id",)), keys=("id",))
    assert [(one.status, one.value) for one in found] == [("failed", 2), ("passed", 4), ("failed", 1), ("failed", 1)]
    assert sorted(found[0].samples, key=str) == [{"amount": -1, "id": 3}, {"amount": -2, "id": 4}]
    assert found[2].samples == ({"amount": -2, "id": 4},)


def test_a_single_function_is_sampled_too(spark: SparkSession) -> None:
    (found,) = ask(spark, POSITIVE)
    assert sorted(found.samples, key=str) == [{"amount": -1}, {"amount": -2}]


def test_a_function_may_use_other_columns_its_own_helpers_and_functions_for_workers(spark: SparkSession) -> None:
    text = """
from __future__ import annotations
from dataclasses import dataclass
from pyspark.sql import functions as f

@dataclass
class Bounds:
    least: int

@f.udf("boolean")
def fits(value):
    return value is None or value >= Bounds(-2).least

def helped(name):
    return fits(f.col("amount")) & (name.isin("a", "b") | name.isNull())
"""
    made = FunctionRule("helped", "checks/helped.py", 14, text, (("name", ColumnName("name")),), "good", ("name",))
    before = set(sys.modules)
    (found,) = ask(spark, made)
    assert (found.status, found.error) == ("passed", None)
    assert not [name for name in set(sys.modules) - before if "helped" in name]


WRONG = (
    ("import no_such_module\ndef {name}(id):\n    return id > 0", "checks/{name}.py:3: ModuleNotFoundError: "),
    ("raise SystemExit(3)\ndef {name}(id):\n    return id > 0", "checks/{name}.py:3: SystemExit: 3"),
    ("def {name}(id):\n    return help(id)\ndef help(x):\n    return {{}}[1]", "checks/{name}.py:6: KeyError: 1"),
    ("def {name}(id):\n    if id > 0:\n        return id", "checks/{name}.py:4: "),
    ("def {name}(id):\n    return True", "checks/{name}.py:3: {name} gives bool, not a Column"),
    ("def {name}(id):\n    pass", "checks/{name}.py:3: {name} gives NoneType, not a Column"),
    ("def {name}(id):\n    return id + 1", "checks/{name}.py:3: {name} gives int, not true or false"),
    ("def {name}(id):\n    return f.col('nope') > 1", "checks/{name}.py:3: "),
    ("def {name}(id):\n    return f.max(id) > 1", "checks/{name}.py:3: "),
    ("def {name}(id):\n    return f.explode(f.array(f.lit(True), f.lit(True)))", "checks/{name}.py:3: "),
    ("def {name}(id):\n    return f.raise_error('broken').cast('boolean')", "checks/{name}.py:3: "),
)
"""The text of a file, and how its error begins."""


def test_what_is_wrong_is_told_with_file_and_line_and_breaks_no_other(spark: SparkSession) -> None:
    names = [f"wrong_{number}" for number in range(len(WRONG))]
    rules = [rule(name, text.format(name=name), "id") for name, (text, _) in zip(names, WRONG, strict=True)]
    first, *found, last = ask(spark, POSITIVE, *rules, COUNT)
    assert (first.status, last.status) == ("failed", "passed")
    for name, (_, told), one in zip(names, WRONG, found, strict=True):
        assert (one.status, (one.error or "").startswith(told.format(name=name))) == ("error", True), one
        assert "Traceback" not in (one.error or "")
    assert not [view.name for view in spark.catalog.listTables() if view.name.startswith("tidegate_own")]


def test_a_file_is_loaded_once_also_where_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    counted = f"with open({str(tmp_path / 'loads')!r}, 'a') as file:\n    file.write('x')\n"
    good = rule("once", f"{counted}def once(id):\n    return id > 0", "id")
    bad = rule("never", f"{counted}raise ValueError('no')\ndef never(id):\n    return id > 0", "id")
    functions = OwnFunctions(tmp_path)
    asked = [CheckQuery(Check("c", Stage.BEFORE_PUBLISH, Place("m.sql")), form) for form in (good, bad)]
    for _ in range(2):
        found = evaluate_checks(spark, ROWS, asked, functions=functions)
        assert [one.status for one in found] == ["passed", "error"]
    assert (tmp_path / "loads").read_text() == "xx"


def test_an_interrupt_ends_checks_that_do_not_listen(spark: SparkSession) -> None:
    text = """
import signal, threading
def waits(id):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    threading.Event().wait()
"""
    with pytest.raises(KeyboardInterrupt):
        ask(spark, rule("waits", text, "id"))


def test_any_rule_about_rows_is_a_condition_that_is_never_null(spark: SparkSession) -> None:
    frame, functions = spark.sql(f"SELECT * FROM {ROWS}"), OwnFunctions(Path("project"))
    for each in (POSITIVE, RowRule("amount <= 0", "positive")):
        broken = frame.select("id", breaks(frame, each, functions).alias("broken")).collect()
        assert {row["id"]: row["broken"] for row in broken} == {1: False, 2: False, 3: True, 4: True}
    with pytest.raises(QueryError, match="not a Column") as caught:
        breaks(frame, rule("wrong", "def wrong(id):\n    return 1", "id"), functions)
    assert caught.value.where == "checks/wrong.py:3"
