"""Rows of a contract's quarantine that are replayed or waived, on Spark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.projects import ProjectFolder, run_types
from tests.runs.test_snapshot_contracts import contracts, live
from tidegate.errors import QueryError
from tidegate.hooks.events import Event
from tidegate.operations.quarantine.quarantined_rows import list_quarantine
from tidegate.operations.quarantine.replay_and_waive import ReplayResult, replay_quarantine, waive_quarantine
from tidegate.operations.workspace import Workspace
from tidegate.planner.replay import QuarantineFilter

pytestmark = pytest.mark.spark

CONTRACT = """apiVersion: v3.1.0
kind: DataContract
id: {table}
version: 1.0.0
status: active
schema:
  - name: {table}_source
    customProperties:
      - {{property: connector, value: landing_push}}
      - {{property: source_system, value: shop}}
      - {{property: landing_directory, value: {table}}}
      - {{property: landing_file_format, value: csv}}
      - {{property: ingestion_read_strategy, value: incremental}}
      - {{property: bronze_table, value: {table}}}
    properties: [{{name: id, logicalType: string}}, {{name: n, logicalType: string}}]
  - name: {table}
    properties:
      - {{name: id, physicalType: bigint, logicalType: integer{key}}}
      - name: n
        physicalType: bigint
        logicalType: integer
        {n}
"""
STRICT, FIXED = "logicalTypeOptions: {minimum: 0}", "logicalTypeOptions: {minimum: -50}"


def write(shop: ProjectFolder, table: str, n: str) -> None:
    key = ", primaryKey: true" if table == "orders" else ""
    shop.file(f"contracts/{table}.odcs.yml", CONTRACT.format(table=table, key=key, n=n))


def replay(shop: ProjectFolder, table: str, *listeners: Any, **rows: str) -> ReplayResult:
    return replay_quarantine(Workspace(shop.settings), table, QuarantineFilter(**rows), listeners=listeners)


def open_rows(shop: ProjectFolder, table: str) -> list[tuple[Any, ...]]:
    return shop.rows(f"SELECT id, n, _stage FROM {table}__quarantine WHERE coalesce(_status, 'open') = 'open'")


def statuses_of(shop: ProjectFolder, table: str) -> Counter[str]:
    (listed,) = list_quarantine(Workspace(shop.settings), table).tables
    return Counter(open=listed.open, replayed=listed.replayed, waived=listed.waived)


def test_replayed_rows_go_through_the_contract_as_it_is_now(shop: ProjectFolder) -> None:
    for table in ("orders", "events"):
        write(shop, table, STRICT)
        shop.file(f"landing/{table}/1.csv", "id,n\n1,10\n2,x\n3,-30\n4,-40\n5,-99\n")
    shop.model("gold.total", "SELECT count(*) AS orders, sum(n) AS n FROM silver.orders")
    shop.model("gold.events", "SELECT count(*) AS events FROM silver.events")
    assert shop.run().exit_code == 0
    shop.file("landing/orders/2.csv", "id,n\n3,33\n")
    assert shop.run().exit_code == 0
    assert shop.rows("SELECT id, n FROM silver.orders") == [(1, 10), (3, 33)]

    # Nothing has happened to a row of which the run failed, also where it had written it.
    for table in ("orders", "events"):
        write(shop, table, FIXED)
    before = shop.rows("SELECT * FROM silver.orders__quarantine")

    def break_off(event: Event) -> None:
        if event.name == "after_materialize" and event.model == "silver.orders":
            raise QueryError("broken off")

    failed = replay(shop, "silver.orders", break_off, stage="constraint")
    assert failed.exit_code != 0
    assert failed.replayed is None
    assert shop.rows("SELECT * FROM silver.orders__quarantine") == before
    assert shop.rows("SELECT id, n FROM silver.orders") == [(1, 10), (3, 33)]

    # A row that is older than the state of its key changes nothing; one that fails again is open again.
    done = replay(shop, "silver.orders", stage="constraint")
    assert done.run is not None
    assert done.chosen.rows == 3
    assert run_types(done.run) == {"silver.orders": "incremental", "gold.total": "full"}
    assert done.replayed is not None
    assert done.replayed.reason == "replay of 3 quarantined rows"
    stages = done.replayed.stages
    assert (stages["read"], stages["valid"], stages["quarantined_constraint"]) == (3, 2, 1)
    assert any("all other rows of bronze go through it" in warning for warning in done.run.warnings)
    assert shop.rows("SELECT id, n FROM silver.orders") == [(1, 10), (3, 33), (4, -40)]
    assert shop.rows("gold.total") == [(3, 3)]
    assert open_rows(shop, "silver.orders") == [("2", "x", "cast"), ("5", "-99", "constraint")]
    refused = shop.rows(
        "SELECT _reasons[0], _status_run_id, _status_by IS NULL FROM silver.orders__quarantine WHERE id=5"
    )
    assert [(row[1:], "-50" in row[0]) for row in refused] == [
        ((None, True), True),
        ((done.run.run_id, False), False),
    ]
    assert statuses_of(shop, "silver.orders") == Counter(open=2, replayed=3)
    assert replay(shop, "silver.orders", rule="pattern").run is None

    # Appended rows are there once: a second replay has nothing of them.
    appended = replay(shop, "silver.events", run=shop.rows("SELECT max(_run_id) FROM silver.events__quarantine")[0][0])
    assert appended.replayed is not None
    assert shop.rows("SELECT id, n FROM silver.events") == [(1, 10), (3, -30), (4, -40)]
    again = replay(shop, "silver.events")
    assert (again.chosen.rows, again.run and run_types(again.run)["gold.events"]) == (2, "skip")
    assert shop.rows("SELECT id, n FROM silver.events") == [(1, 10), (3, -30), (4, -40)]

    # Waived rows are neither listed nor replayed, and stay waived where all rows are judged again as before.
    workspace = Workspace(shop.settings)
    waived = waive_quarantine(
        workspace, "silver.orders", QuarantineFilter(stage="cast"), note="it's a test", root=shop.spark
    )
    assert waived.waived == 1
    assert shop.branches() == []
    assert statuses_of(shop, "silver.orders") == Counter(open=1, replayed=3, waived=1)
    rebuilt = shop.run()
    assert {run_types(rebuilt)[table] for table in ("silver.orders", "silver.events")} == {"backfill"}
    assert shop.rows("SELECT id, n FROM silver.orders") == [(1, 10), (3, 33), (4, -40)]
    assert open_rows(shop, "silver.orders") == [("5", "-99", "constraint")]
    assert shop.rows("SELECT id, _status_note FROM silver.orders__quarantine WHERE _status = 'waived'") == [
        ("2", "it's a test")
    ]


def test_a_replayed_row_of_a_key_that_is_gone_brings_it_not_back(shop: ProjectFolder) -> None:
    contracts(shop, longest=6)
    shop.file("landing/people/1.csv", "id,city\n1,Paris\n2,Helsinki\n3,Marseille\n")
    assert shop.run().exit_code == 0
    shop.file("landing/people/2.csv", "id,city\n1,Paris\n3,Marseille\n")
    assert shop.run().exit_code == 0
    assert live(shop) == ([(1,)], [(1,)])
    contracts(shop, longest=9)
    for table in ("silver.people", "silver.moves"):
        assert replay(shop, table).exit_code == 0
        assert statuses_of(shop, table) == Counter(replayed=3)
    assert live(shop) == ([(1,), (3,)], [(1,), (3,)])
