"""Files arrive, are read once, and are put away: no row twice, none lost."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from tests.projects import ProjectFolder, statuses
from tidegate.hooks.events import Event
from tidegate.lake.consumed import read_consumed, write_consumed
from tidegate.names import TableName
from tidegate.runs.build.table_build import set_progress
from tidegate.spark.session import child_session

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
        assert "Archived 1 landing file to _processed/ in its zone" in [e.data.get("message") for e in shop.events]
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


def test_a_touched_file_is_not_loaded_again_and_a_copy_is_reported(shop: ProjectFolder) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    path = shop.file("landing/events/a.csv", "id\n1\n")
    first = shop.run()
    os.utime(path, (1, 1))
    touched = shop.run()
    assert (touched.status, touched.materializations[0].reason) == ("skipped", "unchanged")
    shop.file("landing/events/b.csv", "id\n1\n")
    copied = shop.run()
    assert copied.materializations[0].reason == "1 new file in events; 1 of them a copy of a file of another name"
    same = (
        f"b.csv in landing zone events has the same content as a.csv, which {first.run_id} read: its rows are read once"
    )
    remedy = "If that is not meant, remove the file and build the table again with --full-refresh"
    assert copied.warnings == (f"bronze.events: {same} more. {remedy}",)
    path.write_text("id\n3\n")
    replaced = shop.run()
    other = f"a.csv in landing zone events has other content than when {first.run_id} read it, and is read again"
    assert replaced.warnings == (f"bronze.events: {other}; the rows of its former content stay",)
    assert shop.rows("bronze.events") == [(1,), (1,), (3,)]


def test_an_archived_file_that_comes_again_is_neither_loaded_nor_left_lying(shop: ProjectFolder) -> None:
    shop.model(
        "bronze.events",
        "SELECT * FROM {{ landing_zone('events') }}",
        merge_strategy="append_only",
        archive_landing_zones="true",
    )
    shop.file("landing/events/a.csv", "id\n1\n")
    shop.run()
    again = shop.file("landing/events/a.csv", "id\n1\n")
    os.utime(again, (1, 1))
    result = shop.run()
    assert (result.status, result.warnings) == ("skipped", ())
    assert not again.exists()
    assert sorted(p.name for p in (shop.root / "landing/events/_processed").rglob("a.*")) == ["a.csv", "a.csv.1"]
    assert shop.rows("bronze.events") == [(1,)]


def test_digests_are_filled_in_where_a_list_lacks_them(shop: ProjectFolder) -> None:
    shop.model("bronze.events", "SELECT * FROM {{ landing_zone('events') }}", merge_strategy="append_only")
    shop.model("silver.events", "SELECT id FROM bronze.events")
    path = shop.file("landing/events/a.csv", "id\n1\n")
    shop.run()
    _forget_digests(shop, TableName("shop", "bronze", "events"))
    filled = shop.run()
    assert [m.status for m in filled.materializations] == ["skipped", "skipped"]
    assert filled.materializations[0].reason == "unchanged; digests of its landing files are recorded"
    os.utime(path, (1, 1))
    assert shop.run().materializations[0].reason == "unchanged"
    assert shop.rows("bronze.events") == [(1,)]


def _forget_digests(shop: ProjectFolder, table: TableName) -> None:
    """The list as it was written before there were digests."""
    metadata = shop.main.table(table)
    assert metadata is not None
    assert metadata.progress is not None
    consumed = read_consumed(metadata.table_location, metadata.progress.zones["events"])
    bare = replace(consumed, files=tuple(replace(file, digest=None) for file in consumed.files))
    zones = {"events": write_consumed(metadata.table_location, bare)}
    catalog = shop.catalog
    catalog.create_branch("older")
    session = child_session(shop.spark, catalog.spark_conf("older"), catalog.spark_catalog("older"))
    set_progress(session, table, replace(metadata.progress, zones=zones))
    catalog.publish("older", [table])
    catalog.drop_branch("older")
