"""The project's own checks that are not trusted: the same answers as in Tidegate's own process, and clear failures."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.projects import ProjectFolder
from tidegate.runs import RunResult

pytestmark = pytest.mark.spark

CHECKS = {
    "given": """
from datetime import timedelta
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as f

def given(
    column: Column,
    others: list[Column],
    text: str,
    ratio: Decimal,
    span: timedelta,
    words: list[str],
    strict: bool = True,
) -> Column:
    plain = text == "it's" and ratio == Decimal("0.10") and span == timedelta(minutes=90)
    plain = plain and words == ["a", "b"] and strict is False and len(others) == 2
    return f.lit(plain) & (column == others[0]) & f.expr("upper(name) = name")
""",
    "windowed": """
from pyspark.sql import Window
from pyspark.sql import functions as f

def windowed(column):
    return f.row_number().over(Window.orderBy(column)) > 0
""",
    "exploded": """
from pyspark.sql import functions as f

def exploded(column):
    return f.explode(f.array(f.lit(True)))
""",
    "text": """
def text(column):
    return "id > 0"
""",
    "raised": """
def helper(column):
    return column / 0 if column is None else [][0]

def raised(column):
    return helper(column)
""",
    "unknown": """
from pyspark.sql import functions as f

def unknown(column):
    return f.col("no_such_column") > 0
""",
    "small": """
def small(column, limit=10):
    return column < limit
""",
}
CALL = "given(id, 'id, amount', 'it''s', 0.10, 1h30m, 'a, b', false)"


def outcomes(shop: ProjectFolder) -> tuple[dict[str, tuple[object, ...]], RunResult]:
    for name, text in CHECKS.items():
        shop.file(f"checks/{name}.py", text.lstrip())
    shop.model("silver.a", "SELECT 1 AS id, 1 AS amount, 'X' AS name", constraint=CALL)
    for name in ("windowed", "exploded", "text", "raised", "unknown", "small"):
        shop.model(f"bad.{name}", "SELECT 20 AS id, 'x' AS name", audit=f"{name}(id)")
    rows = "SELECT * FROM VALUES (1), (20) AS t(id)"
    shop.model("silver.kept", rows, constraint="small(id)", quarantine="true")
    result = shop.run()
    return {one.model: (one.status, one.value, one.error) for one in result.check_results}, result


def test_answers_are_those_of_trusted_code(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> None:
    found = {}
    for mode in ("sandbox", "trusted"):
        shop = ProjectFolder(tmp_path_factory.mktemp(mode) / "shop", spark)
        toml = shop.root / "tidegate.toml"
        toml.write_text(toml.read_text() + f'\n[sandbox]\nmode = "{mode}"\n')
        found[mode], result = outcomes(shop)
        assert shop.rows("silver.kept") == [(1,)], result
    sandboxed, trusted = found["sandbox"], found["trusted"]
    assert sandboxed["silver.a"][:2] == ("passed", 0), sandboxed["silver.a"]
    assert {name: values[:2] for name, values in sandboxed.items()} == {
        name: values[:2] for name, values in trusted.items()
    }
    errors = {name.removeprefix("bad."): str(values[2]) for name, values in sandboxed.items() if values[2]}
    assert errors["text"].startswith("checks/text.py:1: text gives str, not a Column")
    assert errors["raised"].startswith("checks/raised.py:2: IndexError: list index out of range")
    assert "no_such_column" in errors["unknown"]
    assert errors["unknown"].startswith("checks/unknown.py:3: ")
