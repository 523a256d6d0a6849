"""A write of two commits leaves a snapshot between them that no run meant: nothing of Tidegate stops there."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.projects import ProjectFolder, run_types
from tidegate.errors import QueryError
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.unfinished_writes import PARTIAL, intermediate_snapshots
from tidegate.names import TableName
from tidegate.operations.diff.run_diff import diff
from tidegate.spark.session import child_session

pytestmark = pytest.mark.spark

FIRST = "SELECT * FROM VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y') AS t(id, name, g)"
SECOND = "SELECT * FROM VALUES (1, 'A', 'x'), (2, 'b', 'x'), (3, 'c', 'y'), (4, 'd', 'z') AS t(id, name, g)"


def table(shop: ProjectFolder, name: str) -> TableMetadata:
    found = shop.main.table(TableName("shop", "silver", name))
    assert found is not None
    return found


def middle_of(shop: ProjectFolder, name: str) -> int:
    (found,) = intermediate_snapshots(table(shop, name))
    return found


def at(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


def test_what_stands_between_two_commits_is_never_shown(shop: ProjectFolder) -> None:
    keyed = {"merge_strategy": "incremental", "unique_key": "id", "deltas": "always"}
    conf, name = shop.catalog.spark_conf("main"), shop.catalog.spark_catalog("main")
    others = child_session(shop.spark, conf, name)
    others.sql("CREATE NAMESPACE shop.src")
    others.sql(f"CREATE TABLE shop.src.orders AS {FIRST}")
    always = {"deltas": "always"}
    shop.model("silver.orders", "SELECT * FROM src.orders", **keyed)
    shop.model("silver.groups", "SELECT g, name FROM src.orders", kind="tracked", group_key="g", deltas="always")
    shop.model("gold.names", "SELECT g, count(*) AS n, max(name) AS last FROM silver.orders GROUP BY g", **always)
    shop.model("gold.copy", "SELECT id, name FROM silver.orders", kind="append")
    shop.run()
    tables = ("silver.orders", "silver.groups")
    before = shop.rows_of(*tables)
    others.sql("UPDATE shop.src.orders SET name = 'A' WHERE id = 1")
    others.sql("INSERT INTO shop.src.orders VALUES (4, 'd', 'z')")
    second = shop.run()
    assert run_types(second)["silver.orders"] == run_types(second)["silver.groups"] == "incremental"

    after = shop.rows_of(*tables)
    expected = {}
    for full_name, was in before.items():
        name = full_name.removeprefix("silver.")
        middle = table(shop, name).snapshots[middle_of(shop, name)]
        assert middle.summary[PARTIAL] == "true"
        assert middle.parent_id is not None
        current = table(shop, name).current_snapshot_id
        for clause in (f"'{at(middle.timestamp_ms)}'", f"timestamp_millis({middle.timestamp_ms})"):
            expected[f"SELECT t.* FROM silver.{name} TIMESTAMP AS OF {clause} AS t WHERE true"] = was
        with pytest.raises(QueryError, match=f"{middle.id} of shop.silver.{name} is in the middle") as refused:
            shop.rows(f"SELECT * FROM silver.{name} VERSION AS OF {middle.id}")
        assert str(current) in refused.value.remedy
        assert str(middle.parent_id) in refused.value.remedy
        expected[f"SELECT * FROM silver.{name} VERSION AS OF {middle.parent_id}"] = was
        expected[f"SELECT * FROM silver.{name} FOR VERSION AS OF {current}"] = after[full_name]
    assert shop.rows_of(*expected) == expected

    found = {one.table: one for one in diff(shop.settings, second.run_id, root=shop.spark).tables}
    orders = found["silver.orders"]
    assert (orders.inserted, orders.updated, orders.deleted) == (1, 1, 0)
    # Readers of changes span both commits.
    assert shop.rows("gold.names") == [("x", 2, "b"), ("y", 1, "c"), ("z", 1, "d")]
    assert shop.rows("gold.copy") == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_unchanged_groups_keep_their_row_ids(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", FIRST)
    shop.model("silver.groups", "SELECT g, name FROM bronze.orders", kind="tracked", group_key="g", deltas="never")
    shop.run()
    ids = "SELECT g, name, _row_id FROM silver.groups"
    was = shop.rows(ids)
    shop.model("bronze.orders", SECOND)
    second = shop.run()
    assert run_types(second)["silver.groups"] == "full"
    assert len(table(shop, "groups").snapshots) == 2
    now = shop.rows(ids)
    assert [row for row in now if row[0] == "y"] == [row for row in was if row[0] == "y"]
    assert [row[:2] for row in now] == [("x", "A"), ("x", "b"), ("y", "c"), ("z", "d")]
    assert not {row[2] for row in now if row[0] != "y"} & {row[2] for row in was}
