"""Any text gives a diagnostic or an unknown result, never a crash."""

from __future__ import annotations

from typing import Any

import pytest

from tests.compiler.analysis.cases import parsed
from tidegate.compiler.analysis.analyze import RAISE_FAULTS, analyze
from tidegate.compiler.analysis.functions.lookup import NAMES
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, parse_query
from tidegate.datatypes import NOTHING_KNOWN

ARGUMENTS = (
    "",
    "*",
    "a",
    "a, b",
    "a, b, c, d",
    "null",
    "distinct a",
    "x -> x",
    "(select 1)",
    "t.*",
    "a order by b",
    "a => 1",
    "'a', 1, 'b'",
)


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_no_call_of_any_function_is_too_much(arguments: str) -> None:
    for name in sorted(NAMES):
        query = parse_query(f"select {name}({arguments}) as x from t")
        if isinstance(query, ParsedQuery):
            analyze(query.tree, {})
        else:
            assert query.code in ("SqlSyntax", "WrongArguments"), (name, query)


@pytest.mark.parametrize(
    ("sql", "word", "message"),
    [
        ("select map('a', 1, 'b')", "map", "map takes pairs of a key and a value, not 3"),
        ("select 1 as x, date_trunc() from t", "date_trunc", "date_trunc takes 2 arguments, not 0"),
        ("select hour(a), date_trunc('month') as m from t", "date_trunc", "date_trunc takes 2 arguments, not 1"),
    ],
)
def test_a_call_that_the_parser_cannot_read_is_reported_with_its_arguments(sql: str, word: str, message: str) -> None:
    fault = parse_query(sql)
    assert isinstance(fault, SqlFault)
    assert (fault.code, fault.message) == ("WrongArguments", message)
    assert sql[fault.offset :].startswith(word)


def test_a_name_with_a_list_of_columns_is_no_call() -> None:
    fault = parse_query("with map (a, b, c) as (select 1, 2, 3) select date_trunc() from map")
    assert isinstance(fault, SqlFault)
    assert fault.message == "date_trunc takes 2 arguments, not 0"


@pytest.mark.parametrize("sql", ["select and(*) from t", "select 1, or((select 1))"])
def test_a_parser_error_is_reported_at_its_place(sql: str) -> None:
    fault = parse_query(sql)
    assert isinstance(fault, SqlFault)
    assert fault.code == "SqlSyntax"
    assert fault.offset >= sql.index("(")


def broken() -> Any:
    """An invalid tree, on which the analysis fails."""
    tree = parsed("select a from t").tree
    tree.args["expressions"] = [object()]
    return tree


def test_a_fault_of_the_analysis_leaves_the_columns_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RAISE_FAULTS)
    analysis = analyze(broken(), {})
    assert analysis.relation == NOTHING_KNOWN
    assert (analysis.edges, analysis.conditions, analysis.findings) == ((), (), ())


def test_a_fault_of_the_analysis_is_raised_where_that_is_asked_for() -> None:
    with pytest.raises(AttributeError):
        analyze(broken(), {})
