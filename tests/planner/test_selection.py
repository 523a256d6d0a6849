from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build
from tidegate.compiler import Compiled
from tidegate.errors import SelectionError
from tidegate.planner.selection import select


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    root: Path = tmp_path_factory.mktemp("selection")
    files = {
        "models/bronze/orders.sql": "-- @tags: daily, raw\nselect 1 as id",
        "models/bronze/items.sql": "select 1 as id",
        "models/silver/clean.sql": "-- @materialized: ephemeral\nselect * from bronze.orders",
        "models/silver/orders.sql": "-- @tags: daily\nselect * from silver.clean",
        "models/gold/revenue.sql": "-- @kind: view\nselect * from silver.orders join bronze.items using (id)",
        "models/crm/gold/people.sql": "select 1 as id",
    }
    built = build(root, files)
    assert built.compiled.errors == ()
    return built.compiled


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([], "bronze.items bronze.orders crm.gold.people gold.revenue silver.orders"),
        (["silver.orders"], "silver.orders"),
        (["shop.silver.ORDERS"], "silver.orders"),
        (["+silver.orders"], "bronze.orders silver.orders"),
        (["silver.orders+"], "gold.revenue silver.orders"),
        (["+silver.orders+"], "bronze.orders gold.revenue silver.orders"),
        (["bronze.orders+"], "bronze.orders gold.revenue silver.orders"),
        (["silver.clean+"], "gold.revenue silver.orders"),
        (["+silver.clean"], "bronze.orders"),
        (["silver.*"], "silver.orders"),
        (["*.orders"], "bronze.orders silver.orders"),
        (["*.gold.*"], "crm.gold.people gold.revenue"),
        (["tag:daily"], "bronze.orders silver.orders"),
        (["tag:raw+", "crm.gold.people"], "bronze.orders crm.gold.people gold.revenue silver.orders"),
    ],
)
def test_patterns_select(compiled: Compiled, patterns: list[str], expected: str) -> None:
    assert " ".join(sorted(table.short("shop") for table in select(compiled, patterns))) == expected


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("silver.ordres", "did you mean silver.orders?"),
        ("orders", "did you mean bronze.orders or silver.orders?"),
        ("tag:dayly", "did you mean tag:daily?"),
        ("platinum.*", "tidegate ls"),
        ("silver.clean", "silver.clean+"),
        ("state:modified", "not supported by this version"),
        ("+", "tidegate ls"),
    ],
)
def test_a_pattern_that_selects_nothing_is_an_error(compiled: Compiled, pattern: str, remedy: str) -> None:
    with pytest.raises(SelectionError) as caught:
        select(compiled, [pattern])
    assert remedy in str(caught.value.remedy)
