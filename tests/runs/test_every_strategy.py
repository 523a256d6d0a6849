"""One project with every strategy, run with changing data: the tables are exactly what each strategy promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from blake3 import blake3

from tests.projects import ProjectFolder, run_types, statuses
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.unfinished_writes import PARTIAL, intermediate_snapshots
from tidegate.names import TableName

pytestmark = pytest.mark.spark

HEADER = "id,customer,amount,day,updated_at\n"

MONDAY = HEADER + (
    "1,ann,10,2024-01-01,2024-01-01 08:00:00\n"
    "2,bob,20,2024-01-01,2024-01-01 09:00:00\n"
    "3,ann,30,2024-01-02,2024-01-02 08:00:00\n"
)
TUESDAY = HEADER + "2,bob,25,2024-01-02,2024-01-02 10:00:00\n4,cat,40,2024-01-02,2024-01-02 11:00:00\n"
WEDNESDAY = HEADER + (
    "1,ann,10,2024-01-01,2024-01-01 08:00:00\n"
    "5,bob,50,2024-01-03,2024-01-03 08:00:00\n"
    "2,bob,22,2024-01-01,2024-01-01 12:00:00\n"
)


def write_models(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", merge_strategy="append_only")
    shop.model("silver.whole", "SELECT customer, sum(amount) AS total FROM bronze.orders GROUP BY customer")
    shop.model(
        "silver.upsert",
        "SELECT id, customer, amount, updated_at FROM {{ ref('bronze.orders') }}",
        merge_strategy="incremental",
        unique_key="id",
        watermark_column="updated_at",
    )
    shop.model("silver.appended", "SELECT id, amount FROM bronze.orders", kind="append")
    shop.model(
        "silver.replaced",
        "SELECT customer, id, amount FROM bronze.orders",
        merge_strategy="delete_insert",
        unique_key="customer",
    )
    shop.model(
        "silver.history",
        "SELECT id, customer, amount, updated_at FROM bronze.orders",
        merge_strategy="scd2",
        unique_key="id",
        watermark_column="updated_at",
    )
    shop.model(
        "silver.daily",
        "SELECT day, count(*) AS n, sum(amount) AS total FROM bronze.orders GROUP BY day",
        merge_strategy="snapshot",
        partition_column="day",
    )
    shop.model(
        "silver.tracked",
        "SELECT customer, count(*) AS n FROM bronze.orders GROUP BY customer",
        kind="tracked",
        group_key="customer",
    )
    shop.model(
        "silver.by_day",
        "SELECT day, id, amount FROM bronze.orders WHERE day >= @start_date AND day < @end_date",
        merge_strategy="time_interval",
        time_column="day",
        granularity="day",
        first_partition="2024-01-01",
        lookback="1",
    )
    shop.model("silver.large", "SELECT * FROM silver.upsert WHERE amount >= 25", materialized="ephemeral")
    shop.model("gold.large", "SELECT customer, count(*) AS n FROM silver.large GROUP BY customer", materialized="view")
    shop.model("gold.best", "SELECT max(amount) AS best FROM silver.large AS l")


TABLES = ("whole", "upsert", "appended", "replaced", "history", "daily", "tracked", "by_day")


def states(shop: ProjectFolder) -> dict[str, list[tuple[Any, ...]]]:
    found = shop.rows_of(*(f"silver.{name}" for name in TABLES))
    return {name: found[f"silver.{name}"] for name in TABLES}


def table(shop: ProjectFolder, name: str) -> TableMetadata:
    found = shop.main.table(TableName("shop", "silver", name))
    assert found is not None
    return found


def commits(shop: ProjectFolder, name: str, run_id: str) -> int:
    return Counter(s.summary["tidegate.run-id"] for s in table(shop, name).snapshots.values())[run_id]


def check_snapshots(shop: ProjectFolder, meant: list[dict[str, list[tuple[Any, ...]]]]) -> None:
    """Every snapshot is a state that some run left, or it is marked, and its run went on."""
    kept = {}
    for name in TABLES:
        metadata = table(shop, name)
        middle = intermediate_snapshots(metadata)
        for snapshot in metadata.snapshots.values():
            if snapshot.id in middle:
                assert snapshot.summary[PARTIAL] == "true"
            else:
                kept[f"SELECT * FROM silver.{name} VERSION AS OF {snapshot.id}"] = name
    for sql, rows in shop.rows_of(*kept).items():
        assert rows in [state[kept[sql]] for state in meant], sql


def test_three_deliveries_then_a_run_that_changes_nothing(shop: ProjectFolder) -> None:
    write_models(shop)
    shop.file("landing/orders/a.csv", MONDAY)
    shop.clock.set("2024-01-03T00:30:00")
    first = shop.run()
    assert set(statuses(first).values()) == {"completed"}, first
    assert set(run_types(first).values()) == {"backfill"}
    meant = [states(shop)]
    assert [(id, amount) for id, _, amount, _ in meant[0]["upsert"]] == [(1, 10), (2, 20), (3, 30)]
    assert sorted((id, amount) for _, id, amount in meant[0]["by_day"]) == [(1, 10), (2, 20), (3, 30)]

    shop.file("landing/orders/b.csv", TUESDAY)
    shop.clock.set("2024-01-03T06:00:00")
    second = shop.run()
    assert second.exit_code == 0, second
    assert statuses(second)["silver.by_day"] == "skipped"
    assert statuses(second)["gold.large"] == "skipped"
    meant.append(states(shop))
    assert [(id, amount) for id, _, amount, _ in meant[1]["upsert"]] == [(1, 10), (2, 25), (3, 30), (4, 40)]
    assert shop.rows("gold.best") == [(40,)]

    shop.file("landing/orders/c.csv", WEDNESDAY)
    shop.clock.set("2024-01-04T01:00:00")
    third = shop.run()
    assert third.exit_code == 0, third
    assert any("1 row" in warning and "silver.history" in warning for warning in third.warnings), third.warnings
    expected = {
        "SELECT id, amount FROM bronze.orders": [
            (1, 10),
            (1, 10),
            (2, 20),
            (2, 22),
            (2, 25),
            (3, 30),
            (4, 40),
            (5, 50),
        ],
        "silver.whole": [("ann", 50), ("bob", 117), ("cat", 40)],
        "SELECT id, amount FROM silver.upsert": [(1, 10), (2, 25), (3, 30), (4, 40), (5, 50)],
        "silver.appended": [(1, 10), (1, 10), (2, 20), (2, 22), (2, 25), (3, 30), (4, 40), (5, 50)],
        "SELECT customer, count(*), sum(amount) FROM silver.replaced GROUP BY 1": [
            ("ann", 3, 50),
            ("bob", 4, 117),
            ("cat", 1, 40),
        ],
        "SELECT id, amount, CAST(valid_from AS STRING), CAST(valid_to AS STRING), is_current FROM silver.history": [
            (1, 10, "2024-01-01 08:00:00", None, True),
            (2, 20, "2024-01-01 09:00:00", "2024-01-02 10:00:00", False),
            (2, 25, "2024-01-02 10:00:00", None, True),
            (3, 30, "2024-01-02 08:00:00", None, True),
            (4, 40, "2024-01-02 11:00:00", None, True),
            (5, 50, "2024-01-03 08:00:00", None, True),
        ],
        "SELECT CAST(day AS STRING), n, total FROM silver.daily": [
            ("2024-01-01", 4, 62),
            ("2024-01-02", 3, 95),
            ("2024-01-03", 1, 50),
        ],
        "silver.tracked": [("ann", 3), ("bob", 4), ("cat", 1)],
        "SELECT id, amount FROM silver.by_day": [(1, 10), (2, 20), (2, 25), (3, 30), (4, 40), (5, 50)],
        "gold.large": [("ann", 1), ("bob", 2), ("cat", 1)],
        "gold.best": [(50,)],
    }
    assert shop.rows_of(*expected) == expected
    meant.append(states(shop))
    check_snapshots(shop, meant)
    for name in TABLES:
        text = (shop.root / f"models/silver/{name}.sql").read_bytes()
        own = [s.summary for s in table(shop, name).snapshots.values()]
        assert {s["tidegate.sql-hash"] for s in own} == {blake3(text).hexdigest(length=16)}
        assert all(s["tidegate.build-ms"].isdigit() and s["tidegate.columns"] for s in own)
    assert next(iter(table(shop, "tracked").snapshots.values())).summary["tidegate.columns"] == "customer, n"
    made = {name: [commits(shop, name, each.run_id) for each in (first, second, third)] for name in TABLES}
    assert made == {name: [1, 1, 1] for name in TABLES} | {"by_day": [2, 0, 2]}

    heads = shop.catalog.head()
    fourth = shop.run()
    assert fourth.status == "skipped"
    assert fourth.publish.tables == ()
    assert shop.catalog.head() == heads
    assert shop.branches() == []
