"""A run that changes no row wakes nobody downstream."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder, run_types, statuses

pytestmark = pytest.mark.spark


def test_an_upstream_full_refresh_that_gives_the_same_rows_does_not_run_its_downstreams(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", "SELECT * FROM {{ landing_zone('orders') }}", skip="never")
    shop.model("silver.orders", "SELECT id, count(*) AS n, max(note) AS note FROM bronze.orders GROUP BY id")
    shop.model("gold.total", "SELECT sum(n) AS n FROM silver.orders")
    shop.file("landing/orders/a.csv", "id,note\n1,a\n1,\n2,b\n")
    shop.run()
    snapshots = {name: shop.main.table(name) for name in shop.main.heads()}
    shop.file("landing/orders/a.csv", "id,note\n2,b\n1,a\n1,\n")
    second = shop.run()
    assert run_types(second)["bronze.orders"] == "full"
    assert statuses(second) == {"bronze.orders": "completed", "silver.orders": "skipped", "gold.total": "skipped"}
    for name, before in snapshots.items():
        now = shop.main.table(name)
        assert before is not None
        assert now is not None
        assert now.current_snapshot_id == before.current_snapshot_id
    shop.file("landing/orders/a.csv", "id,note\n2,b\n1,a\n1,c\n")
    assert statuses(shop.run()) == dict.fromkeys(statuses(second), "completed")
    assert shop.rows("silver.orders") == [(1, 2, "c"), (2, 1, "b")]


def test_a_changed_definition_that_gives_the_same_rows_does_not_run_its_downstreams(shop: ProjectFolder) -> None:
    shop.model("silver.a", "SELECT id FROM range(3)")
    shop.model("gold.a", "SELECT id FROM silver.a")
    shop.run()
    shop.model("silver.a", "SELECT id FROM range(10) WHERE id < 3")
    second = shop.run()
    assert run_types(second) == {"silver.a": "backfill", "gold.a": "skip"}
    assert run_types(shop.run()) == {"silver.a": "skip", "gold.a": "skip"}
