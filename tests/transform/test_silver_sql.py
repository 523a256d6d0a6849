"""What the stages of silver make of a contract before any row is read."""

from __future__ import annotations

from typing import Any

import pytest

from tidegate.contracts.ingestion import QualityRule, SilverColumn, SilverRules
from tidegate.contracts.time_formats import java_pattern
from tidegate.errors import QueryError
from tidegate.sql_literals import at_the_very_end
from tidegate.transform.silver.json_text import group_paths
from tidegate.transform.silver.row_logic import inputs_of
from tidegate.transform.silver.row_uniqueness import deduplicated_by
from tidegate.transform.silver.sql_rules import operator_fails, read_rule
from tidegate.transform.silver.text_casts import column_cast
from tidegate.transform.silver.value_rules import column_rules

COLUMNS = (SilverColumn("id", "int"), SilverColumn("amount", "decimal(5,2)"))
_OF_ITS_OWN = "WITH orders AS (SELECT 1 AS id) SELECT id FROM orders"
RULES = SilverRules("orders", "sales_orders", COLUMNS, ("id",), "current_state")


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("yyyy-MM-dd", "yyyy-MM-dd"),
        ("YYYY-MM-DD", "yyyy-MM-dd"),
        ("yyyy-MM-ddTHH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss"),
        ("yyyy-MM-dd'T'HH:mm", "yyyy-MM-dd'T'HH:mm"),
        ("HH:mm:ssZ", "HH:mm:ss[XXX][XX]"),
        ("YYYY-MM-DDTHH:mm:ss.SSSZ", None),
    ],
)
def test_formats_of_contracts_are_read_as_java_patterns(written: str, pattern: str | None) -> None:
    assert java_pattern(written) == pattern


def test_a_format_with_a_letter_that_spark_does_not_read_is_refused() -> None:
    with pytest.raises(ValueError, match="the format 'yyyy-JJ' has the letter 'J'"):
        java_pattern("yyyy-JJ")


def test_paths_into_one_column_share_a_parse_unless_they_contradict() -> None:
    paths = [
        ("p", "a", "b"),
        ("p", "a"),
        ("p", "a", "c"),
        ("p", "l", "0", "x"),
        ("p", "l", "1"),
        ("q", "a"),
        ("p", "A"),
    ]
    groups = group_paths(paths)
    assert [(group.source, group.root.shape().text) for group in groups] == [
        ("p", "struct<a:struct<b:string,c:string>,l:array<struct<x:string>>>"),
        ("p", "struct<a:string,l:array<string>>"),
        ("q", "struct<a:string>"),
        ("p", "struct<A:string>"),
    ]
    assert all(any(group.source == path[0] and group.answers(path[1:]) for group in groups) for path in paths)


@pytest.mark.parametrize(
    ("operator", "value", "operand", "fails"),
    [
        ("mustBe", 0, 0, False),
        ("mustBe", 1, 0, True),
        ("mustBe", None, 0, True),
        ("mustBe", "a", "a", False),
        ("mustNotBe", 1, 0, False),
        ("mustBeGreaterThan", 1, 1, True),
        ("mustBeGreaterOrEqualTo", 1, 1, False),
        ("mustBeLessThan", 0.5, 1, False),
        ("mustBeLessOrEqualTo", 2, 1, True),
        ("mustBeBetween", 1, [1, 2], False),
        ("mustBeBetween", 3, [1, 2], True),
        ("mustNotBeBetween", 3, [1, 2], False),
        ("mustNotBeBetween", 2, [1, 2], True),
    ],
)
def test_operators_compare_the_value_of_a_rule(operator: str, value: Any, operand: Any, fails: bool) -> None:
    assert operator_fails(operator, value, operand, "rule") is fails


def test_an_operator_that_is_not_known_is_refused() -> None:
    with pytest.raises(QueryError, match="mustBeNice"):
        operator_fails("mustBeNice", 1, 1, "rule")


