from __future__ import annotations

import resource
import shutil
import signal
import sqlite3
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest

from tidegate.errors import LakeError, LakeUnavailableError
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.names import TableName

ORDERS = TableName("shop", "silver", "orders")


def put(catalog: EmbeddedCatalog, branch: str, rows: list[tuple[str, str]]) -> None:
    """Rows as Iceberg's JDBC catalog writes them."""
    name = catalog.spark_catalog(branch)
    with closing(sqlite3.connect(catalog.path)) as db, db:
        values = [(name, namespace, table, f"file:/w/{table}", None, "TABLE") for namespace, table in rows]
        db.executemany("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?, ?)", values)


def test_a_thousand_tables_take_a_moment(catalog: EmbeddedCatalog) -> None:
    catalog.create_branch("run-1")
    put(catalog, "run-1", [("shop.bronze", f"t{n}") for n in range(1000)])
    started = time.perf_counter()
    changes = catalog.changed_tables("run-1")
    assert len(catalog.publish("run-1", [c.table for c in changes])) == 1000
    catalog.create_branch("run-2")
    assert len(catalog.head("run-2")) == 1000
    assert catalog.changed_tables("run-2") == ()
    catalog.refresh_branch("run-2", list(catalog.head()))
    assert time.perf_counter() - started < 2


def test_tables_of_others_in_the_same_database_are_left_alone_but_kept(catalog: EmbeddedCatalog) -> None:
    catalog.list_branches()
    put(catalog, "main", [("raw", "one_level"), ("shop.silver", "orders")])
    assert list(catalog.head()) == [ORDERS]
    catalog.create_branch("run-1")
    catalog.restore("run-1", ORDERS, None)
    catalog.publish("run-1", [ORDERS])
    assert Pointer(PointerKind.TABLE, "file:/w/one_level") in catalog.all_pointers()


def test_a_catalog_begun_by_an_older_iceberg_is_taken_over(catalog: EmbeddedCatalog) -> None:
    with closing(sqlite3.connect(catalog.path)) as db, db:
        db.execute(
            "CREATE TABLE iceberg_tables(catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,"
            " table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000),"
            " previous_metadata_location VARCHAR(1000), PRIMARY KEY (catalog_name, table_namespace, table_name))"
        )
        db.execute("INSERT INTO iceberg_tables VALUES ('main', 'shop.silver', 'orders', 'file:/w/o', NULL)")
    assert catalog.head() == {ORDERS: Pointer(PointerKind.TABLE, "file:/w/o")}
    catalog.create_branch("run-1")
    assert catalog.changed_tables("run-1") == ()


def test_a_run_id_becomes_a_catalog_name_that_needs_no_quotes(catalog: EmbeddedCatalog) -> None:
    assert catalog.spark_catalog("run-20261115-101112-123") == "run_20261115_101112_123"
    assert catalog.spark_catalog("main") == "main"


def test_spark_is_told_every_rule_that_keeps_branches_safe(catalog: EmbeddedCatalog) -> None:
    conf = catalog.spark_conf("run-1")
    prefix = "spark.sql.catalog.run_1"
    assert conf[prefix] == "org.apache.iceberg.spark.SparkCatalog"
    assert conf[f"{prefix}.uri"] == f"jdbc:sqlite:{catalog.path}?busy_timeout=30000"
    assert conf[f"{prefix}.unique-table-location"] == "true"
    assert conf[f"{prefix}.cache-enabled"] == "false"
    assert conf[f"{prefix}.table-override.gc.enabled"] == "false"
    assert conf[f"{prefix}.table-override.write.metadata.delete-after-commit.enabled"] == "false"
    assert conf[f"{prefix}.table-default.format-version"] == "3"


def test_a_file_that_is_no_catalog_is_named_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.write_text("this is not a database, it only looks like one to those who do not look\n" * 50)
    with pytest.raises(LakeUnavailableError, match="not a database") as caught:
        EmbeddedCatalog(path, tmp_path / "warehouse").head()
    assert caught.value.where == str(path)
    assert "backup" in str(caught.value.remedy)


