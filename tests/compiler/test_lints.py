"""Lints over models whose columns and lineage are given by hand; how those are found is tried elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.columns import edge, relation
from tests.compiler.projects import Built, build, table
from tidegate.compiler.compiled import Compiled, EdgeKind, Origin
from tidegate.compiler.passes.lints import lint

STARS = {
    "models/bronze/orders.sql": "select 1 as id, 2 as amount",
    "models/silver/orders.sql": "-- select * from nowhere\nselect\n  o.* from bronze.orders o",
    "models/gold/revenue.sql": "select sum(amount) as revenue from silver.orders",
}


def known(built: Built, **facts: dict[str, Any]) -> Compiled:
    """`silver_orders = {…}`: what is known of silver.orders."""
    models = dict(built.compiled.models)
    for name, values in facts.items():
        key = table(name.replace("_", ".", 1))
        models[key] = replace(models[key], **{"edges": (), "conditions": (), **values})
    return replace(built.compiled, models=models)


PASSED = {"star": True, "edges": (edge("id", "bronze.orders.id"), edge("amount", "bronze.orders.amount"))}
SUM = edge("revenue", "silver.orders.AMOUNT", EdgeKind.AGGREGATION)


def lints(built: Built, compiled: Compiled) -> list[str]:
    return [f"{d.severity} {d.code} {d.model} {d.span.line}:{d.span.col}" for d in lint(compiled) if d.span]


def test_columns_behind_a_star_that_others_name_are_told(tmp_path: Path) -> None:
    built = build(tmp_path, STARS)
    compiled = known(built, silver_orders=PASSED, gold_revenue={"edges": (SUM,)})
    assert lints(built, compiled) == ["info BlastRadius silver.orders 3:5"]
    (told,) = lint(compiled)
    assert told.message == (
        "its * passes on whatever columns are in bronze.orders, and amount is read by name in gold.revenue:"
        " a change above gets there unseen"
    )


def test_columns_that_only_decide_on_rows_are_read_too(tmp_path: Path) -> None:
    built = build(tmp_path, STARS)
    compiled = known(built, silver_orders=PASSED, gold_revenue={"conditions": (Origin("shop.silver.orders", "id"),)})
    assert lints(built, compiled) == ["info BlastRadius silver.orders 3:5"]


@pytest.mark.parametrize(
    ("silver", "gold"),
    [
        ({**PASSED, "star": False}, {"edges": (SUM,)}),
        (PASSED, {}),
        (PASSED, {"star": True, "edges": (edge("id", "silver.orders.id"),)}),
        ({"star": True, "edges": (edge("amount", "landing:orders.amount"),)}, {"edges": (SUM,)}),
        ({"star": True, "edges": (edge("amount", "bronze.orders.x"),)}, {"edges": (SUM,)}),
        ({"star": True}, {"edges": (SUM,)}),
    ],
    ids=["no star", "not read", "read by a star", "from a landing zone", "under a name of its own", "nothing known"],
)
def test_a_star_that_hides_nothing_is_quiet(tmp_path: Path, silver: dict[str, Any], gold: dict[str, Any]) -> None:
    built = build(tmp_path, STARS)
    assert lints(built, known(built, silver_orders=silver, gold_revenue=gold)) == []


def test_each_lint_is_as_loud_as_its_setting(tmp_path: Path) -> None:
    for level in ("off", "info", "warning", "error"):
        settings = f'[project]\nname = "shop"\n[lints]\nblast_radius = "{level}"\n'
        built = build(tmp_path / level, {**STARS, "tidegate.toml": settings})
        found = lints(built, known(built, silver_orders=PASSED, gold_revenue={"edges": (SUM,)}))
        assert found == ([] if level == "off" else [f"{level} BlastRadius silver.orders 3:5"])


TIMES = {
    "tidegate.toml": '[project]\nname = "shop"\n[lints]\nfreshness_coverage = "warning"\n',
    "models/silver/orders.sql": "select 1 as id",
    "models/gold/revenue.sql": "-- @freshness: 1h\nselect id from silver.orders",
}
WITH_TIME = {"relation": relation("id int, ordered_at timestamp, updated_at timestamp")}


def test_a_table_with_times_that_others_read_should_say_how_fresh_it_is(tmp_path: Path) -> None:
    built = build(tmp_path, TIMES)
    compiled = known(built, silver_orders=WITH_TIME, gold_revenue=WITH_TIME)
    (told,) = lint(compiled)
    assert (told.severity, told.code, told.model) == ("warning", "FreshnessCoverage", "silver.orders")
    assert "is read by gold.revenue and has times in 'ordered_at'" in told.message


def test_the_column_that_settings_name_is_the_one_told(tmp_path: Path) -> None:
    header = "-- @kind: merge\n-- @unique_key: id\n-- @watermark_column: updated_at\n"
    built = build(tmp_path, {**TIMES, "models/silver/orders.sql": header + "select 1 as id, 2 as updated_at"})
    (told,) = lint(known(built, silver_orders=WITH_TIME))
    assert "'updated_at'" in told.message


def test_gold_is_read_by_people(tmp_path: Path) -> None:
    built = build(tmp_path, {**TIMES, "models/gold/revenue.sql": "select 1 as id"})
    assert lints(built, known(built, silver_orders=WITH_TIME, gold_revenue=WITH_TIME)) == [
        "warning FreshnessCoverage gold.revenue 1:1"
    ]


@pytest.mark.parametrize(
    "header", ["-- @freshness: 24h\n", "-- @materialized: view\n", "-- @materialized: ephemeral\n"]
)
def test_what_is_declared_or_keeps_no_rows_is_quiet(tmp_path: Path, header: str) -> None:
    built = build(tmp_path, {**TIMES, "models/silver/orders.sql": header + "select 1 as id"})
    assert lints(built, known(built, silver_orders=WITH_TIME)) == []


def test_freshness_is_not_asked_for_unless_wanted(tmp_path: Path) -> None:
    built = build(tmp_path, {**TIMES, "tidegate.toml": '[project]\nname = "shop"\n'})
    assert lints(built, known(built, silver_orders=WITH_TIME, gold_revenue=WITH_TIME)) == []