@pytest.mark.parametrize(
    ("query", "text", "is_select"),
    [
        ("amount < 0", "amount < 0", False),
        ("SELECT id FROM ${object} WHERE amount < 0", "SELECT id FROM `v` WHERE amount < 0", True),
        ("-- all\nSELECT count(*) FROM {table}", "SELECT count(*) FROM `v`", True),
        ("SELECT o.id FROM silver.sales_orders AS o", "SELECT o.id FROM `v` AS o", True),
        ("SELECT id FROM orders", "SELECT id FROM `v` AS `orders`", True),
        (
            "WITH orders AS (SELECT 1 AS id) SELECT id FROM orders",
            "WITH orders AS (SELECT 1 AS id) SELECT id FROM orders",
            True,
        ),
    ],
)
def test_names_of_the_object_stand_for_the_valid_rows(query: str, text: str, is_select: bool) -> None:
    rule = read_rule(QualityRule("r", query), RULES, "v")
    assert (rule.text, rule.is_select) == (text, is_select)


def test_the_inputs_of_logic_are_the_silver_columns_that_it_reads() -> None:
    assert inputs_of("concat(B, 'a', upper(c)) -- d", ["a", "b", "c", "d"]) == ("b", "c")


@pytest.mark.parametrize(
    ("strategy", "columns"),
    [("current_state", ("id",)), ("history", ("id", "_commit_time")), ("append", ()), ("snapshot", ())],
)
def test_strategies_deduplicate_on_the_key_or_not(strategy: str, columns: tuple[str, ...]) -> None:
    assert deduplicated_by(SilverRules("o", "o", COLUMNS, ("id",), strategy)) == columns


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (SilverColumn("n", "int", options={"minimum": "low"}), "minimum low of column 'n'"),
        (SilverColumn("n", "int", allowed=("a",)), "enum a of column 'n'"),
        (SilverColumn("n", "date", options={"maximum": "soon"}), "maximum soon of column 'n'"),
        (SilverColumn("n", "string", options={"maxLength": "3"}), "maxLength 3 of column 'n'"),
        (SilverColumn("n", "int", options={"multipleOf": 0}), "multipleOf 0 of column 'n'"),
        (
            SilverColumn("n", "timestamp", options={"defaultTimezone": "Mars/North"}),
            "column 'n' cannot be read: the defaultTimezone 'Mars/North'",
        ),
        (SilverColumn("n", "text(3"), "'text\\(3', the type of column 'n'"),
    ],
)
def test_a_contract_that_cannot_be_followed_is_refused(column: SilverColumn, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        column_rules(column_cast(column, "UTC"), "v")


@pytest.mark.parametrize(
    ("pattern", "for_java"),
    [
        ("^[A-Z$]+$", r"^[A-Z$]+\z"),
        (r"\$[0-9]+(x|$)", r"\$[0-9]+(x|\z)"),
        ("(?m)^a$", "(?m)^a$"),
        (r"[\]$]$", r"[\]$]\z"),
    ],
)
def test_the_end_of_a_pattern_is_not_before_a_last_line_break(pattern: str, for_java: str) -> None:
    assert at_the_very_end(pattern) == for_java


def test_a_pattern_that_takes_stack_is_not_searched_for_in_long_values() -> None:
    def rule(**options: Any) -> str:
        column = SilverColumn("text", "string", ("text",), options=options)
        return next(r.breaks for r in column_rules(column_cast(column, "UTC"), "v") if r.name == "pattern")

    assert rule(pattern="^(a|aa)+$").startswith("CASE WHEN char_length(v) > 2000 THEN true ELSE NOT v RLIKE")
    assert rule(pattern="^(a|aa)+$", maxLength=9).startswith("char_length(v) <= 2000 AND NOT v RLIKE")
    assert rule(pattern="^a+(b)$").startswith("NOT v RLIKE")
