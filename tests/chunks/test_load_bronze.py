"""Chunks are loaded into a Delta table once, however often and by however many it is tried."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from tests.chunks.deliveries import Delivery, Rows, deliver, numbered
from tidegate.chunks import bronze_loader, delta_table
from tidegate.chunks.chunk_project import ChunkProject, open_chunk_project
from tidegate.chunks.processing_metadata import ProcessingMetrics
from tidegate.config import ChunkSource, MaintenanceSection
from tidegate.faults import FAULT_POINTS
from tidegate.operations.chunks.jobs import LoadsResult, load
from tidegate.operations.maintain_delta import maintain_delta
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SETTINGS = """\
[project]
name = "shop"
[chunks]
default_chunk_size = 10000
delta_client_batch_size = 15000
[chunks.sources.orders]
contract = "rows.odcs.yml"
[chunks.sources.customers]
contract = "rows.odcs.yml"
"""
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: rows
version: 1.0.0
status: active
schema:
  - name: rows
    properties:
      - {name: id, logicalType: integer, primaryKey: true, required: true}
      - {name: v, logicalType: string}
"""


class Shop:
    def __init__(self, folder: Path, spark: SparkSession, settings: str = SETTINGS) -> None:
        (folder / "tidegate.toml").write_text(settings)
        (folder / "rows.odcs.yml").write_text(CONTRACT)
        self.folder = folder
        self.spark = spark
        self.project: ChunkProject = open_chunk_project(folder)

    def deliver(self, run: str, *chunks: Rows, source: str = "orders") -> Delivery:
        return deliver(self.project.storage, run, chunks, source)

    def load(self) -> LoadsResult:
        return load(Workspace(self.project.settings), spark=self.spark)

    def rows(self, columns: str = "*", source: str = "orders") -> list[tuple[Any, ...]]:
        session = delta_table.delta_session(self.project.settings, self.spark)
        path = self.project.storage.spark_path(f"silver/{source}/records.delta")
        rows = session.sql(f"SELECT {columns} FROM delta.`{path}`").collect()
        return sorted((tuple(row) for row in rows), key=repr)

    def commits(self, source: str = "orders") -> list[dict[str, Any]]:
        """The actions of each version, by their names; of several of one name the last."""
        logs = sorted((self.folder / f"silver/{source}/records.delta/_delta_log").glob("*.json"))
        return [{k: v for line in log.read_text().splitlines() for k, v in json.loads(line).items()} for log in logs]

    def stray_files(self) -> list[str]:
        """Outside of archive and table."""
        inside = ("archived_bronze/", "silver/orders/records.delta/", "silver/customers/records.delta/")
        files = (file.path for file in self.project.storage.list(""))
        return [path for path in files if not path.startswith(inside) and "/" in path]


@pytest.fixture
def shop(tmp_path: Path, delta: SparkSession) -> Shop:
    root = tmp_path / "shop [1] {a,b} %20"  # a name, and no pattern
    root.mkdir()
    return Shop(root, delta)


def ids(first: int, last: int) -> pa.Table:
    numbers = pa.array(range(first, last + 1))
    return pa.table({"id": numbers, "v": numbers.cast(pa.string())})


