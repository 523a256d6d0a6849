"""`tidegate lineage`: trees, drawings and documents of one model or column."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.compiler.projects import build, table
from tidegate.cli.commands.lineage import dot_lines, mermaid_lines, text_lines
from tidegate.compiler.compiled import Compiled, Edge, EdgeKind, Origin
from tidegate.compiler.lineage_graph import LineageGraph
from tidegate.datatypes import BIGINT, DATE, STRING, Column, Relation
from tidegate.errors import SelectionError
from tidegate.operations.lineage import Direction, LineageView, find_target, view
from tidegate.state import ModelRunRecord, RunRecord, open_state

FILES = {
    "landing/orders/": "",
    "models/bronze/orders.sql": "SELECT * FROM {{ landing_zone('orders') }}\n",
    "models/silver/orders.sql": "SELECT id, CAST(day AS DATE) AS day, n FROM bronze.orders WHERE status = 'paid'\n",
    "models/gold/days.sql": "SELECT day, sum(n) AS n, count(*) AS rows FROM silver.orders GROUP BY day\n",
    "models/gold/odd.sql": "SELECT n + id AS x FROM silver.orders\n",
}


def edge(column: str, source: str, kind: EdgeKind) -> Edge:
    key, _, name = source.rpartition(".")
    return Edge(column, Origin(key, name), kind)


def relation(**columns: object) -> Relation:
    return Relation(tuple(Column(name, type_) for name, type_ in columns.items()))  # type: ignore[arg-type]


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """A real project, with what is known of its columns put in by hand: here it is about how that is shown."""
    found = build(tmp_path, FILES).compiled
    bronze, silver = "shop.bronze.orders", "shop.silver.orders"
    known = {
        "bronze.orders": {
            "relation": relation(id=BIGINT, day=STRING, n=BIGINT, status=STRING),
            "edges": tuple(edge(n, f"landing:orders.{n}", EdgeKind.IDENTITY) for n in ("id", "day", "n", "status")),
            "conditions": (),
        },
        "silver.orders": {
            "relation": relation(id=BIGINT, day=DATE, n=BIGINT),
            "edges": (
                edge("id", f"{bronze}.id", EdgeKind.IDENTITY),
                edge("day", f"{bronze}.day", EdgeKind.CAST),
                edge("n", f"{bronze}.n", EdgeKind.IDENTITY),
            ),
            "conditions": (Origin(bronze, "status"),),
        },
        "gold.days": {
            "relation": relation(day=DATE, n=BIGINT, rows=BIGINT),
            "edges": (
                edge("day", f"{silver}.day", EdgeKind.IDENTITY),
                edge("n", f"{silver}.n", EdgeKind.AGGREGATION),
            ),
            "conditions": (Origin(silver, "day"),),
        },
        "gold.odd": {
            "relation": relation(x=BIGINT),
            "edges": (
                edge("x", f"{silver}.n", EdgeKind.EXPRESSION),
                edge("x", f"{silver}.id", EdgeKind.EXPRESSION),
                edge("x", f"{bronze}.n", EdgeKind.CONDITION),
            ),
            "conditions": (),
        },
    }
    models = {name: replace(model, **known[name.short("shop")]) for name, model in found.models.items()}  # type: ignore[arg-type]
    return replace(found, models=models)


Show = Callable[..., LineageView]


@pytest.fixture
def show(compiled: Compiled) -> Show:
    graph = LineageGraph.of(compiled)

    def shown(name: str, direction: Direction = Direction.UP, depth: int | None = None) -> LineageView:
        return view(compiled, graph, find_target(name, compiled, graph), direction, depth)

    return shown


def test_a_column_is_a_tree_of_what_it_comes_from_to_the_end(show: Show) -> None:
    assert list(text_lines(show("gold.days.n"))) == [
        "gold.days.n  bigint",
        "└─ silver.orders.n  (aggregation)",
        "   └─ bronze.orders.n  (identity)",
        "      └─ landing:orders.n  (identity)",
        "",
        "which rows gold.days has is decided by: silver.orders.day",
    ]


def test_what_is_shared_is_shown_once(show: Show) -> None:
    assert list(text_lines(show("gold.odd.x"))) == [
        "gold.odd.x  bigint",
        "├─ silver.orders.n  (expression)",
        "│  └─ bronze.orders.n  (identity)",
        "│     └─ landing:orders.n  (identity)",
        "├─ silver.orders.id  (expression)",
        "│  └─ bronze.orders.id  (identity)",
        "│     └─ landing:orders.id  (identity)",
        "└─ bronze.orders.n  (condition, shown above)",
    ]


def test_a_column_downstream_is_what_is_made_of_it_and_whose_rows_it_decides(show: Show) -> None:
    assert list(text_lines(show("bronze.orders.day", Direction.DOWN))) == [
        "bronze.orders.day  string",
        "└─ silver.orders.day  (cast)",
        "   └─ gold.days.day  (identity)",
        "",
        "it decides which rows these have: gold.days",
    ]
    assert list(text_lines(show("landing:orders.status", Direction.DOWN)))[-1].endswith("silver.orders")


def test_a_model_is_its_columns_with_their_next_step(show: Show) -> None:
    assert list(text_lines(show("gold.days"))) == [
        "gold.days",
        "  reads: silver.orders",
        "  day  date",
        "  └─ silver.orders.day  (identity)",
        "  n  bigint",
        "  └─ silver.orders.n  (aggregation)",
        "  rows  bigint",
        "",
        "which rows gold.days has is decided by: silver.orders.day",
    ]


def test_a_table_that_keeps_versions_has_their_columns_too(project: Path, tidegate: Call) -> None:
    (project / "models/silver").mkdir(parents=True)
    (project / "models/gold").mkdir()
    (project / "models/silver/customers.sql").write_text(
        "-- @kind: scd2\n-- @unique_key: id\nSELECT 1 AS id, 'Ada' AS name\n"
    )
    (project / "models/gold/now.sql").write_text("SELECT valid_from AS since FROM silver.customers WHERE is_current\n")
    told = tidegate("lineage", "silver.customers", "--down").out
    assert "  valid_from  timestamp\n  └─ gold.now.since  (identity)\n" in told
    assert told.endswith("it decides which rows these have: gold.now\n")
    assert tidegate("lineage", "gold.now.since").out == (
        "gold.now.since  timestamp\n└─ silver.customers.valid_from  (identity)\n\n"
        "which rows gold.now has is decided by: silver.customers.is_current\n"
    )


def test_depth_limits_the_way(show: Show) -> None:
    assert len(list(text_lines(show("gold.days.n", depth=2)))) == 5
    assert "      └─ bronze.orders.n" not in "\n".join(text_lines(show("gold.days.n", depth=1)))
    assert "landing:orders.day" in "\n".join(text_lines(show("gold.days", depth=3)))


def test_a_column_that_comes_from_none_says_so(show: Show) -> None:
    assert list(text_lines(show("gold.days.rows")))[1] == "└─ comes from no column that is known"
    assert list(text_lines(show("gold.days.rows", Direction.DOWN)))[1] == "└─ is in nothing that is known"


@pytest.mark.parametrize("name", ["silver.orders.N", "shop.silver.orders.n", "SILVER.ORDERS.`n`"])
def test_a_column_is_found_under_each_of_its_spellings(show: Show, name: str) -> None:
    found = show(name)
    assert (found.table, found.column) == ("silver.orders", "n")


@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [
        ("silver.order", "There is no model 'silver.order'", "Did you mean silver.orders?"),
        ("days", "There is no model 'days'", "Did you mean gold.days?"),
        ("silver.ordes.n", "There is no model 'silver.ordes.n'", "Did you mean silver.orders?"),
        ("silver.orders.dya", "silver.orders has no column 'dya'", "Did you mean day?"),
        ("silver.orders.zzz", "silver.orders has no column 'zzz'", "It has id, day, n."),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(show: Show, name: str, message: str, remedy: str) -> None:
    with pytest.raises(SelectionError) as raised:
        show(name)
    assert raised.value.message == message
    assert remedy in str(raised.value.remedy)


def test_the_document_has_the_way_of_the_data_in_either_direction(show: Show) -> None:
    document = show("gold.days.n").document()
    assert document["columns"] == [{"name": "n", "type": "bigint"}]
    assert document["edges"][0] == {
        "from": {"table": "silver.orders", "column": "n"},
        "to": {"table": "gold.days", "column": "n"},
        "kind": "aggregation",
    }
    assert document["conditions"] == [{"table": "silver.orders", "column": "day"}]
    down = show("silver.orders.n", Direction.DOWN).document()
    assert document["edges"][0] in down["edges"]
    rows = show("bronze.orders.day", Direction.DOWN).document()["conditions"]
    assert rows == [{"table": "gold.days", "column": None}]


def test_a_flowchart_has_a_box_for_each_table_and_an_arrow_for_each_step(show: Show) -> None:
    assert list(mermaid_lines(show("gold.days.n", depth=2))) == [
        "flowchart LR",
        '  subgraph t0["gold.days"]',
        '    c0["n"]',
        '    c4["(rows)"]',
        "  end",
        '  subgraph t1["silver.orders"]',
        '    c1["n"]',
        '    c3["day"]',
        "  end",
        '  subgraph t2["bronze.orders"]',
        '    c2["n"]',
        "  end",
        "  c1 -- aggregation --> c0",
        "  c2 --> c1",
        "  c3 -.-> c4",
    ]


def test_a_graph_in_dot_has_a_cluster_for_each_table(show: Show) -> None:
    lines = list(dot_lines(show("gold.days.n", depth=1)))
    assert lines[0] == "digraph lineage {"
    assert lines[-1] == "}"
    assert '    label="silver.orders";' in lines
    assert '  c1 -> c0 [label="aggregation"];' in lines
    assert any(line.endswith("[style=dashed];") for line in lines)


def test_odd_names_break_no_drawing(compiled: Compiled) -> None:
    odd = 'a "b" \\ #c'
    model = replace(
        compiled.models[table("gold.odd")],
        relation=relation(**{odd: BIGINT}),
        edges=(Edge(odd, Origin("shop.silver.orders", "n"), EdgeKind.IDENTITY),),
    )
    changed = replace(compiled, models={**compiled.models, table("gold.odd"): model})
    graph = LineageGraph.of(changed)
    shown = view(changed, graph, find_target("gold.odd", changed, graph), Direction.UP, None)
    assert '    c0["a #quot;b#quot; \\ #35;c"]' in list(mermaid_lines(shown))
    assert '    c0 [label="a \\"b\\" \\\\ #c"];' in list(dot_lines(shown))


@pytest.fixture
def shop(project: Path) -> Path:
    for name, text in FILES.items():
        path = project / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return project


def test_the_command_shows_a_model_in_every_format(shop: Path, tidegate: Call) -> None:
    (shop / "tidegate.toml").write_text(
        '[project]\nname = "shop"\n[landing.orders]\n'
        'columns = { id = "bigint", day = "string", n = "bigint", status = "string" }\n'
    )
    text = tidegate("lineage", "gold.days")
    assert (text.code, text.err) == (0, "")
    assert text.out.startswith("gold.days\n  reads: silver.orders\n  day  date\n  └─ silver.orders.day  (identity)\n")
    assert tidegate("lineage", "gold.days.n").out.splitlines()[1:4] == [
        "└─ silver.orders.n  (aggregation)",
        "   └─ bronze.orders.n  (identity)",
        "      └─ landing:orders.n  (identity)",
    ]
    assert tidegate("lineage", "silver.orders", "--down").out.splitlines()[1] == "  read by: gold.days, gold.odd"
    assert tidegate("lineage", "gold.days", "--format", "mermaid").out.startswith("flowchart LR\n")
    assert tidegate("lineage", "gold.days", "--format", "dot").out.startswith("digraph lineage {\n")
    document = tidegate("lineage", "gold.days", "--json").document
    assert (document["command"], document["model"], document["direction"]) == ("lineage", "gold.days", "upstream")
    assert tidegate("lineage", "gold.days", "--format", "json").document == document


def test_the_command_says_what_it_misses(shop: Path, tidegate: Call) -> None:
    assert "Name a model or a column" in tidegate("lineage").err
    assert "--run goes with --format openlineage" in tidegate("lineage", "gold.days", "--run", "run-1").err
    assert "There is no run yet" in tidegate("lineage", "--format", "openlineage").err
    misspelt = tidegate("lineage", "gold.dayz", "--json")
    assert misspelt.code == 1
    assert "Did you mean gold.days?" in misspelt.document["remedy"]


def test_a_run_is_told_as_events_one_a_line(shop: Path, tidegate: Call) -> None:
    noon = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
    with open_state(f"sqlite:///{shop}/.tidegate/state.db") as store:
        store.start_run(RunRecord("run-1", "shop", "run", "run-1", "run", noon))
        for n, model in enumerate(("silver.orders", "gold.days")):
            at = noon + timedelta(seconds=n)
            store.add_model_run(
                ModelRunRecord(model, "completed", "full_refresh", "full", "", run_id="run-1", finished_at=at)
            )
        store.finish_run("run-1", "success", finished_at=noon + timedelta(seconds=2), duration_ms=2000)
    events = [json.loads(line) for line in tidegate("lineage", "--format", "openlineage").out.splitlines()]
    assert [event["job"]["name"] for event in events] == [
        "shop",
        *["shop.silver.orders"] * 2,
        *["shop.gold.days"] * 2,
        "shop",
    ]
    one = tidegate("lineage", "gold.days", "--format", "openlineage", "--run", "run-1").out.splitlines()
    assert [json.loads(line) for line in one] == [events[0], *events[3:]]
    assert "There is no run 'run-2'" in tidegate("lineage", "--format", "openlineage", "--run", "run-2").err


def test_a_project_with_errors_still_shows_what_is_sound(shop: Path, tidegate: Call) -> None:
    (shop / "models/gold/bad.sql").write_text("SELECT * FROM silver.ordres\n")
    told = tidegate("lineage", "gold.days")
    assert told.code == 0
    assert "`tidegate compile` shows them" in told.err
    assert "A model with errors is left out" in tidegate("lineage", "gold.bad").err


@pytest.fixture
def odd(compiled: Compiled) -> Show:
    """A column whose name holds a dot, a backtick, an escape sequence and a line break."""
    name = "a.b`c\x1b[31m\nd"
    model = replace(
        compiled.models[table("gold.odd")],
        relation=relation(**{name: BIGINT}),
        edges=(Edge(name, Origin("shop.silver.orders", name), EdgeKind.IDENTITY),),
        conditions=(Origin("shop.silver.orders", name),),
    )
    changed = replace(compiled, models={**compiled.models, table("gold.odd"): model})
    graph = LineageGraph.of(changed)
    return lambda text: view(changed, graph, find_target(text, changed, graph), Direction.UP, None)


@pytest.mark.parametrize("lines", [text_lines, mermaid_lines, dot_lines])
@pytest.mark.parametrize("name", ["gold.odd", "gold.`odd`.`a.b``c\x1b[31m\nd`"])
def test_no_name_controls_the_terminal(odd: Show, name: str, lines: Callable[[LineageView], Iterator[str]]) -> None:
    told = list(lines(odd(name)))
    assert all(line.isprintable() for line in told)
    assert any("x1b[31m" in line for line in told)


def test_a_name_in_backticks_may_hold_dots(odd: Show) -> None:
    assert odd("gold.odd.`a.b``c\x1b[31m\nd`").column == "a.b`c\x1b[31m\nd"
    assert odd("`gold`.`odd`").column is None
    with pytest.raises(SelectionError):
        odd("gold.`odd")
