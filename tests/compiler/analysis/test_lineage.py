"""Where columns come from: within one query, and through all models of a project."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.compiler.analysis.cases import CASES, Case, analyzed, read_cases, read_tables
from tests.compiler.projects import build
from tidegate.compiler.compiled import Edge, EdgeKind, Origin
from tidegate.compiler.lineage_graph import Branch, LineageGraph, LineageStep

FOLDER = CASES / "analysis"
TABLES = read_tables(FOLDER / "tables.txt")


@pytest.mark.parametrize("case", read_cases(FOLDER / "lineage.txt"), ids=lambda case: case.title)
def test_columns_come_from_these(case: Case) -> None:
    analysis = analyzed(case.sql, TABLES, "shop")
    shown = [f"= {e.column} <- {_short(e.origin)} {e.kind}" for e in analysis.edges]
    shown += [f"? {_short(origin)}" for origin in analysis.conditions]
    assert shown == list(case.expected)
    assert not [finding for finding in analysis.findings if finding.severity == "error"]


def _short(origin: Origin) -> str:
    return f"{origin.table}.{origin.column}".removeprefix("shop.")


def graph(text: str) -> LineageGraph:
    """Lines such as `c.x <- b.y cast`; `c ? b.z` is a condition of c."""
    edges: dict[str, list[Edge]] = {}
    conditions: dict[str, list[Origin]] = {}
    for line in text.split("\n"):
        words = line.split()
        if not words:
            continue
        origin = Origin(*words[2].split("."))
        if words[1] == "?":
            conditions.setdefault(words[0], []).append(origin)
        else:
            table, column = words[0].split(".")
            edges.setdefault(table, []).append(Edge(column, origin, EdgeKind(words[3])))
    return LineageGraph(edges, conditions)


DIAMOND = """
b.x <- a.id identity
c.y <- a.id cast
d.key <- b.x identity
d.key <- c.y identity
d.flag <- c.y condition
d.total <- b.amount aggregation
e.KEY <- d.Key window
d ? b.x
f ? d.key
"""


def steps(found: tuple[LineageStep, ...]) -> list[str]:
    return [f"{step.table}.{step.column or '*'} {step.kind} {step.depth}" for step in found]


def test_upstream_goes_through_all_models_and_reports_the_least_direct_path() -> None:
    found = graph(DIAMOND).upstream("e", "key")
    assert steps(found) == ["d.Key window 1", "b.x window 2", "c.y window 2", "a.id window 3"]
    assert steps(graph(DIAMOND).upstream("d", "key")) == ["b.x identity 1", "c.y identity 1", "a.id cast 2"]


def test_downstream_prefers_what_carries_the_value() -> None:
    assert steps(graph(DIAMOND).downstream("a", "ID")) == [
        "b.x identity 1",
        "c.y cast 1",
        "d.flag condition 2",
        "d.key cast 2",
        "e.KEY window 3",
    ]


def test_depth_limits_how_far() -> None:
    assert steps(graph(DIAMOND).downstream("a", "id", depth=1)) == ["b.x identity 1", "c.y cast 1"]
    assert graph(DIAMOND).upstream("e", "key", depth=0) == ()


def test_without_a_column_all_columns_of_the_table_count() -> None:
    assert steps(graph(DIAMOND).upstream("d", depth=1)) == [
        "b.amount aggregation 1",
        "b.x identity 1",
        "c.y identity 1",
    ]
    assert graph(DIAMOND).columns("d") == ("key", "flag", "total")


def test_impact_reports_columns_and_tables_whose_rows_change() -> None:
    assert steps(graph(DIAMOND).impact("b", "x")) == [
        "d.* condition 1",
        "d.key identity 1",
        "e.KEY window 2",
        "f.* condition 2",
    ]
    assert graph(DIAMOND).impact("e", "key") == ()


def test_a_table_that_reads_itself_does_not_go_round() -> None:
    itself = graph("a.n <- a.n expression\na.n <- raw.n identity\nb.m <- a.n identity")
    assert steps(itself.upstream("b", "m")) == ["a.n identity 1", "raw.n identity 2"]
    assert steps(itself.downstream("a", "n")) == ["b.m identity 1"]


def test_a_tree_shows_shared_columns_once() -> None:
    tree = graph(DIAMOND).upstream_tree("d", "key")
    shared = Branch("a", "id", EdgeKind.IDENTITY)
    assert tree == Branch(
        "d",
        "key",
        None,
        (
            Branch("b", "x", EdgeKind.IDENTITY, (shared,)),
            Branch("c", "y", EdgeKind.IDENTITY, (Branch("a", "id", EdgeKind.CAST),)),
        ),
    )
    down = graph(DIAMOND).downstream_tree("a", "id")
    first, second = down.branches
    assert not first.branches[0].repeated
    assert [branch.repeated for branch in second.branches if branch.column == "key"] == [True]
    assert graph(DIAMOND).downstream_tree("a", "id", depth=1).branches[0].branches == ()


def test_a_long_chain_of_models_is_followed_to_its_end() -> None:
    chain = graph("\n".join(f"m{i}.x <- m{i - 1}.x identity" for i in range(1, 5000)))
    branch, length = chain.upstream_tree("m4999", "x"), 0
    while branch.branches:
        branch, length = branch.branches[0], length + 1
    assert (branch.table, length) == ("m0", 4999)
    assert len(chain.downstream("m0", "x")) == 4999


def test_the_graph_of_a_compiled_project_reaches_through_its_models(tmp_path: Path) -> None:
    files = {
        "models/bronze/orders.sql": "select 1L as id, 'new' as status, 2.5 as amount",
        "models/silver/orders.sql": "select id, amount * 2 as twice from bronze.orders where status = 'new'",
        "models/gold/sums.sql": "with o as (select * from silver.orders) select id, sum(twice) total from o group by 1",
    }
    found = LineageGraph.of(build(tmp_path, files).compiled)
    assert steps(found.upstream("shop.gold.sums", "total")) == [
        "shop.silver.orders.twice aggregation 1",
        "shop.bronze.orders.amount aggregation 2",
    ]
    assert steps(found.impact("shop.bronze.orders", "status")) == ["shop.silver.orders.* condition 1"]


def test_ten_thousand_models_are_searched_in_a_moment() -> None:
    edges = {
        f"m{i}": [Edge(f"c{k}", Origin(f"m{i // 2}" if i else "raw", f"c{k}"), EdgeKind.IDENTITY) for k in range(10)]
        for i in range(10_000)
    }
    start = time.process_time()
    found = LineageGraph(edges, {}).impact("raw", "c3")
    assert len(found) == 10_000
    assert time.process_time() - start < 2
