"""Each rule that keeps branches safe, with the harm that it prevents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.metadata import ViewMetadata, load_json, local_path
from tidegate.lake.view import BranchView
from tidegate.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OnBranch = Callable[[str], "SparkSession"]
ORDERS = TableName("shop", "silver", "orders")
OTHER = TableName("shop", "silver", "other")


@pytest.fixture
def main(on_branch: OnBranch) -> SparkSession:
    """A session on main, where `orders` has rows 1 and 2."""
    session = on_branch("main")
    session.sql("CREATE NAMESPACE shop")
    session.sql("CREATE NAMESPACE shop.silver")
    session.sql("CREATE TABLE shop.silver.orders (id BIGINT, v STRING)")
    session.sql("INSERT INTO shop.silver.orders VALUES (1, 'a'), (2, 'b')")
    return session


def ids(session: SparkSession, table: TableName = ORDERS) -> list[int]:
    return sorted(row.id for row in session.table(table.quoted).select("id").collect())


def folder(catalog: EmbeddedCatalog, branch: str, table: TableName) -> str:
    found = BranchView(catalog, branch).table(table)
    assert found is not None
    return found.table_location


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE shop.silver.orders PURGE",
        "CALL run_1.system.expire_snapshots(table => 'shop.silver.orders', older_than => TIMESTAMP '2999-01-01')",
        "CALL run_1.system.remove_orphan_files(table => 'shop.silver.orders', older_than => TIMESTAMP '2020-01-01')",
    ],
)
def test_iceberg_may_delete_no_file_from_a_branch(main: SparkSession, on_branch: OnBranch, statement: str) -> None:
    branch = on_branch("run-1")
    with pytest.raises(Exception, match="GC is disabled"):
        branch.sql(statement)
    assert ids(main) == ids(branch) == [1, 2]


def test_with_garbage_collection_on_a_purge_on_a_branch_would_destroy_main(
    main: SparkSession, on_branch: OnBranch
) -> None:
    branch = on_branch("run-1")
    branch.sql("ALTER TABLE shop.silver.orders SET TBLPROPERTIES ('gc.enabled' = 'true')")
    branch.sql("DROP TABLE shop.silver.orders PURGE")
    with pytest.raises(Exception, match=r"[Nn]ot.?[Ff]ound|does not exist|No such file"):
        ids(main)


def test_a_table_made_again_or_under_a_freed_name_shares_no_folder(
    main: SparkSession, on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    branch = on_branch("run-1")
    first = folder(catalog, "run-1", ORDERS)
    branch.sql("ALTER TABLE shop.silver.orders RENAME TO shop.silver.other")
    branch.sql("CREATE TABLE shop.silver.orders (id BIGINT)")
    second = folder(catalog, "run-1", ORDERS)
    branch.sql("DROP TABLE shop.silver.orders")
    branch.sql("CREATE TABLE shop.silver.orders AS SELECT 9L AS id")
    third = folder(catalog, "run-1", ORDERS)
    assert folder(catalog, "run-1", OTHER) == folder(catalog, "main", ORDERS) == first
    assert len({first, second, third}) == 3
    assert ids(main) == ids(branch, OTHER) == [1, 2]


def test_a_view_made_on_a_branch_never_names_it_and_works_on_main_when_it_is_gone(
    main: SparkSession, on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    branch, view = on_branch("run-1"), TableName("shop", "silver", "big")
    branch.sql("CREATE VIEW shop.silver.big AS SELECT id FROM shop.silver.orders WHERE id > 1")
    branch.sql("INSERT INTO shop.silver.orders VALUES (3, 'c')")
    assert ids(branch, view) == [2, 3]
    catalog.publish("run-1", [view])
    catalog.drop_branch("run-1")
    assert ids(main, view) == [2]
    found = BranchView(catalog, "main").metadata(view)
    assert isinstance(found, ViewMetadata)
    assert "run_1" not in str(load_json(found.location))


def test_old_metadata_files_stay_so_a_branch_can_read_what_it_did_not_touch(
    main: SparkSession, on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    main.sql("ALTER TABLE shop.silver.orders SET TBLPROPERTIES ('write.metadata.previous-versions-max' = '1')")
    branch = on_branch("run-1")
    pointer = catalog.pointer("run-1", ORDERS)
    assert pointer is not None
    for n in (3, 4, 5):
        main.sql(f"INSERT INTO shop.silver.orders VALUES ({n}, 'x')")
    current = BranchView(catalog, "main").table(ORDERS)
    assert current is not None
    assert pointer.location not in current.files
    assert local_path(pointer.location).exists()
    assert ids(branch) == [1, 2]


def test_main_is_as_it_was_whatever_happens_on_a_branch(
    main: SparkSession, on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    branch, before = on_branch("run-1"), catalog.head()
    branch.sql("DELETE FROM shop.silver.orders WHERE id = 1")
    branch.sql("INSERT OVERWRITE shop.silver.orders VALUES (7, 'z')")
    branch.sql("ALTER TABLE shop.silver.orders DROP COLUMN v")
    branch.sql("CREATE OR REPLACE TABLE shop.silver.orders AS SELECT 8L AS id")
    assert ids(branch) == [8]
    branch.sql("DROP TABLE shop.silver.orders")
    assert (catalog.head(), ids(main)) == (before, [1, 2])
    catalog.drop_branch("run-1")
    assert main.table(ORDERS.quoted).columns == ["id", "v"]


def test_a_new_table_is_format_3_merge_on_read_and_carries_row_lineage(
    main: SparkSession, on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    branch = on_branch("run-1")
    branch.sql("UPDATE shop.silver.orders SET v = 'c' WHERE id = 2")
    rows = branch.sql("SELECT id, _row_id, _last_updated_sequence_number AS n FROM shop.silver.orders").collect()
    assert sorted((row.id, row.n) for row in rows) == [(1, 1), (2, 2)]
    found = BranchView(catalog, "run-1").table(ORDERS)
    assert found is not None
    assert (found.format_version, found.total_records) == (3, 2)
    assert found.properties["gc.enabled"] == "false"


def test_pyiceberg_reads_main_and_a_branch(main: SparkSession, on_branch: OnBranch, catalog: EmbeddedCatalog) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    on_branch("run-1").sql("DELETE FROM shop.silver.orders WHERE id = 1")
    for name, expected in (("main", [1, 2]), ("run_1", [2])):
        reader = SqlCatalog(name, uri=f"sqlite:///{catalog.path}", warehouse=f"file:{catalog.warehouse}")
        try:
            found = reader.load_table(("shop", "silver", "orders"))
            assert sorted(found.scan().to_arrow()["id"].to_pylist()) == expected
        finally:
            reader.engine.dispose()
