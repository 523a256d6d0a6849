"""The types of Spark for all expressions of tests/cases/types: by analysis alone, no job runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.compiler.analysis.expressions import COLUMNS, TABLE, TableScope, accepted, parsed, read, typed
from tidegate.compiler.analysis.expressions.calls import generator_columns
from tidegate.compiler.analysis.functions.lookup import FUNCTIONS, NAMES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructField

pytestmark = pytest.mark.spark

BATCH = 80
OPERATORS = frozenset("! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~".split())  # noqa: SIM905


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    child = spark.newSession()
    child.sql(TABLE).createOrReplaceTempView("t")
    return child


def answers(session: SparkSession, expressions: list[str]) -> list[StructField | None]:
    """One query for many; where it is refused, each half by itself. None: refused alone."""
    from pyspark.errors import AnalysisException, ParseException

    columns = ", ".join(f"{expression} AS c{place}" for place, expression in enumerate(expressions))
    try:
        return list(session.sql(f"SELECT {columns} FROM t").schema.fields)
    except (AnalysisException, ParseException):
        if len(expressions) == 1:
            return [None]
        half = len(expressions) // 2
        return answers(session, expressions[:half]) + answers(session, expressions[half:])


def test_the_recorded_types_are_sparks(session: SparkSession) -> None:
    cases = accepted()
    wrong = []
    for topic in sorted({case[0] for case in cases}):
        own = [case for case in cases if case[0] == topic]
        for start in range(0, len(own), BATCH):
            batch = own[start : start + BATCH]
            for (_, expression, kind, nullable), field in zip(
                batch, answers(session, [case[1] for case in batch]), strict=True
            ):
                said = (str(kind), nullable)
                if field is None or (field.dataType.simpleString(), field.nullable) != said:
                    wrong.append(f"{expression}: {field} instead of {said}")
    assert not wrong, "\n".join(wrong)


def test_what_is_recorded_as_refused_is_refused(session: SparkSession) -> None:
    taken = [expression for expression, _ in read("refused") if answers(session, [expression]) != [None]]
    assert not taken


def test_the_functions_are_exactly_sparks(session: SparkSession) -> None:
    names = {row[0] for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()} - OPERATORS
    assert names - NAMES == set()
    assert set(FUNCTIONS) - names == {"timestampadd", "timestampdiff"}


@pytest.mark.parametrize(
    "generator",
    [
        "explode(ints)",
        "explode(ages)",
        "explode_outer(words)",
        "posexplode(people)",
        "posexplode_outer(ages)",
        "inline(people)",
        "inline_outer(people)",
        "stack(2, 1, 'a', 2, 'b')",
        "stack(2, 1, 2, 3)",
        "json_tuple(s, 'a', 'b')",
        "variant_explode(doc)",
        "variant_explode_outer(doc)",
    ],
)
def test_generators_give_the_columns_that_spark_gives(session: SparkSession, generator: str) -> None:
    fields = session.sql(f"SELECT g.* FROM t, LATERAL {generator} AS g").schema.fields
    columns = generator_columns(parsed(generator), TableScope(COLUMNS))
    assert columns is not None
    assert [(c.name, str(c.type)) for c in columns] == [(f.name, f.dataType.simpleString()) for f in fields]
    for column, field in zip(columns, fields, strict=True):
        assert column.nullable in (None, field.nullable)


@pytest.mark.parametrize(
    "shape", ["{} = {}", "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "coalesce({}, {})", "{} || {}"]
)
def test_an_operator_agrees_on_every_pair_of_types_that_it_takes(session: SparkSession, shape: str) -> None:
    names = [name for name, column in COLUMNS.items() if column.nullable]
    fine = [e for a in names for b in names if not typed(e := shape.format(a, b))[1].findings]
    wrong = []
    for expression, field in zip(fine, answers(session, fine), strict=True):
        kind = typed(expression)[0].type
        if field is None or (kind.known and str(kind) != field.dataType.simpleString()):
            wrong.append(f"{expression}: {field} instead of {kind}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("shape", ["{} = {}", "{} + {}", "{} - {}"])
def test_an_operator_takes_no_pair_of_types_that_is_reported(session: SparkSession, shape: str) -> None:
    names = ["flag", "n", "price", "s", "on_day", "at_time", "gap", "gap_months", "old_gap", "nothing", "ints"]
    reported = [e for a in names for b in names if typed(e := shape.format(a, b))[1].findings]
    assert [expression for expression in reported if answers(session, [expression]) != [None]] == []
