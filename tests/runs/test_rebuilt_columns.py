"""A table that is rebuilt has just the columns of its query, in the query's order."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.names import TableName

pytestmark = pytest.mark.spark

KEYED = {"unique_key": "id"}
STRATEGIES: dict[str, dict[str, str]] = {
    "whole": {},
    "appended": {"kind": "append"},
    "merged": {"kind": "merge", **KEYED},
    "replaced": {"merge_strategy": "delete_insert", **KEYED},
    "history": {"kind": "scd2", **KEYED},
    "daily": {"merge_strategy": "snapshot", "partition_column": "day"},
    "tracked": {"kind": "tracked", "group_key": "id"},
    "by_day": {
        "merge_strategy": "time_interval",
        "time_column": "day",
        "granularity": "day",
        "first_partition": "2024-01-01",
    },
}
OWN = {"history": ["valid_from", "valid_to", "is_current"]}


def columns(shop: ProjectFolder, layer: str, name: str) -> list[str]:
    found = shop.main.table(TableName("shop", layer, name))
    assert found is not None
    return list(found.column_names)


def test_a_full_refresh_drops_the_column_of_a_wrong_file_and_keeps_those_of_an_empty_zone(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", kind="append")
    for name, settings in STRATEGIES.items():
        shop.model(f"silver.{name}", "SELECT * FROM bronze.orders", **settings)
    shop.model("bronze.emptied", "SELECT * FROM {{ landing_zone('emptied') }}", kind="append")
    delivered = shop.file("landing/emptied/a.csv", "id,day\n1,2024-01-01\n")
    shop.clock.set("2024-01-03T00:30:00")
    shop.file("landing/orders/a.csv", "phantom,id,day\nx,1,2024-01-01\nx,2,2024-01-02\n")
    assert set(statuses(shop.run()).values()) == {"completed"}
    assert columns(shop, "bronze", "orders") == ["phantom", "id", "day"]

    shop.file("landing/orders/a.csv", "id,day\n1,2024-01-01\n2,2024-01-02\n3,2024-01-02\n")
    delivered.unlink()
    shop.clock.set("2024-01-03T01:30:00")
    second = shop.run(full_refresh=True, confirmed=True)
    assert set(statuses(second).values()) == {"completed"}, second
    assert columns(shop, "bronze", "orders") == ["id", "day"]
    found = {name: columns(shop, "silver", name) for name in STRATEGIES}
    assert found == {name: ["id", "day", *OWN.get(name, [])] for name in STRATEGIES}
    reported = sorted((one["model"], one["column"], one["action"]) for one in second.drift)
    assert reported == sorted((name, "phantom", "dropped") for name in statuses(second) if name != "bronze.emptied")
    rows = shop.rows_of(*(f"silver.{name}" for name in STRATEGIES))
    assert {len(found) for found in rows.values()} == {3}
    assert (columns(shop, "bronze", "emptied"), shop.rows("bronze.emptied")) == (["id", "day"], [])
    # What is delivered later is joined with these columns, not with those of the wrong file.
    shop.file("landing/orders/b.csv", "day,id\n2024-01-01,4\n")
    shop.run("bronze.orders")
    assert columns(shop, "bronze", "orders") == ["id", "day"]
