from __future__ import annotations

import pytest

from tests.compiler.columns import edge, relation
from tests.compiler.projects import compiled_models
from tidegate.compiler.changes.interface_changes import change_diagnostics, compare, type_change
from tidegate.compiler.changes.interfaces import Interface, Interfaces
from tidegate.compiler.compiled import Origin
from tidegate.compiler.lineage_graph import LineageGraph
from tidegate.datatypes import NOTHING_KNOWN, Relation, parse_type
from tidegate.names import TableName
from tidegate.project import Materialized

ORDERS = TableName("shop", "silver", "orders")


def state(
    columns: str | Relation = "id bigint!",
    strategy: str = "full_refresh",
    key: tuple[str, ...] | None = (),
    materialized: Materialized = Materialized.TABLE,
    partitioning: tuple[str, ...] | None = (),
    name: str = "orders",
) -> Interfaces:
    table = TableName("shop", "silver", name)
    known = relation(columns) if isinstance(columns, str) else columns
    return {table: Interface(table, known, strategy, key, materialized, partitioning)}


def told(before: Interfaces, after: Interfaces) -> list[str]:
    return [f"{change.impact}: {change.message}" for change in compare(before, after)]


TYPES = """
int            | bigint          | widened
bigint         | int             | narrowed
float          | double          | widened
int            | double          | widened
bigint         | double          | changed
int            | decimal(10,0)   | widened
int            | decimal(10,2)   | changed
decimal(10,2)  | decimal(12,2)   | widened
decimal(10,2)  | decimal(12,4)   | widened
decimal(10,2)  | decimal(10,4)   | changed
decimal(12,2)  | decimal(10,2)   | narrowed
int            | string          | changed
string         | int             | changed
date           | timestamp       | changed
timestamp      | timestamp_ntz   | changed
string         | string          | same
array<int>     | array<bigint>   | widened
array<bigint>  | array<int>      | narrowed
map<int,int>   | map<int,bigint> | widened
map<int,int>   | map<bigint,int> | changed
struct<a:int>  | struct<a:int,b:int> | widened
struct<a:int,b:int> | struct<a:int> | narrowed
struct<a:int,b:int> | struct<a:bigint> | changed
struct<a:int>  | struct<A:int>   | same
"""


@pytest.mark.parametrize("line", TYPES.strip().splitlines())
def test_a_type_is_wider_if_it_holds_every_value(line: str) -> None:
    before, after, expected = (cell.strip() for cell in line.split("|"))
    kinds = [parse_type(text) for text in (before, after)]
    assert kinds[0] is not None
    assert kinds[1] is not None
    assert type_change(kinds[0], kinds[1]) == expected


CHANGES = [
    ("id bigint", "id bigint", []),
    ("id bigint, a int", "id bigint", ["breaking: column 'a' is gone"]),
    ("id bigint", "ID bigint", []),
    ("id bigint", "id bigint, a int", ["info: column 'a' is new"]),
    ("id bigint", "id int", ["breaking: the type of column 'id' was narrowed from bigint to int"]),
    ("id int", "id string", ["breaking: the type of column 'id' changed from int to string"]),
    ("id int", "id bigint", ["info: the type of column 'id' was widened from int to bigint"]),
    ("id int?", "id int!", ["warning: column 'id' could be NULL and never is now"]),
    ("id int!", "id int?", ["info: column 'id' was never NULL and can be now"]),
    ("id int?", "id int", []),
    ("id int", "id", []),
    ("id", "id int", []),
    ("a int, b int, c int", "a int, c int, b int", ["warning: the columns are in another order, from 'c' on"]),
    ("a int, b int", "x int, a int, b int", ["info: column 'x' is new"]),
]


@pytest.mark.parametrize(("before", "after", "expected"), CHANGES)
def test_change_of_columns_has_its_class(before: str, after: str, expected: list[str]) -> None:
    assert told(state(before), state(after)) == expected


def test_change_of_the_table_has_its_class() -> None:
    merged = {"strategy": "incremental", "key": ("id", "line")}
    assert told(state(), state(strategy="append_only")) == [
        "breaking: the strategy was full_refresh and is append_only now"
    ]
    assert told(state(**merged), state(strategy="incremental", key=("id",))) == [
        "breaking: the key was id, line and is id now"
    ]
    assert told(state(**merged), state(strategy="incremental", key=("LINE", "id"))) == []
    assert told(state(key=None), state(key=("id",))) == []
    assert told(state(), state(materialized=Materialized.VIEW)) == ["breaking: the model was a table and is a view now"]
    assert told(state(partitioning=("day(at)",)), state()) == [
        "warning: the table was partitioned by day(at) and is by nothing now"
    ]
    assert told(state(partitioning=None), state(partitioning=("id",))) == []


