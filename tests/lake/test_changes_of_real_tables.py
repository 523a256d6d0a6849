"""What the metadata of real Iceberg tables says of changes is what their rows say."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.changes import TableChange, Untraceable, change_since
from tidegate.lake.progress import TableInput
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import Image, image_sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDERS = TableName("shop", "silver", "orders")
T = ORDERS.quoted
Rows = list[tuple[int, str | None]]


class Table:
    """Ten rows of id and status; a test reads them, changes them, and asks what happened."""

    def __init__(self, session: SparkSession, catalog: EmbeddedCatalog) -> None:
        self.session = session
        self.lake = BranchView(catalog, "run-1")
        self.lake.create_namespace(ORDERS)
        self.build()

    def build(self, properties: str = "") -> None:
        rows = "SELECT CAST(id AS int) AS id, 'new' AS status FROM range(0, 10, 1, 1)"
        self.sql(f"CREATE OR REPLACE TABLE {T} USING iceberg {properties} AS {rows}")

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.session.sql(statement)

    def seen(self, *used: str) -> TableInput:
        metadata = self.lake.table(ORDERS)
        assert metadata
        return metadata.table_input(used or None)

    def since(self, seen: TableInput) -> TableChange | Untraceable:
        metadata = self.lake.table(ORDERS)
        assert metadata
        return change_since(metadata, seen)

    def rows(self, sql: str = f"SELECT id, status FROM {T}") -> Rows:
        return sorted((row["id"], row["status"]) for row in self.session.sql(sql).collect())

    @property
    def catalog(self) -> str:
        [(name,)] = self.session.sql("SELECT current_catalog()").collect()
        return str(name)

    def compact(self) -> None:
        table = f"{ORDERS.namespace}.{ORDERS.layer}.{ORDERS.name}"
        options = "map('rewrite-all', 'true')"
        self.sql(f"CALL {self.catalog}.system.rewrite_data_files(table => '{table}', options => {options})")


@pytest.fixture
def table(on_branch: Callable[[str], SparkSession], catalog: EmbeddedCatalog) -> Table:
    return Table(on_branch("run-1"), catalog)


def merge(rows: str, *clauses: str) -> str:
    return f"MERGE INTO {T} t USING (VALUES {rows} AS s(id, status)) s ON t.id = s.id {' '.join(clauses)}"


UPDATE = "WHEN MATCHED THEN UPDATE SET status = s.status"
INSERT = "WHEN NOT MATCHED THEN INSERT *"
DELETE = "WHEN MATCHED THEN DELETE"

CHANGES: dict[str, tuple[list[str], Rows, Rows, bool, bool]] = {
    # what happens, rows before, rows after, insert_only, may_delete
    "insert": ([f"INSERT INTO {T} VALUES (10, 'a')"], [], [(10, "a")], True, False),
    "merge that inserts": ([merge("(10, 'a')", UPDATE, INSERT)], [], [(10, "a")], True, False),
    "merge": ([merge("(1, 'b'), (10, 'a')", UPDATE, INSERT)], [(1, "new")], [(1, "b"), (10, "a")], False, False),
    "merge that deletes": ([merge("(1, 'b')", DELETE)], [(1, "new")], [], False, True),
    "update": ([f"UPDATE {T} SET status = NULL WHERE id = 2"], [(2, "new")], [(2, None)], False, True),
    "update of the key": ([f"UPDATE {T} SET id = 20 WHERE id = 2"], [(2, "new")], [(20, "new")], False, True),
    "delete": ([f"DELETE FROM {T} WHERE id = 3"], [(3, "new")], [], False, True),
    "insert and delete": ([f"INSERT INTO {T} VALUES (10, 'a')", f"DELETE FROM {T} WHERE id = 10"], [], [], False, True),
    "delete and insert": (
        [f"DELETE FROM {T} WHERE id = 3", f"INSERT INTO {T} VALUES (3, 'new')"],
        [(3, "new")],
        [(3, "new")],
        False,
        True,
    ),
}


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("what", CHANGES)
def test_images_hold_the_rows_that_changed(table: Table, what: str, compacted: bool) -> None:
    statements, before, after, insert_only, may_delete = CHANGES[what]
    table.sql(f"UPDATE {T} SET status = 'new' WHERE id = 5")
    seen, then = table.seen(), table.rows()
    table.sql(*statements)
    if compacted:
        table.compact()
    found = table.since(seen)
    assert isinstance(found, TableChange)
    columns = ("id", "status")
    images = {image: table.rows(image_sql(ORDERS, image, found, columns)) for image in Image}
    assert images == {Image.BEFORE: before, Image.AFTER: after, Image.THEN: then}
    assert (found.rows_then, found.rows_now) == (10, len(table.rows()))
    assert found.rows_written >= len(after)
    assert found.rows_removed >= len(before)
    assert (found.insert_only, found.may_delete) == (insert_only, may_delete)


def test_copy_on_write_tells_changed_rows_from_copied_ones(table: Table) -> None:
    modes = ", ".join(f"'write.{what}.mode' = 'copy-on-write'" for what in ("merge", "update", "delete"))
    table.sql(f"ALTER TABLE {T} SET TBLPROPERTIES ({modes})")
    seen = table.seen()
    table.sql(merge("(1, 'b'), (10, 'a')", UPDATE, INSERT))
    found = table.since(seen)
    assert isinstance(found, TableChange)
    assert (found.rows_written, found.rows_removed, found.insert_only, found.may_delete) == (2, 1, False, True)
    assert table.rows(image_sql(ORDERS, Image.BEFORE, found, ("id", "status"))) == [(1, "new")]
    assert table.rows(image_sql(ORDERS, Image.AFTER, found, ("id", "status"))) == [(1, "b"), (10, "a")]


def test_promises_of_commits_are_found_in_their_summaries(table: Table) -> None:
    seen = table.seen()
    prefix = "spark.sql.iceberg.snapshot-property"
    table.session.conf.set(f"{prefix}.tidegate.row-key", '["id"]')
    table.session.conf.set(f"{prefix}.tidegate.changed-columns", '["status"]')
    table.sql(merge("(1, 'b')", UPDATE))
    found = table.since(seen)
    assert isinstance(found, TableChange)
    assert found.columns == {"status"}
    assert found.keyed_by is not None
    assert {"id"} <= found.keyed_by
    assert "status" not in found.keyed_by


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([f"CREATE OR REPLACE TABLE {T} USING iceberg AS SELECT 1 AS id, 'a' AS status"], "was rebuilt"),
        (
            [f"DROP TABLE {T}", f"CREATE TABLE {T} (id int, status string) USING iceberg"],
            "was dropped and created again",
        ),
        (
            [
                f"ALTER TABLE {T} RENAME COLUMN id TO x",
                f"ALTER TABLE {T} RENAME COLUMN status TO id",
                f"ALTER TABLE {T} RENAME COLUMN x TO status",
            ],
            "has other columns: id is now status, status is now id",
        ),
        ([f"ALTER TABLE {T} ALTER COLUMN id TYPE bigint"], "has other columns: id has another type"),
    ],
)
def test_what_has_no_delta_is_told(table: Table, statements: list[str], reason: str) -> None:
    seen = table.seen("id", "status")
    table.sql(*statements)
    found = table.since(seen)
    assert isinstance(found, Untraceable)
    assert found.reason == reason


def test_a_rollback_and_what_came_after_it(table: Table) -> None:
    first = table.seen()
    table.sql(f"INSERT INTO {T} VALUES (10, 'a')")
    seen = table.seen()
    table.sql(f"CALL {table.catalog}.system.rollback_to_snapshot('shop.silver.orders', {first.snapshot_id})")
    assert table.since(seen) == Untraceable("was rolled back")
    table.sql(f"INSERT INTO {T} VALUES (10, 'b')")
    assert table.since(seen) == Untraceable("was rolled back")


def test_a_discarded_branch_with_the_same_numbers_is_no_ancestor(
    on_branch: Callable[[str], SparkSession], catalog: EmbeddedCatalog
) -> None:
    one = Table(on_branch("run-1"), catalog)
    catalog.publish("run-1", [ORDERS])
    other = on_branch("run-2")
    one.sql(f"INSERT INTO {T} VALUES (10, 'a')")
    other.sql(f"INSERT INTO {T} VALUES (10, 'b')")
    seen, kept = one.seen(), BranchView(catalog, "run-2").table(ORDERS)
    assert kept
    assert kept.current
    assert (kept.current.sequence_number, kept.current.next_row_id) == (seen.sequence_number, seen.next_row_id)
    assert change_since(kept, seen) == Untraceable("has another history than the one that was read")


def test_a_table_that_was_upgraded_after_it_was_read(table: Table) -> None:
    table.sql(f"DROP TABLE {T}")
    table.build("TBLPROPERTIES ('format-version' = '2')")
    seen = table.seen()
    table.sql(f"INSERT INTO {T} VALUES (10, 'a')")
    assert table.since(seen) == Untraceable("changed and has no row lineage (format 2)")
    table.sql(f"ALTER TABLE {T} SET TBLPROPERTIES ('format-version' = '3')", f"INSERT INTO {T} VALUES (11, 'a')")
    assert table.since(seen) == Untraceable("changed and had no row lineage when it was read")
    later = table.seen()
    table.sql(f"INSERT INTO {T} VALUES (12, 'a')")
    assert isinstance(table.since(later), TableChange)
