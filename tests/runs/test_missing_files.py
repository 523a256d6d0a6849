"""A run over a table of which a file was deleted: the error names table, snapshot and the way back, which works."""

from __future__ import annotations

import pytest

from tests.runs.conftest import ProjectFolder, statuses
from tidegate.errors import LakeError
from tidegate.lake.metadata import local_path
from tidegate.lake.missing_files import damages
from tidegate.names import TableName
from tidegate.runs.query import query

pytestmark = pytest.mark.spark


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