def test_models_come_and_go() -> None:
    assert told(state(), {}) == ["breaking: the model is gone, so its table is no longer built"]
    assert told({}, state()) == ["info: the model is new"]


def test_an_ephemeral_model_has_no_readers_outside() -> None:
    ephemeral = {"materialized": Materialized.EPHEMERAL}
    assert told(state("a int", **ephemeral), state("b int", **ephemeral)) == []
    assert told(state(**ephemeral), {}) == []
    assert told({}, state(**ephemeral)) == []
    assert told(state(**ephemeral), state()) == ["info: the model is a table now and can be read by others"]
    assert told(state(), state(**ephemeral)) == ["breaking: the model was a table and is an ephemeral model now"]


def test_what_is_not_known_has_not_changed() -> None:
    assert told(state("a int, b int"), state(NOTHING_KNOWN)) == []
    assert told(state(NOTHING_KNOWN), state("a int, b int")) == []
    assert told(state("a int"), state(relation("a string", complete=False))) == [
        "breaking: the type of column 'a' changed from int to string"
    ]


def test_a_table_that_is_merged_into_keeps_its_own_order_of_columns() -> None:
    before, after = (state(columns, strategy="append_only") for columns in ("a int, b int", "b int, a int"))
    assert told(before, after) == []


def test_models_that_were_not_understood_are_left_aside() -> None:
    assert compare(state(), {}, unjudged={ORDERS}) == ()
    assert compare({}, state(), unjudged={ORDERS}) == ()


@pytest.mark.parametrize(
    ("after", "suggestion"),
    [
        ("custmer string", "did you rename it to 'custmer'?"),
        ("custmer int", None),
        ("elsewhere string", None),
    ],
)
def test_a_renamed_column_is_guessed_by_name_and_type(after: str, suggestion: str | None) -> None:
    gone = compare(state("customer string"), state(after))[0]
    assert (gone.column, gone.suggestion) == ("customer", suggestion)


def test_a_renamed_model_is_guessed_by_name_or_columns() -> None:
    near = compare(state("a int"), state("b int", name="order"))
    alike = compare(state("a int, b int"), state("b int, a int", name="purchases"))
    other = compare(state("a int"), state("b int", name="purchases"))
    suggestions = [[c.suggestion for c in changes if c.table == ORDERS] for changes in (near, alike, other)]
    assert suggestions == [["did you rename it to silver.order?"], ["did you rename it to silver.purchases?"], [None]]


GRAPH = LineageGraph(
    {
        "shop.gold.x": [edge("sum_a", "silver.orders.a"), edge("sum_b", "silver.orders.b")],
        "shop.gold.y": [edge("b", "gold.x.sum_b"), edge("c", "silver.orders.B")],
        "shop.gold.z": [edge("other", "silver.items.a")],
    },
    {"shop.gold.z": [Origin("shop.silver.orders", "b")]},
)


def test_a_change_knows_what_it_reaches() -> None:
    changes = compare(state("a int, b int, c int"), state("b bigint, c int, d int"), GRAPH.impact)
    assert {change.column: [(node.table, node.column) for node in change.reaches] for change in changes} == {
        "a": [("shop.gold.x", "sum_a")],
        "b": [("shop.gold.x", "sum_b"), ("shop.gold.y", "b"), ("shop.gold.y", "c"), ("shop.gold.z", None)],
        "d": [],
    }


def test_a_model_that_is_gone_reaches_what_any_of_its_columns_does() -> None:
    (whole,) = compare(state("a int, b int"), {}, GRAPH.impact)
    assert len(whole.reaches) == 5


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ("a int, b int", "; it reaches gold.x.sum_a, gold.x.sum_b, gold.y.b and 2 more"),
        ("a int", "; it reaches gold.x.sum_a"),
        ("b int", "; it reaches gold.x.sum_b, gold.y.b, gold.y.c and 1 more"),
        ("c int", "no longer built"),
    ],
)
def test_a_diagnostic_names_the_first_that_are_reached(columns: str, told: str) -> None:
    changes = compare(state(columns), {}, GRAPH.impact)
    (diagnostic,) = change_diagnostics(changes, compiled_models({}, ()))
    assert (diagnostic.severity, diagnostic.code, diagnostic.model) == ("error", "BreakingChange", "silver.orders")
    assert diagnostic.span is None
    assert diagnostic.message.endswith(told)


def test_rows_that_are_reached_are_called_so() -> None:
    rows = LineageGraph({}, {"shop.gold.z": [Origin("shop.silver.orders", "a")]})
    (diagnostic,) = change_diagnostics(compare(state("a int"), {}, rows.impact), compiled_models({}, ()))
    assert diagnostic.message.endswith("; it reaches the rows of gold.z")
