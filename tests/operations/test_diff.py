"""What a diff tells of a run or a branch."""

from __future__ import annotations

import pytest

from tests.projects import ProjectFolder
from tidegate.errors import SelectionError, SnapshotMissingError
from tidegate.operations.diff.compare import Diff, diff
from tidegate.operations.diff.table_diff import TableDiff
from tidegate.spark.session import child_session
from tidegate.state import RunRecord, open_state

pytestmark = pytest.mark.spark


def look(shop: ProjectFolder, name: str, *tables: str, limit: int = 5) -> Diff:
    before = {branch.name: branch for branch in shop.catalog.list_branches()}
    heads = shop.catalog.head()
    found = diff(shop.settings, name, tables, limit, shop.spark)
    assert shop.catalog.head() == heads, "looking changed main"
    assert {branch.name: branch for branch in shop.catalog.list_branches()} == before
    return found


def by_name(found: Diff) -> dict[str, TableDiff]:
    return {table.table: table for table in found.tables}


def counts(table: TableDiff) -> tuple[int, int, int]:
    return table.inserted, table.updated, table.deleted


def on_main(shop: ProjectFolder, run_id: str, *statements: str) -> None:
    conf = {
        **shop.catalog.spark_conf("main"),
        "spark.sql.iceberg.snapshot-property.tidegate.run-id": run_id,
    }
    session = child_session(shop.spark, conf, "main")
    for statement in statements:
        session.sql(statement)


ORDERS = "SELECT * FROM VALUES (1, 'open', 5.0D), (2, 'open', 6.0D), (3, 'paid', 7.0D) AS t(id, status, amount)"
LATER = "SELECT * FROM VALUES (1, 'paid', 5.5D), (2, 'open', 6.0D), (4, 'new', NULL) AS t(id, status, amount)"


def keyed(shop: ProjectFolder, sql: str, **more: str) -> None:
    shop.model("silver.orders", sql, merge_strategy="incremental", unique_key="id", **more)


