from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tidegate.errors import LakeError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.consumed import Consumed, write_consumed
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.lake.sweep import SweepReport, sweep
from tidegate.lake.warehouse import last_sweep
from tidegate.names import TableName

Write = Callable[..., Pointer]
ORDERS = TableName("shop", "silver", "orders")
NOW = datetime.now(UTC)
LATER = NOW + timedelta(days=3)


@pytest.fixture
def orders(catalog: EmbeddedCatalog, write_table: Write) -> Path:
    """The folder of a table on main that has one metadata file."""
    folder = catalog.warehouse / "shop" / "silver" / "orders-1"
    publish(catalog, write_table, folder)
    return folder


def publish(catalog: EmbeddedCatalog, write_table: Write, folder: Path, **extra: object) -> Path:
    catalog.create_branch("run-0")
    pointer = write_table(at=folder, **extra)
    catalog.restore("run-0", ORDERS, pointer)
    catalog.publish("run-0", [ORDERS])
    catalog.drop_branch("run-0")
    return Path(pointer.location.removeprefix("file:"))


def touch(path: Path, at: datetime = NOW) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def swept(catalog: EmbeddedCatalog, now: datetime = LATER, **options: bool) -> SweepReport:
    return sweep(catalog, catalog.warehouse, clock=lambda: now, **options)


def test_what_nothing_refers_to_goes_with_its_checksum_and_its_folder(catalog: EmbeddedCatalog, orders: Path) -> None:
    dead = touch(orders / "data" / "day=1" / "dead.parquet")
    checksum = touch(orders / "data" / "day=1" / ".dead.parquet.crc")
    report = swept(catalog)
    assert set(report.files) == {str(dead), str(checksum)}
    assert report.bytes == 2
    assert not dead.exists()


def test_what_is_referred_to_stays_with_its_checksum(catalog: EmbeddedCatalog, orders: Path) -> None:
    checksum = touch(orders / "metadata" / ".00007-a.metadata.json.crc")
    report = swept(catalog)
    assert (report.files, report.kept) == ((), 2)
    assert checksum.exists()


def test_an_empty_folder_goes_once_it_is_old(catalog: EmbeddedCatalog, orders: Path) -> None:
    touch(catalog.warehouse / "shop" / "silver" / "gone-1" / "data" / "dead.parquet")
    swept(catalog)
    swept(catalog)
    assert not (catalog.warehouse / "shop" / "silver" / "gone-1").exists()
    assert orders.exists()


def test_nothing_younger_than_a_day_goes_whatever_the_settings_say(catalog: EmbeddedCatalog, orders: Path) -> None:
    young = touch(orders / "data" / "young.parquet")
    soon = NOW + timedelta(hours=23)
    sweep(catalog, catalog.warehouse, min_age=timedelta(0), clock=lambda: soon)
    assert young.exists()


def test_what_a_living_branch_may_still_commit_stays_however_old(catalog: EmbeddedCatalog, orders: Path) -> None:
    before = touch(orders / "data" / "before.parquet", NOW - timedelta(hours=1))
    catalog.create_branch("run-1")
    written = touch(orders / "data" / "written.parquet", datetime.now(UTC) + timedelta(minutes=1))
    EmbeddedCatalog(catalog.path, catalog.warehouse, clock=lambda: LATER).heartbeat("run-1")
    assert swept(catalog).files == (str(before),)
    assert written.exists()
    catalog.drop_branch("run-1")
    assert swept(catalog).files == (str(written),)


def test_the_base_of_a_branch_stays_until_the_branch_goes(
    catalog: EmbeddedCatalog, orders: Path, write_table: Write
) -> None:
    base = orders / "metadata" / "00007-a.metadata.json"
    catalog.create_branch("run-1")
    catalog.restore("run-1", ORDERS, None)
    publish(catalog, write_table, orders, name="00008-b")
    assert swept(catalog).files == ()
    catalog.drop_branch("run-1")
    assert swept(catalog).files == (str(base),)


