"""What a diff tells of a run or a branch."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.projects import ProjectFolder
from tidegate.errors import SelectionError, SnapshotMissingError
from tidegate.operations.diff.run_diff import Diff, diff
from tidegate.operations.diff.table_diff import TableDiff
from tidegate.runs import RunResult
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


ITEMS = "SELECT * FROM VALUES ('a', 1), ('a', 1), ('b', 2) AS t(kind, n)"
MORE_ITEMS = "SELECT * FROM VALUES ('a', 1), ('a', 1), ('a', 3), ('b', 2) AS t(kind, n)"
ODD = "SELECT 1 AS id, map('a', {n}) AS m, array({n}, NULL) AS a, named_struct('x', map({n}, 'y')) AS s, X'0{n}' AS b"
KEYED = {"merge_strategy": "incremental", "unique_key": "id"}


@dataclass
class Story:
    """Three runs of one project, and a fourth that was not published. Every test has its own tables."""

    shop: ProjectFolder
    first: RunResult
    second: RunResult
    kept: RunResult

    def of(self, run_id: str, name: str, limit: int = 5) -> TableDiff:
        (table,) = look(self.shop, run_id, name, limit=limit).tables
        return table


@pytest.fixture(scope="module")
def story(module_shop: ProjectFolder) -> Story:
    shop = module_shop
    shop.model("silver.orders", "SELECT * FROM bronze.orders", **KEYED)
    shop.model("silver.items", "SELECT * FROM bronze.items", merge_strategy="tracked", group_key="kind")
    shop.model("bronze.kept", ORDERS)
    shop.model("silver.kept", "SELECT * FROM bronze.kept", **KEYED)
    shop.model("silver.ids", "SELECT id FROM bronze.kept", materialized="view")
    shop.model("silver.columns", ORDERS)
    write_models(shop, ORDERS, f"{ORDERS} UNION ALL {ORDERS}", ITEMS, 1, "5", "6")
    first = shop.run()
    write_models(shop, LATER, f"{ORDERS} UNION ALL {LATER}", MORE_ITEMS, 2, "'5'", "'six'")
    second = shop.run()
    shop.model("bronze.orders", ORDERS)
    shop.run("bronze.orders", "silver.orders")
    shop.model("bronze.kept", LATER)
    shop.model("silver.ids", "SELECT id, status FROM bronze.kept", materialized="view")
    shop.model("gold.total", "SELECT count(*) AS n FROM silver.kept")
    kept = shop.run("bronze.kept", "silver.kept", "silver.ids", "gold.total", no_publish=True)
    return Story(shop, first, second, kept)


def write_models(shop: ProjectFolder, orders: str, plain: str, items: str, n: int, five: str, six: str) -> None:
    shop.model("bronze.orders", orders)
    shop.model("silver.keyed", orders, unique_key="id")
    shop.model("silver.plain", plain)
    shop.model("bronze.items", items)
    shop.model("silver.odd", ODD.format(n=n), unique_key="id")
    shop.model("silver.n", f"SELECT 1 AS id, {five} AS n UNION ALL SELECT 2, {six}", unique_key="id")
    shop.model("silver.many", f"SELECT id, {n} AS n FROM range(50)", unique_key="id")


def test_a_merge_is_told_by_row_lineage(story: Story) -> None:
    orders = story.of(story.second.run_id, "silver.orders")
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
    new = story.of(story.first.run_id, "silver.orders")
    assert (new.change, counts(new), len(new.samples)) == ("new", (3, 0, 0), 3)


def test_a_rewritten_table_is_matched_by_its_key_or_else_by_whole_rows(story: Story) -> None:
    found = by_name(look(story.shop, story.second.run_id, "silver.keyed", "silver.plain"))
    assert (found["silver.keyed"].matched_by, counts(found["silver.keyed"])) == ("key", (1, 1, 1))
    assert found["silver.keyed"].columns == {"status": 1, "amount": 1}
    plain = found["silver.plain"]
    assert (plain.matched_by, counts(plain), plain.columns) == ("rows", (2, 0, 2), {})
    assert [sample.kind for sample in plain.samples] == ["inserted", "inserted", "deleted", "deleted"]


def test_rows_deleted_and_written_again_are_no_change(story: Story) -> None:
    items = story.of(story.second.run_id, "silver.items")
    assert (items.matched_by, counts(items)) == ("lineage", (1, 0, 0))


def test_a_kept_branch_is_compared_with_what_it_started_from(story: Story) -> None:
    found = look(story.shop, story.kept.run_id)
    tables = by_name(found)
    assert found.of == "branch"
    assert counts(tables["silver.kept"]) == (1, 1, 1)
    assert (tables["gold.total"].change, counts(tables["gold.total"])) == ("new", (1, 0, 0))
    assert (tables["silver.ids"].change, tables["silver.ids"].note) == ("view", "view redefined")


def test_columns_that_came_went_or_were_renamed_are_told(story: Story) -> None:
    shop = story.shop
    on_main(
        shop,
        "run-by-hand",
        "ALTER TABLE shop.silver.columns ADD COLUMN note string",
        "ALTER TABLE shop.silver.columns RENAME COLUMN status TO state",
        "ALTER TABLE shop.silver.columns DROP COLUMN amount",
        "UPDATE shop.silver.columns SET note = 'x', state = 'late' WHERE id = 1",
    )
    with_state(shop, "run-by-hand")
    (columns,) = look(shop, "run-by-hand").tables
    assert columns.table == "silver.columns"
    assert (counts(columns), columns.columns) == ((0, 1, 0), {"state": 1, "note": 1})
    assert (columns.columns_added, columns.columns_dropped) == (("note",), ("amount",))
    assert columns.columns_renamed == {"status": "state"}


def test_tables_without_row_lineage_are_compared_by_key(story: Story) -> None:
    shop = story.shop
    shop.model("silver.older", ORDERS, **KEYED)
    on_main(
        shop,
        "run-one",
        "CREATE NAMESPACE IF NOT EXISTS shop.silver",
        f"CREATE TABLE shop.silver.older USING iceberg TBLPROPERTIES ('format-version' = '2') AS {ORDERS}",
    )
    on_main(shop, "run-two", "UPDATE shop.silver.older SET status = 'gone' WHERE id = 2")
    with_state(shop, "run-two")
    (older,) = look(shop, "run-two").tables
    assert (older.matched_by, counts(older), older.columns) == ("key", (0, 1, 0), {"status": 1})


def test_values_of_every_kind_can_be_told_apart(story: Story) -> None:
    odd = story.of(story.second.run_id, "silver.odd")
    assert (counts(odd), odd.columns) == ((0, 1, 0), {"m": 1, "a": 1, "s": 1, "b": 1})
    assert odd.samples[0].after == {"id": 1, "m": {"a": 2}, "a": [2, None], "s": {"x": {"2": "y"}}, "b": "02"}


def test_a_type_that_changed_is_compared_in_the_wider_one(story: Story) -> None:
    assert counts(story.of(story.second.run_id, "silver.n")) == (0, 1, 0)


def test_samples_are_limited_and_counts_are_not(story: Story) -> None:
    many = story.of(story.second.run_id, "silver.many", limit=2)
    assert (counts(many), [sample.after for sample in many.samples]) == (
        (0, 50, 0),
        [{"id": 0, "n": 2}, {"id": 1, "n": 2}],
    )
    assert story.of(story.second.run_id, "silver.many", limit=0).samples == ()


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
