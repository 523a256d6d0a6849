from __future__ import annotations

import pytest

from tidegate.quality.check_queries import mentioned, renamed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value > 5", "__a0 > 5"),
        ("NOT isnan(value) AND value >= 1.5e3", "NOT isnan(__a0) AND __a0 >= 1.5e3"),
        ("value(value)", "value(__a0)"),
        ("'value' || value", "'value' || __a0"),
        (r"'it\'s value' = value", r"'it\'s value' = __a0"),
        ("'it''s value' = value", "'it''s value' = __a0"),
        ("`value` = value", "`value` = __a0"),
        ("t.value = value", "t.value = __a0"),
        ("values + value2 + past_value", "values + value2 + past_value"),
        ("total / value", "__a1 / __a0"),
        ("2value + value", "2value + __a0"),
    ],
)
def test_names_are_replaced_only_where_they_are_names(text: str, expected: str) -> None:
    assert renamed(text, {"value": "__a0", "total": "__a1"}) == expected


def test_names_that_are_swapped_are_each_replaced_once() -> None:
    assert renamed("a - b", {"a": "b", "b": "a"}) == "b - a"


def test_columns_are_found_in_whatever_way_they_are_written() -> None:
    columns = ("id", "Amount", "odd name", "other")
    assert mentioned("ID > 1 AND `amount` < 2 AND `odd name` = 'other'", columns) == ("id", "Amount", "odd name")


def test_words_of_sql_and_functions_are_columns_in_backquotes_only() -> None:
    columns = ("and", "is", "null", "left", "n")
    assert mentioned("left(n, 1) IS NULL AND n > 0", columns) == ("n",)
    assert mentioned("`left` IS NULL OR left > `null`", columns) == ("null", "left")
