"""A run over a table of which a file was deleted: the error names table, snapshot and the way back, which works."""

from __future__ import annotations

import re

import pytest

from tests.projects import ProjectFolder, statuses
from tests.recorded import is_current
from tidegate.errors import LakeError
from tidegate.lake import view
from tidegate.lake.metadata import local_path
from tidegate.lake.missing_files import damages
from tidegate.names import TableName
from tidegate.operations.check import check_project
from tidegate.operations.diff.run_diff import diff
from tidegate.operations.profile import profile_now
from tidegate.operations.query import query


def lose_files(shop: ProjectFolder, *names: str) -> None:
    for name in names:
        metadata = shop.main.table(TableName.parse(name, "shop"))
        assert metadata is not None
        for file in local_path(metadata.table_location).rglob("*.parquet"):
            file.unlink()


@pytest.mark.spark
def test_a_deleted_data_file_is_named_and_the_table_can_be_rebuilt(shop: ProjectFolder) -> None:
    shop.model("silver.orders", "SELECT id FROM range(0, 3, 1, 1)")
    assert shop.run().exit_code == 0
    before = shop.main.table(TableName("shop", "silver", "orders"))
    assert before is not None
    snapshot = before.current_snapshot_id
    for data in (shop.root / ".tidegate" / "warehouse").rglob("*.parquet"):
        data.unlink()
    shop.model("gold.orders", "SELECT sum(id) AS total FROM silver.orders")
    shop.model("gold.other", "SELECT 1 AS x")
    result = shop.run()
    assert statuses(result) == {"gold.orders": "failed", "gold.other": "completed", "silver.orders": "skipped"}
    failed = next(m for m in result.materializations if m.status == "failed")
    assert f"silver.orders: a data file of snapshot {snapshot} is missing" in (failed.error or "")
    assert "tidegate run silver.orders --full-refresh" in (failed.remedy or "")
    with pytest.raises(LakeError, match=f"silver.orders: a data file of snapshot {snapshot} is missing"):
        query(shop.settings, "SELECT sum(id) FROM silver.orders", root=shop.spark)
    assert shop.run("silver.orders", full_refresh=True).exit_code == 0
    assert list(damages(shop.main.heads())) == []
    assert shop.run().exit_code == 0
    assert shop.rows("gold.orders") == [(3,)]
    assert all(local_path(pointer.location).exists() for pointer in shop.main.heads().values())


@pytest.mark.spark
def test_the_table_that_a_query_reads_is_named_and_none_that_is_called_alike(shop: ProjectFolder) -> None:
    for name in ("orders", "orders_old", "fine"):
        shop.model(f"silver.{name}", "SELECT id FROM range(0, 3, 1, 1)")
    shop.model("gold.orders_old", "SELECT id FROM silver.orders_old", materialized="view")
    assert shop.run().exit_code == 0
    lose_files(shop, "silver.orders", "silver.orders_old")
    for sql in (
        "SELECT sum(id) FROM silver.orders_old -- not silver.orders",
        "SELECT sum(id) FROM Silver.ORDERS_OLD",
        "SELECT sum(id) FROM gold.orders_old",
    ):
        with pytest.raises(LakeError, match=r"^silver\.orders_old: a data file of snapshot \d+ is missing"):
            query(shop.settings, sql, root=shop.spark)


@pytest.mark.spark
def test_check_diff_and_profile_name_the_table_and_the_way_back(shop: ProjectFolder) -> None:
    shop.model("silver.orders", "SELECT id FROM range(0, 3, 1, 1)", audit="max(id, =, 2)")
    shop.file("models/silver/other/pipeline.sql", "SELECT 1L AS id\n")
    known = "SELECT id FROM {{ this }} WHERE id NOT IN (SELECT id FROM silver.orders)\n"
    shop.file("models/silver/other/tests/quality/known.sql", known)
    result = shop.run()
    assert result.exit_code == 0, result.materializations
    lose_files(shop, "silver.orders")
    checked = check_project(shop.settings, (), shop.spark)
    assert {one.status for one in checked.results} == {"error"}
    told = r"^silver\.orders: a data file of snapshot \d+ is missing from the warehouse"
    for one in checked.results:
        assert re.match(told, one.error or ""), one
        assert "tidegate run silver.orders --full-refresh" in (one.error or "")
    with pytest.raises(LakeError, match=told) as of_diff:
        diff(shop.settings, result.run_id, root=shop.spark)
    assert "tidegate run silver.orders --full-refresh" in str(of_diff.value.remedy)
    table = TableName("shop", "silver", "orders")
    with pytest.raises(LakeError, match=told):
        profile_now(shop.settings, table, lambda names: frozenset(), shop.clock.now(), shop.spark)


def lose_metadata(shop: ProjectFolder, name: str) -> None:
    local_path(shop.main.heads()[TableName.parse(name, "shop")].location).unlink()
    view._read.cache_clear()  # as in a process that did not read the file before


def test_a_missing_metadata_file_stops_only_what_reads_or_writes_the_table(pointer_shop: ProjectFolder) -> None:
    shop = pointer_shop
    shop.model("silver.orders", "SELECT id FROM range(0, 3, 1, 1)")
    shop.model("gold.orders", "SELECT sum(id) AS total FROM silver.orders")
    shop.model("gold.other", "SELECT 1 AS x")
    assert shop.run().exit_code == 0
    lose_metadata(shop, "silver.orders")
    shop.model("gold.other", "SELECT 2 AS x")
    result = shop.run()
    found = {"gold.orders": "blocked", "gold.other": "completed", "silver.orders": "failed"}
    assert (statuses(result), result.status, result.exit_code) == (found, "partial", 2)
    failed = next(m for m in result.materializations if m.status == "failed")
    assert failed.error == "silver.orders: a metadata file of the table is missing from the warehouse"
    assert "tidegate run silver.orders --full-refresh" in (failed.remedy or "")
    reader = shop.run("gold.orders", "gold.other")
    assert statuses(reader) == {"gold.orders": "failed", "gold.other": "skipped"}
    with pytest.raises(LakeError, match=r"^silver\.orders: a metadata file of the table is missing") as alone:
        shop.run("silver.orders")
    assert "--full-refresh" in str(alone.value.remedy)
    assert shop.run("silver.orders", full_refresh=True).exit_code == 0
    rebuilt = shop.run()
    assert rebuilt.exit_code == 0
    assert shop.built_by()["gold.orders"] == rebuilt.run_id
    assert is_current(shop, "gold.orders")


@pytest.mark.spark
def test_the_error_of_a_run_names_a_table_behind_what_was_selected(shop: ProjectFolder) -> None:
    shop.model("bronze.unrelated", "SELECT id FROM range(0, 3, 1, 1)")
    shop.model("silver.orders", "SELECT id FROM range(0, 3, 1, 1)")
    shop.model("silver.orders_view", "SELECT id FROM silver.orders", materialized="view")
    shop.model("gold.orders", "SELECT sum(id) AS total FROM silver.orders_view")
    assert shop.run().exit_code == 0
    lose_metadata(shop, "bronze.unrelated")
    lose_metadata(shop, "silver.orders")
    for name in ("silver.orders", "gold.orders"):
        with pytest.raises(LakeError, match=r"^silver\.orders: a metadata file of the table is missing"):
            shop.run(name)
