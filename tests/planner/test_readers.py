"""When a table that is computed from all rows is written as the rows that differ: where its readers gain by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build, table
from tests.planner.histories import History
from tidegate.lake import EmbeddedCatalog
from tidegate.lake.changes import TableChange, Untraceable, change_since
from tidegate.lake.progress import Progress
from tidegate.lake.view import BranchView
from tidegate.planner.decide import Decision, RunType
from tidegate.planner.inputs import Inputs
from tidegate.planner.make_plan import ModelPlan
from tidegate.planner.readers import as_difference, readers_of

FILES = {
    "models/bronze/orders.sql": "SELECT 1 AS id, 2 AS amount\n",
    "models/silver/m.sql": "-- @unique_key: id\nSELECT id, amount FROM bronze.orders LIMIT 5\n",
    "models/silver/keyless.sql": "SELECT id, amount FROM bronze.orders LIMIT 5\n",
    "models/gold/r.sql": "SELECT id FROM silver.m JOIN silver.keyless USING (id)\n",
    "models/gold/v.sql": "-- @kind: view\nSELECT id FROM silver.m\n",
}


def test_readers_of_a_table_are_the_models_that_name_it(tmp_path: Path) -> None:
    readers = readers_of(build(tmp_path, FILES).compiled)
    assert [reader.model.table.name for reader in readers[table("silver.m")]] == ["r", "v"]
    assert table("gold.r") not in readers


@pytest.mark.parametrize(
    ("model", "changed", "reader_ms", "kind", "wanted"),
    [
        ("silver.m", "merge ~5", 60_000, RunType.FULL, True),
        ("silver.m", "merge ~5", 1_000, RunType.FULL, False),
        ("silver.m", "merge ~900000", 60_000, RunType.FULL, False),
        ("silver.m", "rebuild +5", 60_000, RunType.FULL, False),
        ("silver.m", "merge ~5", 60_000, RunType.BACKFILL, False),
        ("silver.keyless", "merge ~5", 60_000, RunType.FULL, False),
    ],
)
def test_a_difference_is_written_where_readers_gain(
    tmp_path: Path, model: str, changed: str, reader_ms: int, kind: RunType, wanted: bool
) -> None:
    compiled = build(tmp_path, FILES).compiled
    catalog = EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")
    catalog.create_branch("run-1")
    orders = History(tmp_path / "orders")
    now = orders.play(f"append +1000000\nread\n{changed}")
    assert orders.was_read
    found: TableChange | Untraceable = change_since(now, orders.was_read.table_input())
    known = Progress("r", "f", "full", "full_refresh", full_ms=reader_ms).to_json()
    for name, progress in ((model, None), ("gold.r", known)):
        history = History(tmp_path / name, progress=progress)
        history.play("append +1000000")
        catalog.create_namespace("run-1", table(name))
        catalog.restore("run-1", table(name), history.pointer())
    inputs = Inputs(metadata={"shop.bronze.orders": now}, changed={"shop.bronze.orders": found})
    readers = readers_of(compiled)[table(model)]
    facts = ModelPlan(Decision(kind, "because"), inputs)
    assert as_difference(compiled.models[table(model)], facts, readers, BranchView(catalog, "run-1")) is wanted
