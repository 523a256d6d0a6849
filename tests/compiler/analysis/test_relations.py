"""The columns of whole queries, and the errors in them; each case of tests/cases/analysis is one query."""

from __future__ import annotations

import time

import pytest

from tests.compiler.analysis.cases import CASES, Case, analyzed, parsed, read_cases, read_tables
from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import Analysis, QuerySource
from tidegate.compiler.compiled import Edge, EdgeKind, Origin
from tidegate.datatypes import ANY, BIGINT, Column, Relation

FOLDER = CASES / "analysis"
TABLES = read_tables(FOLDER / "tables.txt")


def columns(analysis: Analysis) -> list[str]:
    shown = [f"= {c.name} {c.type}{' not null' if c.nullable is False else ''}" for c in analysis.relation.columns]
    return shown if analysis.relation.complete else [*shown, "= …"]


@pytest.mark.parametrize("case", read_cases(FOLDER / "columns.txt"), ids=lambda case: case.title)
def test_a_query_has_these_columns(case: Case) -> None:
    analysis = analyzed(case.sql, TABLES, "shop")
    assert columns(analysis) == list(case.expected)
    assert not [f for f in analysis.findings if f.code not in ("DuplicateColumn", "UnknownStar")]


@pytest.mark.parametrize("case", read_cases(FOLDER / "findings.txt"), ids=lambda case: case.title)
def test_a_query_gives_exactly_these_findings(case: Case) -> None:
    found = analyzed(case.sql, TABLES, "shop").findings
    assert len(found) == len(case.expected), found
    for finding, line in zip(found, case.expected, strict=True):
        head, _, suggestion = line.removeprefix("! ").partition(" -> ")
        head, _, message = head.partition(": ")
        severity, code, word = head.split(" ")
        assert (finding.severity, finding.code) == (severity, code), finding
        assert case.sql[finding.offset :].startswith(word), case.sql[finding.offset :]
        assert message in finding.message
        assert suggestion in (finding.suggestion or "")


def test_a_table_that_is_not_among_the_sources_is_not_known() -> None:
    query = parsed("select a, b.c from x.y join silver.orders b on b.k = y.k")
    analysis = analyze(query.tree, {})
    assert analysis.relation == Relation((Column("a"), Column("c")))
    assert (analysis.edges, analysis.findings) == ((), ())


def test_a_column_whose_name_is_not_certain_has_none_and_gives_no_errors() -> None:
    analysis = analyzed("select date_format(day, 'yyyy') from silver.orders", TABLES, "shop")
    assert analysis.relation.complete
    assert [c.name for c in analysis.relation.columns] == [""]
    upstream = {"shop.silver.days": analysis.relation}
    assert analyzed("select anything, d.what from silver.days d", upstream, "shop").findings == ()
    assert [c.name for c in analyzed("select * from silver.days", upstream, "shop").relation.columns] == [""]


def test_a_word_that_may_be_a_call_comes_from_the_table_that_is_not_known() -> None:
    analysis = analyzed("select user, id from bronze.events", {}, "shop")
    assert columns(analysis) == ["= user ?", "= id ?"]
    assert analysis.edges[0] == Edge("user", Origin("shop.bronze.events", "user"), EdgeKind.IDENTITY)
    downstream = analyzed(
        "select e.user, user as u from silver.events e", {"shop.silver.events": analysis.relation}, "shop"
    )
    assert columns(downstream) == ["= user ?", "= u ?"]
    assert downstream.findings == ()


def test_names_of_relations_do_not_count_by_case() -> None:
    analysis = analyzed("WITH A AS (SELECT Id FROM Silver.Orders) SELECT a.ID FROM A", TABLES, "shop")
    assert columns(analysis) == ["= ID bigint not null"]
    assert analysis.findings == ()


def test_functions_of_ones_own_are_not_unknown() -> None:
    query = parsed("select my_own(1) as x")
    assert analyze(query.tree, {}, frozenset({"my_own"})).findings == ()
    assert [f.code for f in analyze(query.tree, {}).findings] == ["UnknownFunction"]


def test_a_type_that_is_not_known_stays_unknown() -> None:
    tables = {"shop.silver.x": Relation((Column("a", ANY), Column("b", BIGINT)))}
    analysis = analyzed("select a, a.f, b + a as c, a = b as d from silver.x", tables, "shop")
    assert columns(analysis) == ["= a ?", "= f ?", "= c ?", "= d boolean"]
    assert analysis.findings == ()


def test_a_long_chain_of_unions_and_of_conditions_is_understood() -> None:
    union = " union all ".join(["select id from silver.orders"] * 400)
    assert columns(analyzed(union, TABLES, "shop")) == ["= id bigint not null"]
    many = " + ".join(["id"] * 150)
    assert columns(analyzed(f"select {many} as x from silver.orders", TABLES, "shop")) == ["= x bigint not null"]


def test_a_thousand_queries_take_a_moment() -> None:
    sql = """
    with recent as (select o.*, row_number() over (partition by customer_id order by ordered_at desc) as place
      from silver.orders o where status <> 'x'),
    spent as (select customer_id, sum(amount) as total, count(*) as n from recent where place < 10 group by customer_id)
    select c.id, upper(c.name) as name, coalesce(s.total, 0) as total, if(s.n > 5, 'many', 'few') as kind
    from silver.customers c left join spent s on s.customer_id = c.id
    """
    query = parsed(sql)
    tables = {r.node: TABLES["shop." + ".".join(r.parts)] for r in query.references}
    sources = {id(node): QuerySource(f"shop.silver.{node.name}", relation) for node, relation in tables.items()}
    analyze(query.tree, sources)
    start = time.process_time()
    for _ in range(1000):
        analyze(query.tree, sources)
    assert time.process_time() - start < 3
