from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build, table
from tidegate.compiler import Compiled
from tidegate.errors import SelectionError
from tidegate.planner.selection import ModelStates, select

FILES = {
    "models/bronze/orders.sql": "-- @tags: daily, raw\nselect 1 as id",
    "models/bronze/items.sql": "select 1 as id",
    "models/silver/clean.sql": "-- @materialized: ephemeral\nselect * from bronze.orders",
    "models/silver/orders.sql": "-- @tags: daily\nselect * from silver.clean",
    "models/gold/revenue/pipeline.sql": "-- @kind: view\nselect * from silver.orders join bronze.items using (id)",
    "models/gold/report.sql": "-- @tags: raw\nselect * from gold.revenue",
    "models/crm/gold/people.sql": "select 1 as id",
}
STATES = ModelStates(new=frozenset({table("gold.revenue")}), changed=frozenset({table("bronze.items")}))
ALL = "bronze.items bronze.orders crm.gold.people gold.report gold.revenue silver.orders"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    root: Path = tmp_path_factory.mktemp("selection")
    built = build(root, FILES)
    assert built.compiled.errors == ()
    return built.compiled


def chosen(compiled: Compiled, text: str) -> str:
    """`text`: patterns, those to exclude with a minus before them."""
    patterns = [word for word in text.split() if not word.startswith("-")]
    exclude = [word[1:] for word in text.split() if word.startswith("-")]
    return " ".join(sorted(t.short("shop") for t in select(compiled, patterns, exclude, lambda: STATES)))


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ("", ALL),
        ("silver.orders", "silver.orders"),
        ("shop.silver.ORDERS", "silver.orders"),
        ("revenue", "gold.revenue"),
        ("People", "crm.gold.people"),
        ("+revenue", "bronze.items bronze.orders gold.revenue silver.orders"),
        ("1+revenue", "bronze.items gold.revenue silver.orders"),
        ("0+revenue+0", "gold.revenue"),
        ("2+gold.report", "bronze.items gold.report gold.revenue silver.orders"),
        ("items+1", "bronze.items gold.revenue"),
        ("1+silver.orders+1", "bronze.orders gold.revenue silver.orders"),
        ("+silver.orders", "bronze.orders silver.orders"),
        ("silver.orders+", "gold.report gold.revenue silver.orders"),
        ("+silver.orders+", "bronze.orders gold.report gold.revenue silver.orders"),
        ("bronze.orders+1", "bronze.orders silver.orders"),
        ("silver.clean+", "gold.report gold.revenue silver.orders"),
        ("+silver.clean", "bronze.orders"),
        ("@bronze.items", "bronze.items bronze.orders gold.report gold.revenue silver.orders"),
        ("@people", "crm.gold.people"),
        ("@tag:daily", "bronze.items bronze.orders gold.report gold.revenue silver.orders"),
        ("silver.*", "silver.orders"),
        ("re*", "gold.report gold.revenue"),
        ("*", ALL),
        ("*.orders", "bronze.orders silver.orders"),
        ("*.gold.*", "crm.gold.people gold.report gold.revenue"),
        ("tag:daily", "bronze.orders silver.orders"),
        ("tag:raw+1 people", "bronze.orders crm.gold.people gold.report silver.orders"),
        ("tag:daily,tag:raw", "bronze.orders"),
        ("silver.orders+,tag:raw", "gold.report"),
        ("tag:daily,tag:raw revenue", "bronze.orders gold.revenue"),
        ("path:models/gold", "gold.report gold.revenue"),
        ("path:./models/gold/", "gold.report gold.revenue"),
        ("path:models/gold/report.sql", "gold.report"),
        ("path:models/gold/revenue", "gold.revenue"),
        ("path:models/*/re*", "gold.report gold.revenue"),
        ("models/bronze", "bronze.items bronze.orders"),
        ("+path:models/silver", "bronze.orders silver.orders"),
        ("state:modified", "bronze.items gold.revenue"),
        ("state:new", "gold.revenue"),
        ("state:modified+1", "bronze.items gold.report gold.revenue"),
        ("state:modified,tag:daily", ""),
        ("state:modified -*", ""),
        ("-tag:daily", "bronze.items crm.gold.people gold.report gold.revenue"),
        ("*.orders -silver.orders", "bronze.orders"),
        ("+revenue -+silver.orders", "bronze.items gold.revenue"),
        ("-bronze.* -re* -state:new", "crm.gold.people silver.orders"),
        ("-silver.clean", ALL),
    ],
)
def test_patterns_select(compiled: Compiled, patterns: str, expected: str) -> None:
    assert chosen(compiled, patterns) == expected


@pytest.mark.parametrize(
    ("patterns", "message", "remedy"),
    [
        ("silver.ordres", "selects no model", "did you mean silver.orders?"),
        ("revenu", "selects no model", "did you mean revenue?"),
        ("gold.orders", "selects no model", "did you mean"),
        ("orders", "is the name of 2 models: bronze.orders, silver.orders", "bronze.orders or silver.orders"),
        ("silver", "selects no model", "'silver.*'"),
        ("tag:dayly", "selects no model", "did you mean tag:daily?"),
        ("tag:xyz", "selects no model", "tags in use: daily, raw"),
        ("path:models/glod", "selects no model", "did you mean path:models/gold?"),
        ("path:models/gol", "selects no model", "path:models/gold"),
        ("path:", "selects no model", "path:models/silver"),
        ("platinum.*", "selects no model", "tidegate ls"),
        ("silver.clean", "only ephemeral models", "silver.clean+"),
        ("0+silver.clean", "only ephemeral models", "silver.clean+"),
        ("state:changed", "no state 'changed'", "state:modified and state:new"),
        ("state:modifed", "no state", "did you mean state:modified?"),
        ("config.materialized:view", "'config.materialized:'", "path:, state:, tag:"),
        ("tags:daily", "'tags:'", "did you mean tag:daily?"),
        ("@orders+", "+ has no place", "@orders"),
        ("+", "selects no model", "tidegate ls"),
        ("tag:daily,", "selects no model", "tidegate ls"),
        ("tag:daily,people", "no model is in every part", "tidegate ls"),
        ("silver.orders -tag:daily", "leaves no model", "exclude less"),
        ("-silver.ordres", "selects no model", "did you mean silver.orders?"),
    ],
)
def test_a_pattern_that_selects_nothing_is_an_error(
    compiled: Compiled, patterns: str, message: str, remedy: str
) -> None:
    with pytest.raises(SelectionError) as caught:
        chosen(compiled, patterns)
    assert message in caught.value.message
    assert remedy in str(caught.value.remedy)


def test_a_model_with_errors_is_not_called_unknown(tmp_path: Path) -> None:
    built = build(tmp_path, {**FILES, "models/gold/bad.sql": "select * from silver.nothing"})
    with pytest.raises(SelectionError, match="'bad' has errors"):
        select(built.compiled, ["bad"])


def test_states_are_read_only_where_they_are_asked_for(compiled: Compiled) -> None:
    def never() -> ModelStates:
        raise AssertionError("the lake was read")

    assert select(compiled, ["revenue"], ["report"], never)
    with pytest.raises(AssertionError):
        select(compiled, ["revenue"], ["state:new"], never)


def test_without_a_lake_a_state_is_refused(compiled: Compiled) -> None:
    with pytest.raises(SelectionError, match="cannot be selected here"):
        select(compiled, ["state:modified"])
