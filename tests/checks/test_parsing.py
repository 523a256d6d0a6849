"""Calls as people write them."""

from __future__ import annotations

import pytest

from tidegate.checks.check_values import CheckCall
from tidegate.checks.parsing import MalformedCall, call_text, parse_call
from tidegate.problems import Severity


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("not_null(a)", "not_null", ("a",)),
        ("  row_count ( > , 0 )  ", "row_count", (">", "0")),
        ("own", "own", ()),
        ("own()", "own", ()),
        ("in_list(s, 'a, b')", "in_list", ("s", "a, b")),
        ("in_list(s, 'it''s')", "in_list", ("s", "it's")),
        ('matches(s, "[a-z](,x)")', "matches", ("s", "[a-z](,x)")),
        ("not_null(`order id`)", "not_null", ("order id",)),
        ("check(x, coalesce(a, 0) > 0)", "check", ("x", "coalesce(a, 0) > 0")),
        ("check(x, s = 'a' OR s = 'b, c')", "check", ("x", "s = 'a' OR s = 'b, c'")),
        ("check(x, 'a' = 'b')", "check", ("x", "'a' = 'b'")),
        ("like(s, '')", "like", ("s", "")),
        ("column_type(a, decimal(10,2))", "column_type", ("a", "decimal(10,2)")),
        ("freshness(t, 24h)", "freshness", ("t", "24h")),
        ("null_percent(a, 5%)", "null_percent", ("a", "5%")),
    ],
)
def test_arguments_are_what_stands_between_commas(text: str, name: str, arguments: tuple[str, ...]) -> None:
    call, severity = parse_call(text)
    assert (call.name, call.arguments) == (name, arguments)
    assert severity is None
    assert parse_call(call_text(call))[0] == call


def test_the_quotes_of_a_number_are_kept() -> None:
    call, _ = parse_call("between(zip, '0', 9)")
    assert (call.arguments, call.texts) == (("zip", "0", "9"), (1,))
    assert call_text(call) == "between(zip, '0', 9)"


def test_it_is_known_where_each_argument_begins() -> None:
    text = "in_list( status, 'a, b')"
    call, _ = parse_call(text, column=17)
    assert [text[column - 17] for column in call.columns] == ["s", "a"]


@pytest.mark.parametrize(("word", "severity"), [("warn", Severity.WARN), ("error", Severity.ERROR)])
def test_a_severity_may_follow(word: str, severity: Severity) -> None:
    assert parse_call(f"not_null(a) {word}") == (CheckCall("not_null", ("a",)), severity)
    assert parse_call(f"own {word}") == (CheckCall("own"), severity)


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("", 0, "is not a check"),
        ("> 5", 0, "is not a check"),
        ("not_null(a", 8, "parenthesis is not closed"),
        ("check(x, (a > 0)", 5, "parenthesis is not closed"),
        ("in_list(s, 'a)", 11, "quote ' is not closed"),
        ("between(a, 1,, 2)", 13, "single commas"),
        ("between(a, 1, )", 14, "single commas"),
        ("not_null(a) fatal", 12, "only warn or error"),
        ("not_null(a) and unique(a)", 12, "only warn or error"),
        ("not_null(a), unique(b)", 11, "on a line of its own"),
        ("not_null(a))", 11, "only warn or error"),
    ],
)
def test_what_is_no_call_is_told_with_its_place(text: str, offset: int, message: str) -> None:
    with pytest.raises(MalformedCall, match=message) as caught:
        parse_call(text)
    assert caught.value.offset == offset