def test_a_damaged_catalog_is_named_with_a_remedy(catalog: EmbeddedCatalog) -> None:
    catalog.create_branch("run-1")
    content = bytearray(catalog.path.read_bytes())
    content[100:] = b"\x55" * (len(content) - 100)
    catalog.path.write_bytes(content)
    with pytest.raises(LakeUnavailableError, match="malformed") as caught:
        EmbeddedCatalog(catalog.path, catalog.warehouse).head()
    assert "backup" in str(caught.value.remedy)


def test_a_folder_that_cannot_be_made_is_named_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "catalog.db", tmp_path):
        with pytest.raises(LakeUnavailableError) as caught:
            EmbeddedCatalog(path, tmp_path / "warehouse").head()
        assert caught.value.where == str(path)
        assert caught.value.remedy
    with pytest.raises(LakeUnavailableError, match="warehouse") as caught:
        EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "file" / "warehouse").create_branch("run-1")
    assert caught.value.remedy


def _on_a_full_disk(folder: Path) -> tuple[str, str | None]:
    catalog = EmbeddedCatalog(folder / "catalog.db", folder / "warehouse")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
    try:
        catalog.create_branch("run-2")
    except LakeUnavailableError as error:
        return str(error), error.remedy
    return "", None


def test_a_full_disk_changes_nothing_and_says_so(catalog: EmbeddedCatalog, tmp_path: Path) -> None:
    catalog.create_branch("run-1")
    put(catalog, "main", [("shop.bronze", f"t{n}") for n in range(100)])
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        message, remedy = pool.submit(_on_a_full_disk, tmp_path).result()
    assert "cannot be used" in message
    assert "nothing was changed" in str(remedy)
    assert [branch.name for branch in catalog.list_branches()] == ["run-1"]


def test_a_copied_lake_is_refused_since_it_would_write_into_the_original(tmp_path: Path) -> None:
    first = EmbeddedCatalog(tmp_path / "a" / "catalog.db", tmp_path / "a" / "warehouse")
    first.create_branch("run-1")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    copy = EmbeddedCatalog(tmp_path / "b" / "catalog.db", tmp_path / "b" / "warehouse")
    with pytest.raises(LakeError, match="moved or copied") as caught:
        copy.create_branch("run-2")
    assert str(tmp_path / "a") in str(caught.value.remedy)
    first.create_branch("run-2")


def test_a_path_that_spark_would_misread_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match="'\\?'"):
        EmbeddedCatalog(tmp_path / "what?" / "catalog.db", tmp_path / "warehouse").spark_conf("main")


def test_a_folder_with_a_few_files_of_its_owner_becomes_the_warehouse(catalog: EmbeddedCatalog) -> None:
    catalog.warehouse.mkdir()
    (catalog.warehouse / ".gitkeep").touch()
    catalog.create_branch("run-1")
    catalog.check_warehouse()


def test_a_folder_that_holds_other_things_is_used_but_never_swept(catalog: EmbeddedCatalog) -> None:
    (catalog.warehouse / "photos").mkdir(parents=True)
    catalog.create_branch("run-1")
    with pytest.raises(LakeError, match="does not belong to this catalog"):
        catalog.check_warehouse()


def test_what_was_written_to_a_branch_after_it_was_dropped_is_forgotten(catalog: EmbeddedCatalog) -> None:
    catalog.create_branch("run-20240101-1")
    catalog.create_branch("run-20240101-2")
    put(catalog, "run-20240101-2", [("shop.bronze", "kept")])
    catalog.drop_branch("run-20240101-1")
    put(catalog, "run-20240101-1", [("shop.bronze", "stray")])
    put(catalog, "someone_elses", [("shop.bronze", "foreign")])
    assert len(catalog.all_pointers()) == 3
    catalog.drop_strays()
    assert len(catalog.all_pointers()) == 2
    assert len(catalog.head("run-20240101-2")) == 1
