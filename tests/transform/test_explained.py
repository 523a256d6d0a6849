"""What is said of a query that Spark refused: the sentence, the line of the model's file and the remedy."""

from __future__ import annotations

import pytest

from tidegate.transform.frames import QueryInputs, explain, source_line

HEADER = "-- @merge_strategy: append_only\n-- @constraint: not_null(id)\n\n-- @constraint: compare(id, >, 0)\n"
SOURCE = HEADER + "SELECT id FROM {{ landing_zone('pay') }}\nWHERE cast(amount as int) >= 0\n"
SQL = HEADER + "SELECT id FROM `__landing_0` AS `pay`\nWHERE cast(amount as int) >= 0"
CAST = "cast(amount as int)"
MALFORMED = 'The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed.'


class _Context:
    def __init__(self, fragment: str) -> None:
        self._fragment = fragment

    def fragment(self) -> str:
        return self._fragment


class SparkRefused(Exception):
    """As PySpark raises it, without a JVM."""

    def __init__(self, message: str, fragment: str) -> None:
        super().__init__(message)
        self.contexts = [_Context(fragment)]

    def getQueryContext(self) -> list[_Context]:
        return self.contexts


def refused(line: int, fragment: str = CAST) -> SparkRefused:
    message = (
        f"[CAST_INVALID_INPUT] {MALFORMED} SQLSTATE: 22018\n== SQL (line {line}, position 7) ==\nWHERE {fragment}\n"
    )
    return SparkRefused(message, fragment)


@pytest.mark.parametrize("line", [4, 6], ids=["another statement", "the query itself"])
def test_the_line_is_where_the_fragment_stands_in_the_model(line: int) -> None:
    explained = explain(refused(line), SQL, SOURCE, "models/bronze/pay.sql")
    assert (explained.message, explained.where) == (MALFORMED, "models/bronze/pay.sql:6")


@pytest.mark.parametrize(
    ("sql", "source", "line", "fragment", "found"),
    [
        ("SELECT 1\nFROM `a`.`b`.`c`", "SELECT 1\nFROM b.c", 2, None, 2),
        ("SELECT 1 / 0", "{% set x = 1 -%}\nSELECT {{ x }} / 0", 1, "1 / 0", None),
        ("SELECT 1,\n  2 / 0", "{% set x = 1 -%}\nSELECT {{ x }},\n  2 / 0", 2, "2 / 0", 3),
        ("SELECT 1 / 0,\n1 / 0", "SELECT 1 / 0,\n1 / 0", 2, "1 / 0", 2),
        ("SELECT 1 / 0,\n1 / 0", "SELECT 1 / 0,\n1 / 0", 7, "1 / 0", None),
        ("SELECT 1", "SELECT 1", 1, "a / 0", None),
        ("SELECT d.id FROM d WHERE cast(amount as int) >= 0", SOURCE, 1, CAST, 6),
        (
            "SELECT d.id\nFROM d\nWHERE 1 / d.z > 0",
            "-- @a: b\n-- @c: d\nSELECT id FROM d WHERE 1 / z > 0",
            2,
            None,
            None,
        ),
        ("SELECT 1", "SELECT 1", 9, None, None),
        ("SELECT 1", "SELECT 1", None, None, None),
        ("SELECT cast(a as int)", "SELECT cast(a as int)", None, "cast", None),
    ],
)
def test_a_line_that_cannot_be_known_is_not_guessed(
    sql: str, source: str, line: int | None, fragment: str | None, found: int | None
) -> None:
    assert source_line(sql, source, line, fragment) == found


@pytest.mark.parametrize(
    ("inputs", "advice"),
    [
        (QueryInputs(), ""),
        (QueryInputs(("bronze.a",)), "Look at the rows that it reads with `tidegate preview bronze.a`."),
        (QueryInputs((), ("pay",)), "Look at the rows that it reads in the files of landing zone 'pay'."),
        (
            QueryInputs(("bronze.a", "bronze.b"), ("pay",)),
            (
                "Look at the rows that it reads with `tidegate preview bronze.a` or `tidegate preview bronze.b` "
                "and in the files of landing zone 'pay'."
            ),
        ),
    ],
)
def test_the_remedy_names_what_the_query_reads(inputs: QueryInputs, advice: str) -> None:
    assert inputs.advice == advice
