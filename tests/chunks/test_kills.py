"""Processes that are killed at any point of the three jobs: run again, everything is as if none had been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.chunks.all_jobs import run_all
from tests.conftest import QUICK_JVM
from tidegate.chunks.delta_table import DeltaTable, delta_session
from tidegate.chunks.processing_metadata import BronzeToSilverProcessingMetadata, ProcessingMetrics
from tidegate.config import load_settings
from tidegate.faults import FAULT_POINTS
from tidegate.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not os.environ.get("TIDEGATE_PROVE"), reason="a process with a Spark of its own: make prove"),
]

TOML = f"""\
[project]
name = "shop"
[spark]
master = "local[2]"
memory = "1g"
[spark.conf]
"spark.driver.extraJavaOptions" = "{QUICK_JVM}"
[chunks]
default_chunk_size = 10
delta_client_batch_size = 15
[chunks.sources.orders]
contract = "orders.odcs.yml"
"""
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: orders
    properties:
      - {name: id, logicalType: integer, primaryKey: true, required: true}
      - {name: v, logicalType: string, required: true}
"""
ROWS, BAD = 45, (7, 31)
POINTS = [name for name, point in FAULT_POINTS.items() if point.of_load and name != "after_requeue"]
SECOND = [f"{name}@2" for name in ("after_chunk", "after_processed", "after_chunk_metadata", "after_load_commit")]


@pytest.mark.parametrize("point", [*POINTS, *SECOND])
def test_killed_at_any_point_the_rows_are_there_once(tmp_path: Path, delta: SparkSession, point: str) -> None:
    (tmp_path / "tidegate.toml").write_text(TOML)
    (tmp_path / "orders.odcs.yml").write_text(CONTRACT)
    bronze = tmp_path / "bronze/orders"
    bronze.mkdir(parents=True)
    (bronze / "first.json").write_text("\n".join(json.dumps(row(number)) for number in range(ROWS)))
    killed = subprocess.run(
        [sys.executable, "-m", "tests.chunks.all_jobs", str(tmp_path)],
        env={**os.environ, "TIDEGATE_FAULT": point},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=180,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stdout.decode()
    report = run_all(tmp_path, delta)
    assert (report.failures, report.warnings) == ([], [])
    settings = load_settings(tmp_path)
    storage = open_storage(tmp_path)
    session = delta_session(settings, delta)
    relation = DeltaTable(session, storage, "silver/orders/records.delta").relation
    good = [(number, f"v{number}") for number in range(ROWS) if number not in BAD]
    assert sorted(tuple(row) for row in session.sql(f"SELECT id, v FROM {relation}").collect()) == good
    (path,) = [file.path for file in storage.list("archived_bronze") if file.path.endswith("/metadata.json")]
    parent = BronzeToSilverProcessingMetadata.load(storage, path)
    assert parent.metrics == ProcessingMetrics(success=len(good), failed=len(BAD))
    assert parent.end_timestamp is not None
    assert len(parent.errors_s3_path) == len(set(parent.errors_s3_path)) == len(BAD)
    expected = {path, f"{parent.folder.archive}/first.json", *parent.errors_s3_path}
    outside = {file.path for file in storage.list("") if not file.path.startswith(("silver/orders/records", ".tide"))}
    assert outside - {"tidegate.toml", "orders.odcs.yml"} == expected


def test_two_processes_at_once_lose_and_double_nothing(tmp_path: Path, delta: SparkSession) -> None:
    """Both take whatever they find: two files of one source, and one of another."""
    customers = TOML.partition("[chunks.sources.orders]")[2].replace("orders", "customers")
    (tmp_path / "tidegate.toml").write_text(f"{TOML}[chunks.sources.customers]{customers}")
    for name in ("orders", "customers"):
        (tmp_path / f"{name}.odcs.yml").write_text(CONTRACT.replace("orders", name))
    for path, first in (("orders/a.json", 0), ("orders/b.json", 20), ("customers/c.json", 0)):
        file = tmp_path / "bronze" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(json.dumps({"id": n, "v": f"v{n}"}) for n in range(first, first + 45)))
    command = [sys.executable, "-m", "tests.chunks.all_jobs", str(tmp_path)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(2)]
    outputs = [process.communicate(timeout=240)[0].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    assert run_all(tmp_path, delta).failures == []
    storage = open_storage(tmp_path)
    session = delta_session(load_settings(tmp_path), delta)
    for name, last in (("orders", 65), ("customers", 45)):
        relation = DeltaTable(session, storage, f"silver/{name}/records.delta").relation
        rows = sorted(tuple(row) for row in session.sql(f"SELECT id, v FROM {relation}").collect())
        assert rows == [(number, f"v{number}") for number in range(last)]
    paths = [file.path for file in storage.list("archived_bronze") if file.path.endswith("/metadata.json")]
    parents = [BronzeToSilverProcessingMetadata.load(storage, path) for path in paths]
    assert [parent.metrics for parent in parents] == [ProcessingMetrics(success=45)] * 3
    assert all(parent.end_timestamp for parent in parents)
    assert [file.path for file in storage.list("chunked_bronze")] == []


def row(number: int) -> dict[str, Any]:
    return {"id": number, "v": None if number in BAD else f"v{number}"}