def test_25000_rows_are_written_twice_and_cleaned_up_after_each(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    delivery = shop.deliver("a", ids(1, 10_000), ids(10_001, 20_000), ids(20_001, 25_000))
    left: list[set[str]] = []
    monkeypatch.setattr(bronze_loader, "fault", lambda at: at != "after_load_cleanup" or left.append(delivery.pending))
    (result,) = shop.load().loads
    written = [int(commit["commitInfo"]["operationMetrics"]["numTargetRowsInserted"]) for commit in shop.commits()[1:]]
    assert written == [20_000, 5_000]
    assert left == [{"chunk_3_processed.parquet", "chunk_3_metadata.json"}, set()]
    assert shop.rows("count(*), count(DISTINCT id), sum(id)") == [(25_000, 25_000, 25_000 * 25_001 // 2)]
    assert [commit["txn"]["version"] for commit in shop.commits()[1:]] == [1, 2]
    assert (result.status, result.batches, result.inserted) == ("complete", 2, 25_000)
    assert delivery.parent.metrics == ProcessingMetrics(success=25_000)
    assert shop.stray_files() == []
    # The same file once more: nothing changes, and no file of data is written.
    again = shop.deliver("b", ids(1, 10_000), ids(10_001, 20_000), ids(20_001, 25_000))
    (result,) = shop.load().loads
    assert (result.status, result.unchanged, result.inserted, result.updated) == ("complete", 25_000, 0, 0)
    assert all(not {"add", "remove"} & set(commit) for commit in shop.commits()[3:])
    assert again.parent.metrics == ProcessingMetrics(success=25_000)


class Stopped(BaseException):
    pass


POINTS = [point for point in FAULT_POINTS if "load" in point]


def test_stopped_at_every_point_the_table_is_as_if_it_were_not(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file is stopped at each point, one file after the other; their rows overlap."""

    def stop_at(stopping: str) -> None:
        times = count()

        def fault(point: str) -> None:
            if point == stopping and next(times) == 0:
                raise Stopped

        monkeypatch.setattr(bronze_loader, "fault", fault)
        monkeypatch.setattr(delta_table, "fault", fault)

    expected = {}
    for at, point in enumerate(POINTS):
        rows = [{"id": number, "v": f"{point} {number}"} for number in range(at, at + 6)]
        expected |= {row["id"]: row["v"] for row in rows}
        delivery = shop.deliver(chr(ord("a") + at), rows[:3], rows[3:])
        stop_at(point)
        with pytest.raises(Stopped):
            shop.load()
        stop_at("")
        assert shop.load().failures == []
        assert delivery.parent.metrics == ProcessingMetrics(success=6), point
        assert delivery.parent.end_timestamp is not None, point
        assert shop.stray_files() == [], point
    assert shop.rows() == sorted(expected.items(), key=repr)


def test_two_loads_at_once_lose_nothing(shop: Shop) -> None:
    """For one table and for two; whoever comes second leaves the table to the first."""
    deliveries = [shop.deliver(run, numbered(at, at + 5)) for at, run in enumerate("abc")]
    deliveries.append(shop.deliver("d", numbered(1, 7), source="customers"))
    with ThreadPoolExecutor(3) as pool:
        reports = [future.result() for future in [pool.submit(shop.load) for _ in range(3)]]
    assert {result.status for report in reports for result in report.loads} <= {"complete", "busy"}
    shop.load()
    assert shop.rows("id") == [(id,) for id in range(8)]
    assert shop.rows("count(*)", "customers") == [(7,)]
    assert [delivery.parent.metrics.success for delivery in deliveries] == [6, 6, 6, 7]
    assert all(delivery.parent.end_timestamp for delivery in deliveries)
    assert shop.stray_files() == []


def test_truncated_pages_fail_the_load_and_name_the_file(shop: Shop) -> None:
    """The footer is whole, so nothing is wrong until the rows are read."""
    delivery = shop.deliver("a", ids(1, 1000))
    path = shop.folder / delivery.folder.processed(1)
    content = bytearray(path.read_bytes())
    content[4:400] = b"\0" * 396
    path.write_bytes(content)
    other = shop.deliver("b", numbered(1, 2), source="customers")
    report = shop.load()
    (failure,) = report.failures
    assert failure.what == delivery.folder.metadata
    assert re.search("batch 1 cannot be written: .*chunk_1_processed", failure.error.message)
    assert other.parent.end_timestamp is not None
    assert delivery.parent.batch is not None
    assert delivery.pending == {"chunk_1_processed.parquet", "chunk_1_metadata.json"}


def test_maintenance_compacts_and_vacuums_but_not_what_readers_may_need(shop: Shop) -> None:
    for at, run in enumerate("abcd"):
        shop.deliver(run, numbered(at, at + 5))
    shop.load()
    section = MaintenanceSection(min_small_files=3)
    chunks = replace(shop.project.settings.chunks, sources=with_z_order(shop.project.settings.chunks.sources, "v"))
    settings = replace(shop.project.settings, maintenance=section, chunks=chunks)
    session = delta_table.delta_session(settings, shop.spark)
    before = shop.rows()
    foreseen = maintain_delta(settings, lambda: session, dry_run=True)
    done = maintain_delta(settings, lambda: session)
    ((files, _),) = foreseen.compacted.values()
    assert done.compacted == {"silver.orders": (files, 1)}
    assert (foreseen.vacuumed, done.vacuumed) == ({}, {})  # every file is younger than the retention
    assert (foreseen.errors, done.errors) == ([], [])
    assert shop.rows() == before
    # Delta's own check refuses to delete what a reader may need; nothing is written once the table is compact.
    hasty = replace(settings, chunks=replace(chunks, delta_vacuum_retention_hours=0))
    (error,) = maintain_delta(hasty, lambda: session).errors
    assert "retention" in error
    assert maintain_delta(settings, lambda: session).compacted == {}


def with_z_order(sources: Mapping[str, ChunkSource], *columns: str) -> dict[str, ChunkSource]:
    return {name: replace(source, z_order=columns) for name, source in sources.items()}
