"""Files arrive, are read once, and are put away: no row twice, none lost."""

from __future__ import annotations

import os

import pytest

from tests.runs.conftest import ProjectFolder, statuses
from tidegate.runs.events import Event

pytestmark = pytest.mark.spark


def test_three_archived_deliveries_leave_every_row_once(shop: ProjectFolder) -> None:
    shop.model(
        "bronze.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
        archive_landing_zones="true",
    )
    shop.model(
        "silver.events",
        "SELECT id, max(n) AS n FROM bronze.events GROUP BY id",
        merge_strategy="incremental",
        unique_key="id",
    )
    shop.model("gold.count", "SELECT count(*) AS n FROM silver.events")
    for day in (1, 2, 3):
        shop.file(f"landing/events/{day}.csv", f"id,n\n{day},1\n{day + 10},1\n")
        assert shop.run().exit_code == 0
        assert [p.name for p in (shop.root / "landing/events").iterdir()] == ["_processed"]
        assert "Archived 1 landing file to _processed/ in their zones" in [e.data.get("message") for e in shop.events]
        idle = shop.run()
        assert idle.status == "skipped"
    assert shop.rows("SELECT id FROM bronze.events") == [(n,) for n in (1, 11, 12, 13, 2, 3)]
    assert shop.rows("gold.count") == [(6,)]
    moved = sorted(p.name for p in (shop.root / "landing/events/_processed").rglob("*.csv"))
    assert moved == ["1.csv", "2.csv", "3.csv"]


def test_a_file_that_arrives_during_the_run_is_not_lost(shop: ProjectFolder) -> None:
    shop.model(
        "bronze.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
        archive_landing_zones="true",
    )
    shop.file("landing/events/a.csv", "n\n1\n")

    def deliver(event: Event) -> None:
        if event.name == "before_materialize":
            shop.file("landing/events/b.csv", "n\n2\n")

    assert shop.run(listener=deliver).exit_code == 0
    assert shop.rows("bronze.events") == [(1,)]
    assert (shop.root / "landing/events/b.csv").exists()
    assert shop.run().exit_code == 0
    assert shop.rows("bronze.events") == [(1,), (2,)]


def test_a_file_that_changes_while_it_is_read_fails_the_model(shop: ProjectFolder) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    path = shop.file("landing/events/a.csv", "n\n1\n")

    def rewrite(event: Event) -> None:
        if event.name == "before_materialize":
            path.write_text("n\n1\n2\n")

    result = shop.run(listener=rewrite)
    assert result.exit_code == 1
    assert result.materializations[0].failure_kind == "Transient"
    assert shop.catalog.head() == {}


def test_a_file_that_two_models_read_is_archived_when_both_have_it(shop: ProjectFolder) -> None:
    for name in ("a.one", "a.two"):
        shop.model(
            name,
            "SELECT * FROM {{ landing_zone('events') }}",
            merge_strategy="append_only",
            archive_landing_zones="true",
        )
    shop.file("landing/events/a.csv", "n\n1\n")
    shop.run("a.one")
    assert (shop.root / "landing/events/a.csv").exists()
    shop.run("a.two")
    assert not (shop.root / "landing/events/a.csv").exists()


def test_a_replaced_file_is_read_again_and_reported(shop: ProjectFolder) -> None:
    shop.model(
        "bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="incremental", unique_key="id"
    )
    path = shop.file("landing/events/a.csv", "id,n\n1,1\n")
    shop.run()
    path.write_text("id,n\n1,2\n")
    os.utime(path, (1, 1))
    result = shop.run()
    assert result.materializations[0].reason == "1 replaced file in events"
    assert shop.rows("bronze.events") == [(1, 2)]


def test_append_takes_only_the_rows_that_upstream_gained(shop: ProjectFolder) -> None:
    shop.model(
        "bronze.items", "SELECT * FROM {{ landing_zone('items') }}", merge_strategy="incremental", unique_key="id"
    )
    shop.model("silver.first_seen", "SELECT id, n FROM bronze.items", merge_strategy="append_only")
    shop.file("landing/items/a.csv", "id,n\n1,1\n2,1\n")
    shop.run()
    shop.file("landing/items/b.csv", "id,n\n2,2\n3,1\n")
    shop.run()
    assert shop.rows("silver.first_seen") == [(1, 1), (2, 1), (3, 1)]


def test_append_below_a_table_that_is_rewritten_takes_each_row_once(shop: ProjectFolder) -> None:
    shop.model("bronze.items", "SELECT * FROM {{ landing_zone('items') }}")
    shop.model("silver.log", "SELECT n FROM bronze.items", merge_strategy="append_only")
    shop.file("landing/items/a.csv", "n\n1\n1\n2\n")
    shop.run()
    shop.file("landing/items/b.csv", "n\n1\n3\n")
    shop.run()
    assert shop.rows("silver.log") == [(1,), (1,), (1,), (2,), (3,)]


def test_a_run_without_new_files_skips(shop: ProjectFolder) -> None:
    shop.model(
        "bronze.events",
        "SELECT *, current_timestamp() AS at FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
    )
    shop.file("landing/events/a.csv", "n\n1\n")
    shop.run()
    assert statuses(shop.run()) == {"bronze.events": "skipped"}
