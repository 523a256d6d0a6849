"""Runs over contracts of a PostgreSQL that is written to all the time, killed by SIGKILL: no row is missed or doubled.

Rows have the numbers 1, 2, 3 … in the order of their commits. So bronze of an incremental contract must have each
number up to its checkpoint once, and a snapshot, whenever it was read, the first so many of them.
"""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.projects import ProjectFolder, statuses
from tests.runs.test_killed import start
from tests.sources.postgres import Postgres
from tidegate.faults import FAULT_LOG
from tidegate.names import TableName

pytestmark = pytest.mark.spark

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
PASSWORD = "pg-hunter33"
BATCHED = {"sql_extraction_mode": "batched", "ingestion_ordering_columns": ["number"], "batch_size": 100}
SINGLE = {"sql_extraction_mode": "single_query"}
INCREMENTAL = {"ingestion_read_strategy": "incremental", "ingestion_filtering_column": "number"}
FULL = {"ingestion_read_strategy": "full_snapshot"}
CONTRACTS = {
    "part_batched": {**INCREMENTAL, **BATCHED},
    "part_single": {**INCREMENTAL, **SINGLE},
    "full_single": {**FULL, **SINGLE},
    "full_batched": {**FULL, **BATCHED},
}
CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: {name}
version: 1.0.0
status: active
schema:
  - name: {name}_source
    physicalName: ingested.orders
    customProperties:
{properties}
    properties: [{{name: number, logicalType: integer}}, {{name: note, logicalType: string}}]
  - name: {name}
    properties:
      - {{name: number, physicalType: bigint, logicalType: integer, primaryKey: true}}
      - {{name: note, physicalType: string, logicalType: string, required: true}}
"""
GOLD = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS rows FROM silver.{name}" for name in CONTRACTS)


class Orders:
    """The table: `number` grows by one with each row, and each row is a commit."""

    def __init__(self, server: Postgres) -> None:
        self.address = f"host=127.0.0.1 port={server.port} user=postgres dbname=postgres"

    def insert(self, rows: int) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            for _ in range(rows):
                connection.execute(
                    "INSERT INTO ingested.orders SELECT coalesce(max(number), 0) + 1, 'new' FROM ingested.orders"
                )

    def count(self) -> int:
        with psycopg.connect(self.address) as connection:
            row = connection.execute("SELECT count(*) FROM ingested.orders").fetchone()
        assert row is not None
        return int(row[0])

    @contextmanager
    def arriving(self) -> Iterator[None]:
        ended = threading.Event()

        def insert() -> None:
            while not ended.wait(0.2):
                self.insert(1)

        thread = threading.Thread(target=insert)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@pytest.fixture
def orders(postgres: Postgres) -> Iterator[Orders]:
    postgres.execute(
        f"CREATE ROLE ingested LOGIN PASSWORD '{PASSWORD}'",
        "CREATE SCHEMA ingested AUTHORIZATION ingested",
        "CREATE TABLE ingested.orders (number bigint PRIMARY KEY, note text)",
        "GRANT SELECT ON ingested.orders TO ingested",
    )
    yield Orders(postgres)
    postgres.execute("DROP SCHEMA ingested CASCADE", "DROP ROLE ingested")


def write_project(shop: ProjectFolder, port: int) -> None:
    source = f'\n[sources.pg]\nkind = "database"\nurl = "postgresql://127.0.0.1:{port}/postgres"\nuser = "ingested"\n'
    text = (shop.root / "tidegate.toml").read_text() + source + 'password = "${PG_PASSWORD}"\n'
    shop.file("tidegate.toml", text)
    for name, rules in CONTRACTS.items():
        common = {"connector": "postgres", "source_system": "pg", "landing_file_format": "parquet"}
        own = {"landing_directory": name, "bronze_table": name}
        properties = [
            f"      - {{property: {key}, value: {json.dumps(value)}}}"
            for key, value in {**common, **own, **rules}.items()
        ]
        shop.file(f"contracts/{name}.odcs.yml", CONTRACT.format(name=name, properties="\n".join(properties)))
    shop.model("gold.rows", GOLD)


def check_main(shop: ProjectFolder) -> dict[str, int]:
    """Main is as one run published it: the rows of each silver table, which are the first so many."""
    snapshot = "element_at(split(_source_file, '/'), -2)"
    counts = "count(*) AS rows, count(DISTINCT number) AS numbers, max(CAST(number AS BIGINT)) AS last"
    parts = ["SELECT 'gold' AS layer, name, '' AS read, rows, rows AS numbers, rows AS last FROM gold.rows"]
    for name, rules in CONTRACTS.items():
        read = snapshot if rules["ingestion_read_strategy"] == "full_snapshot" else "''"
        parts.append(f"SELECT 'bronze', '{name}', {read}, {counts} FROM bronze.{name} GROUP BY {read}")
        parts.append(f"SELECT 'silver', '{name}', '', {counts} FROM silver.{name}")
    found = shop.rows(" UNION ALL ".join(parts))
    assert [row for row in found if not row[3] == row[4] == row[5]] == []
    silver = {name: rows for layer, name, _, rows, _, _ in found if layer == "silver"}
    assert {name: rows for layer, name, _, rows, _, _ in found if layer == "gold"} == silver
    for name, rules in CONTRACTS.items():
        newest = max(rows for layer, table, _, rows, _, _ in found if (layer, table) == ("bronze", name))
        assert newest == silver[name]
        if rules["ingestion_read_strategy"] == "incremental":
            metadata = shop.main.table(TableName("shop", "bronze", name))
            assert metadata is not None
            assert json.loads(metadata.properties["tidegate.checkpoint"])["checkpoint_value"] == str(newest)
    return silver


def every_point(shop: ProjectFolder, orders: Orders, log: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each point that a run over new rows comes to, those of models and of sources by turns for one of the first."""
    orders.insert(150)
    with monkeypatch.context() as patch:
        patch.setenv(FAULT_LOG, str(log))
        assert shop.run().exit_code == 0
    reached: dict[str, list[str]] = {}
    for line in log.read_text().splitlines():
        point = line.partition(":")[0]
        times = len(reached.setdefault(point, []))
        reached[point].append(line if ":" in line or times == 0 else f"{point}@{times + 1}")
    chosen = [places[turn % min(3, len(places))] for turn, places in enumerate(reached.values())]
    return [point for point in chosen if "maintenance" not in point]


@pytest.mark.skipif(not PROVE, reason="kills at every point, which takes minutes: make prove")
def test_killed_while_rows_arrive_no_row_is_missed_or_doubled(
    shop: ProjectFolder, orders: Orders, postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_PASSWORD", PASSWORD)
    write_project(shop, postgres.port)
    orders.insert(350)
    assert shop.run().exit_code == 0
    published = check_main(shop)
    assert set(published.values()) == {350}
    kills = every_point(shop, orders, tmp_path / "points", monkeypatch)

    for point in kills:
        orders.insert(150)
        with orders.arriving():
            process = start(shop.root, TIDEGATE_FAULT=point)
            output, _ = process.communicate(timeout=300)
        assert process.returncode == -signal.SIGKILL, f"{point}: {output}"
        before, published = published, check_main(shop)
        assert all(published[name] >= before[name] for name in CONTRACTS), point
        print(f"{point}: {sorted(published.items())} of {orders.count()}")

    with orders.arriving():
        assert shop.run().exit_code == 0
    check_main(shop)
    assert set(statuses(shop.run()).values()) <= {"completed", "skipped"}
    assert set(check_main(shop).values()) == {orders.count()}