def test_lists_of_consumed_files_live_as_long_as_progress_names_them(
    catalog: EmbeddedCatalog, write_table: Write
) -> None:
    folder = catalog.warehouse / "shop" / "silver" / "orders-1"
    catalog.list_branches()
    catalog.spark_conf("main")
    named, other = (write_consumed(f"file:{folder}", Consumed(zone, ())) for zone in ("a", "b"))
    progress = Progress("run-1", "f", "full", "full_refresh", zones={"a": named})
    publish(catalog, write_table, folder, properties={PROGRESS_PROPERTY: progress.to_json()})
    assert swept(catalog).files == (str(folder / "metadata" / f"landing-{other.digest}.json"),)


def test_a_dry_run_deletes_nothing(catalog: EmbeddedCatalog, orders: Path) -> None:
    dead = touch(orders / "data" / "dead.parquet")
    report = swept(catalog, dry_run=True)
    assert (report.files, report.dry_run, dead.exists()) == ((str(dead),), True, True)
    assert last_sweep(catalog.warehouse) is None
    swept(catalog)
    assert last_sweep(catalog.warehouse) == LATER


def test_only_tables_folders_are_swept(catalog: EmbeddedCatalog, orders: Path, tmp_path: Path) -> None:
    outside = touch(tmp_path / "elsewhere" / "data" / "mine.parquet")
    notes = touch(catalog.warehouse / "README.txt")
    link = orders / "data" / "linked"
    link.parent.mkdir()
    link.symlink_to(outside.parent, target_is_directory=True)
    swept(catalog)
    assert outside.exists()
    assert notes.exists()


@pytest.mark.parametrize("content", [None, "{", "{}"])
def test_metadata_that_cannot_be_read_stops_the_sweep(
    catalog: EmbeddedCatalog, orders: Path, content: str | None
) -> None:
    dead = touch(orders / "data" / "dead.parquet")
    metadata = orders / "metadata" / "00007-a.metadata.json"
    metadata.unlink() if content is None else metadata.write_text(content)
    with pytest.raises(LakeError, match="metadata"):
        swept(catalog)
    assert dead.exists()


def test_a_manifest_list_that_cannot_be_read_stops_the_sweep(
    catalog: EmbeddedCatalog, orders: Path, write_table: Write
) -> None:
    publish(catalog, write_table, orders, name="00008-b")
    dead = touch(orders / "data" / "dead.parquet")
    catalog.create_branch("run-1")
    catalog.restore("run-1", ORDERS, write_table((1, None, "append", {}), at=orders, name="00009-c"))
    with pytest.raises(LakeError, match="manifest"):
        swept(catalog)
    assert dead.exists()


def test_a_warehouse_of_another_catalog_is_not_swept(catalog: EmbeddedCatalog, orders: Path, tmp_path: Path) -> None:
    dead = touch(orders / "data" / "dead.parquet")
    stranger = EmbeddedCatalog(tmp_path / "another.db", catalog.warehouse)
    with pytest.raises(LakeError, match="does not belong to this catalog"):
        swept(stranger)
    assert dead.exists()


def test_a_catalog_that_points_elsewhere_is_not_swept(
    catalog: EmbeddedCatalog, orders: Path, write_table: Write, tmp_path: Path
) -> None:
    dead = touch(orders / "data" / "dead.parquet")
    publish(catalog, write_table, tmp_path / "elsewhere" / "orders")
    with pytest.raises(LakeError, match="outside its warehouse"):
        swept(catalog)
    assert dead.exists()


def test_a_warehouse_behind_a_link_is_the_same_warehouse(
    catalog: EmbeddedCatalog, orders: Path, tmp_path: Path
) -> None:
    dead = touch(orders / "data" / "dead.parquet")
    (tmp_path / "link").symlink_to(catalog.warehouse, target_is_directory=True)
    report = sweep(catalog, tmp_path / "link", clock=lambda: LATER)
    assert (report.kept, len(report.files), dead.exists()) == (1, 1, False)
    assert (orders / "metadata" / "00007-a.metadata.json").exists()


def test_a_lake_without_a_warehouse_has_nothing_to_sweep(catalog: EmbeddedCatalog) -> None:
    assert swept(catalog).files == ()
