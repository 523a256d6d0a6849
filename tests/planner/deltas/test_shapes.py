"""The shapes of analytical queries over a star schema in which every table changes: which are updated from changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import DeltaQuery, InputTable
from tidegate.planner.deltas.rewrite import rewrite

SHAPES = Path(__file__).parents[2] / "cases" / "delta_shapes" / "star_schema.txt"
TABLES = {
    "sales": "id:long ticket:long day:int customer:int item:int store:int quantity:int price:decimal(7,2) "
    "profit:decimal(7,2)",
    "returns": "id:long ticket:long day:int customer:int item:int store:int paid:decimal(7,2)",
    "days": "id:int year:int month:int",
    "customers": "id:int name:string city:string",
    "items": "id:int brand:string class:string price:decimal(7,2)",
    "stores": "id:int state:string",
    "ranges": "id:int label:string low:int high:int",
}


def table(name: str) -> TableName:
    return TableName("shop", "silver", name)


def facts(columns: str) -> InputTable:
    types = dict(column.split(":", 1) for column in columns.split())
    return InputTable(tuple(types), (frozenset({"id"}),), changed=True, types=types)


def shapes() -> list[tuple[str, str, str]]:
    cases = []
    for text in SHAPES.read_text().split("=== ")[1:]:
        title, rest = text.split("\n", 1)
        query, outcome = rest.split("\n--- ")
        cases.append((title, query.strip(), outcome.strip()))
    return cases


@pytest.mark.parametrize(("title", "query", "outcome"), shapes(), ids=[title for title, _, _ in shapes()])
def test_a_shape_is_updated_from_changes_or_not(title: str, query: str, outcome: str) -> None:
    sql = re.sub(r"\{(\w+)\}", lambda found: table(found[1]).quoted, query)
    delta = rewrite(sql, {table(name): facts(columns) for name, columns in TABLES.items()}, holds_result=True)
    assert ("delta" if isinstance(delta, DeltaQuery) else f"refused: {delta.construct}") == outcome, title
