"""Syntax that only Spark reads is rewritten for the parser; positions stay those of the text."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp

from tests.compiler.analysis.cases import parsed
from tidegate.compiler.analysis.query_tokens import WrittenCall, written_calls
from tidegate.compiler.query_facts import facts_of
from tidegate.compiler.sql.queries import ParsedQuery, parse_query


def spaced(sql: str) -> str:
    """Each sign for itself, as each is a token."""
    return re.sub(r"(::|[<>(),.:\[\]])", r" \1 ", sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select a >>> b as c, d from t",
        "select cast(a as array<array<array<int>>>) as c, d from t",
        "select a::struct<x:map<int,array<int>>> as c, e >>> 1, d from t",
        "select x 'ff' as c, d from t",
        "select any(distinct a) as c, d from t",
        "select doc:a.b[0]::int as c, d from t",
        "select e.doc:['a'] as c, d from t e",
        "with q as (table t) select current_date as c, d from q",
        "select current_user, d from t group by window(a, '1 day'), d",
    ],
)
def test_columns_and_tables_are_where_they_are_written(sql: str) -> None:
    query = parsed(sql)
    for name in query.tree.find_all(exp.Identifier):
        if "start" in name.meta:
            assert sql[name.meta["start"] : name.meta["end"] + 1] == name.name
    assert [(sql[r.start : r.end], r.parts) for r in query.references] == [("t", ("t",))]
    assert " ".join(sql[t.start : t.end + 1] for t in query.tokens).split() == spaced(sql).split()


@pytest.mark.parametrize("sql", ["table s.t", "(table s.t) union all table s.t", "with a as (select 1) table s.t"])
def test_table_is_a_query_that_reads_one(sql: str) -> None:
    assert {r.parts for r in parsed(sql).references} == {("s", "t")}


def test_a_word_that_is_put_otherwise_counts_as_it_is_written() -> None:
    one, other = (parsed(f"select {word} as d from t") for word in ("current_date", "CURRENT_DATE"))
    assert facts_of(one, ()).words == facts_of(other, ()).words


def test_calls_are_listed_with_their_number_of_arguments() -> None:
    sql = "with c (a, b) as (select f(g(1, 2), 3), h() from t) select k(*) as x, s.m(1) from c"
    query = parse_query(sql)
    assert isinstance(query, ParsedQuery)
    calls = written_calls(query.tokens)
    found = {call.name: call for call in calls.values()}
    assert {name: call.arguments for name, call in found.items()} == {
        "c": 2,
        "g": 2,
        "f": 2,
        "h": 0,
        "as": 2,
        "k": 1,
        "m": 1,
    }
    assert {name for name, call in found.items() if not call.certain} >= {"c", "m"}
    assert found["k"] == WrittenCall("k", 1, sql.index("k("), True)