def test_a_merge_is_told_by_row_lineage(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", ORDERS)
    keyed(shop, "SELECT * FROM bronze.orders")
    first = shop.run()
    shop.model("bronze.orders", LATER)
    second = shop.run()
    shop.model("bronze.orders", ORDERS)
    shop.run()
    orders = by_name(look(shop, second.run_id))["silver.orders"]
    assert (orders.change, orders.matched_by, counts(orders)) == ("changed", "lineage", (1, 1, 1))
    assert orders.columns == {"status": 1, "amount": 1}
    updated, inserted, deleted = orders.samples
    assert (updated.kind, updated.columns) == ("updated", ("status", "amount"))
    assert (updated.before, updated.after) == (
        {"id": 1, "status": "open", "amount": 5.0},
        {"id": 1, "status": "paid", "amount": 5.5},
    )
    assert (inserted.before, inserted.after) == (None, {"id": 4, "status": "new", "amount": None})
    assert (deleted.before, deleted.after) == ({"id": 3, "status": "paid", "amount": 7.0}, None)
    new = by_name(look(shop, first.run_id))["silver.orders"]
    assert (new.change, counts(new), len(new.samples)) == ("new", (3, 0, 0), 3)


def test_a_rewritten_table_is_matched_by_its_key_or_else_by_whole_rows(shop: ProjectFolder) -> None:
    shop.model("silver.keyed", ORDERS, unique_key="id")
    shop.model("silver.plain", f"{ORDERS} UNION ALL {ORDERS}")
    shop.run()
    shop.model("silver.keyed", LATER, unique_key="id")
    shop.model("silver.plain", f"{ORDERS} UNION ALL {LATER}")
    run = shop.run()
    found = by_name(look(shop, run.run_id))
    assert (found["silver.keyed"].matched_by, counts(found["silver.keyed"])) == ("key", (1, 1, 1))
    assert found["silver.keyed"].columns == {"status": 1, "amount": 1}
    plain = found["silver.plain"]
    assert (plain.matched_by, counts(plain), plain.columns) == ("rows", (2, 0, 2), {})
    assert [sample.kind for sample in plain.samples] == ["inserted", "inserted", "deleted", "deleted"]


def test_rows_deleted_and_written_again_are_no_change(shop: ProjectFolder) -> None:
    shop.model("bronze.items", "SELECT * FROM VALUES ('a', 1), ('a', 1), ('b', 2) AS t(kind, n)")
    shop.model("silver.items", "SELECT * FROM bronze.items", merge_strategy="tracked", group_key="kind")
    shop.run()
    shop.model("bronze.items", "SELECT * FROM VALUES ('a', 1), ('a', 1), ('a', 3), ('b', 2) AS t(kind, n)")
    run = shop.run()
    items = by_name(look(shop, run.run_id, "silver.items"))["silver.items"]
    assert (items.matched_by, counts(items)) == ("lineage", (1, 0, 0))


def test_a_kept_branch_is_compared_with_what_it_started_from(shop: ProjectFolder) -> None:
    shop.model("bronze.orders", ORDERS)
    keyed(shop, "SELECT * FROM bronze.orders")
    shop.model("silver.ids", "SELECT id FROM bronze.orders", materialized="view")
    shop.run()
    shop.model("bronze.orders", LATER)
    shop.model("silver.ids", "SELECT id, status FROM bronze.orders", materialized="view")
    shop.model("gold.total", "SELECT count(*) AS n FROM silver.orders")
    run = shop.run(no_publish=True)
    found = look(shop, run.run_id)
    tables = by_name(found)
    assert found.of == "branch"
    assert counts(tables["silver.orders"]) == (1, 1, 1)
    assert (tables["gold.total"].change, counts(tables["gold.total"])) == ("new", (1, 0, 0))
    assert (tables["silver.ids"].change, tables["silver.ids"].note) == ("view", "view redefined")


def test_columns_that_came_went_or_were_renamed_are_told(shop: ProjectFolder) -> None:
    shop.model("silver.orders", ORDERS)
    shop.run()
    on_main(
        shop,
        "run-by-hand",
        "ALTER TABLE shop.silver.orders ADD COLUMN note string",
        "ALTER TABLE shop.silver.orders RENAME COLUMN status TO state",
        "ALTER TABLE shop.silver.orders DROP COLUMN amount",
        "UPDATE shop.silver.orders SET note = 'x', state = 'late' WHERE id = 1",
    )
    with_state(shop, "run-by-hand")
    orders = by_name(look(shop, "run-by-hand"))["silver.orders"]
    assert (counts(orders), orders.columns) == ((0, 1, 0), {"state": 1, "note": 1})
    assert (orders.columns_added, orders.columns_dropped) == (("note",), ("amount",))
    assert orders.columns_renamed == {"status": "state"}


def test_tables_without_row_lineage_are_compared_by_key(shop: ProjectFolder) -> None:
    keyed(shop, ORDERS)
    on_main(
        shop,
        "run-one",
        "CREATE NAMESPACE IF NOT EXISTS shop.silver",
        f"CREATE TABLE shop.silver.orders USING iceberg TBLPROPERTIES ('format-version' = '2') AS {ORDERS}",
    )
    on_main(shop, "run-two", "UPDATE shop.silver.orders SET status = 'gone' WHERE id = 2")
    with_state(shop, "run-two")
    orders = by_name(look(shop, "run-two"))["silver.orders"]
    assert (orders.matched_by, counts(orders), orders.columns) == ("key", (0, 1, 0), {"status": 1})


def test_values_of_every_kind_can_be_told_apart(shop: ProjectFolder) -> None:
    row = (
        "SELECT 1 AS id, map('a', {n}) AS m, array({n}, NULL) AS a, named_struct('x', map({n}, 'y')) AS s, X'0{n}' AS b"
    )
    shop.model("silver.odd", row.format(n=1), unique_key="id")
    shop.run()
    shop.model("silver.odd", row.format(n=2), unique_key="id")
    run = shop.run()
    odd = by_name(look(shop, run.run_id))["silver.odd"]
    assert (counts(odd), odd.columns) == ((0, 1, 0), {"m": 1, "a": 1, "s": 1, "b": 1})
    assert odd.samples[0].after == {"id": 1, "m": {"a": 2}, "a": [2, None], "s": {"x": {"2": "y"}}, "b": "02"}


def test_a_type_that_changed_is_compared_in_the_wider_one(shop: ProjectFolder) -> None:
    shop.model("silver.n", "SELECT 1 AS id, 5 AS n UNION ALL SELECT 2, 6", unique_key="id")
    shop.run()
    shop.model("silver.n", "SELECT 1 AS id, '5' AS n UNION ALL SELECT 2, 'six'", unique_key="id")
    run = shop.run()
    assert counts(by_name(look(shop, run.run_id))["silver.n"]) == (0, 1, 0)


def test_samples_are_limited_and_counts_are_not(shop: ProjectFolder) -> None:
    shop.model("silver.many", "SELECT id, 0 AS n FROM range(50)", unique_key="id")
    shop.run()
    shop.model("silver.many", "SELECT id, 1 AS n FROM range(50)", unique_key="id")
    run = shop.run()
    many = by_name(look(shop, run.run_id, limit=2))["silver.many"]
    assert (counts(many), [sample.after for sample in many.samples]) == (
        (0, 50, 0),
        [{"id": 0, "n": 1}, {"id": 1, "n": 1}],
    )
    assert by_name(look(shop, run.run_id, limit=0))["silver.many"].samples == ()


def test_what_cannot_be_told_is_said_clearly(shop: ProjectFolder) -> None:
    shop.model("silver.orders", ORDERS)
    first = shop.run()
    shop.model("silver.orders", LATER)
    second = shop.run()
    with pytest.raises(SelectionError, match="no run or branch 'run-1'"):
        look(shop, "run-1")
    with pytest.raises(SelectionError, match=r"changed no row of 'silver.order'") as unknown:
        look(shop, second.run_id, "silver.order")
    assert "silver.orders" in (unknown.value.remedy or "")
    assert look(shop, shop.run().run_id).tables == ()
    expire(shop, "silver.orders")
    for run in (first, second):
        with pytest.raises(SnapshotMissingError, match="expired"):
            look(shop, run.run_id)


def expire(shop: ProjectFolder, name: str) -> None:
    """As maintenance does it: metadata that knows only the current snapshot."""
    session = child_session(shop.spark, shop.catalog.spark_conf("main"), "main")
    session.sql(f"ALTER TABLE shop.{name} SET TBLPROPERTIES ('gc.enabled' = 'true')")
    session.sql(f"CALL main.system.expire_snapshots(table => 'shop.{name}', older_than => now(), retain_last => 1)")


def with_state(shop: ProjectFolder, run_id: str) -> None:
    """A run that the history knows, and whose commits were made by hand."""
    with open_state(shop.settings.state.url) as store:
        store.start_run(RunRecord(run_id, "shop", "run", run_id, "run", shop.clock.now()))
