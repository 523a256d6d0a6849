from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tidegate.config import (
    ContractsSection,
    LakeSection,
    LandingSection,
    MaintenanceSection,
    ProjectSection,
    RunSection,
    Settings,
    SparkSection,
    StateSection,
)
from tidegate.lake import BranchView, EmbeddedCatalog, TableMetadata
from tidegate.lake.metadata import local_path
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName
from tidegate.operations.maintain import Compacted, MaintenanceReport, maintain, maintain_after_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OnBranch = Callable[[str], "SparkSession"]
ORDERS = TableName("shop", "silver", "orders")
SECTION = MaintenanceSection(min_small_files=4, keep_snapshots=1, keep_days=1)


def later(days: float = 3) -> Callable[[], datetime]:
    moment = datetime.now(UTC) + timedelta(days=days)
    return lambda: moment


def settings(catalog: EmbeddedCatalog, section: MaintenanceSection = SECTION) -> Settings:
    root = catalog.path.parent
    return Settings(
        root=root,
        file=root / "tidegate.toml",
        project=ProjectSection("shop", "shop"),
        lake=LakeSection("embedded", catalog.path, catalog.warehouse),
        spark=SparkSection(),
        state=StateSection("sqlite://"),
        run=RunSection(),
        landing=LandingSection(root / "landing"),
        contracts=ContractsSection(root / "contracts", root),
        maintenance=section,
    )


def orders(catalog: EmbeddedCatalog, branch: str = "main") -> TableMetadata:
    found = BranchView(catalog, branch).table(ORDERS)
    assert found is not None
    return found


def ids(session: SparkSession) -> list[int]:
    return sorted(row.id for row in session.table(ORDERS.quoted).select("id").collect())


def parquet(catalog: EmbeddedCatalog) -> int:
    return len(list(catalog.warehouse.rglob("*.parquet")))


def test_only_branches_that_nobody_minds_are_dropped(catalog: EmbeddedCatalog) -> None:
    for name in ("run-old", "read-old", "maintain-old", "run-kept", "mine", "run-alive"):
        catalog.create_branch(name)
    catalog.keep_branch("run-kept")
    EmbeddedCatalog(catalog.path, catalog.warehouse, clock=later(1)).heartbeat("run-alive")
    report = maintain(settings(catalog), catalog, None, clock=later(1))
    assert set(report.dropped_branches) == {"run-old", "read-old", "maintain-old"}
    assert {branch.name for branch in catalog.list_branches()} == {"run-kept", "mine", "run-alive"}
    assert report.errors == ()


def test_a_step_that_fails_is_a_line_in_the_report_and_no_exception(catalog: EmbeddedCatalog) -> None:
    catalog.warehouse.mkdir()
    catalog.path.write_text("not a database at all, however long one looks at it\n" * 100)
    report = maintain(settings(catalog), catalog, None)
    assert len(report.errors) == 3
    assert all(str(catalog.path) in line for line in report.errors)
    assert (
        maintain_after_run(settings(catalog, replace(SECTION, after_run=False)), catalog, None, [ORDERS]).errors == ()
    )


@pytest.mark.spark
def test_a_live_branch_is_readable_through_compaction_expiry_and_sweep(
    on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    main = on_branch("main")
    main.sql("CREATE NAMESPACE shop")
    main.sql("CREATE NAMESPACE shop.silver")
    main.sql("CREATE TABLE shop.silver.orders (id BIGINT, v STRING)")
    for n in range(3):
        main.sql(f"INSERT INTO shop.silver.orders VALUES ({2 * n}, 'a'), ({2 * n + 1}, 'a')")
    main.sql("UPDATE shop.silver.orders SET v = 'b' WHERE id = 1")
    reader = on_branch("run-1")
    catalog.keep_branch("run-1")
    main.sql("DELETE FROM shop.silver.orders WHERE id = 5")
    lineage = "SELECT id, v, _row_id, _last_updated_sequence_number FROM shop.silver.orders ORDER BY id"
    before, seen = main.sql(lineage).collect(), orders(catalog).table_input()

    report = maintain(settings(catalog), catalog, on_branch, clock=later())

    assert report.errors == ()
    assert report.gave_way == ()
    (compacted,) = report.compacted
    assert compacted.files_after < compacted.files_before
    assert report.expired == {str(ORDERS): 4}
    assert report.swept is not None
    assert main.sql(lineage).collect() == before
    assert orders(catalog).table_input() == seen
    assert ids(reader) == [0, 1, 2, 3, 4, 5]
    first = min(orders(catalog, "run-1").snapshots.values(), key=lambda s: s.sequence_number)
    assert reader.sql(f"SELECT count(*) AS n FROM shop.silver.orders VERSION AS OF {first.id}").first() == (2,)

    files = parquet(catalog)
    catalog.drop_branch("run-1")
    again = maintain(settings(catalog), catalog, None, clock=later())
    assert again.swept is not None
    assert len(again.swept.files) > 0
    assert parquet(catalog) < files
    assert main.sql(lineage).collect() == before

    kept = min(orders(catalog).snapshots.values(), key=lambda s: s.sequence_number)
    assert main.sql(f"SELECT count(*) AS n FROM shop.silver.orders VERSION AS OF {kept.id}").first() == (5,)
    rows = "SELECT 1L AS id, 'c' AS v UNION ALL SELECT 9L, 'd'"
    main.sql(
        f"MERGE INTO shop.silver.orders t USING ({rows}) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    after = {row.id: row for row in main.sql(lineage).collect()}
    known = {row.id: row for row in before}
    assert after[1]._row_id == known[1]._row_id
    assert after[1]._last_updated_sequence_number > known[1]._last_updated_sequence_number
    assert after[9]._row_id >= seen.next_row_id
    assert [row for row in after.values() if row.id not in (1, 9)] == [row for row in before if row.id != 1]
    assert len({row._row_id for row in after.values()}) == len(after)


@pytest.mark.spark
def test_maintenance_gives_way_to_a_run_and_a_run_is_not_stopped_by_it(
    on_branch: OnBranch, catalog: EmbeddedCatalog
) -> None:
    main = on_branch("main")
    main.sql("CREATE NAMESPACE shop")
    main.sql("CREATE NAMESPACE shop.silver")
    main.sql("CREATE TABLE shop.silver.orders AS SELECT id FROM range(0, 8, 1, 8)")
    run = on_branch("run-1")
    run.sql("INSERT INTO shop.silver.orders VALUES (8)")
    base = orders(catalog)

    def while_a_run_publishes(branch: str) -> SparkSession:
        main.sql("INSERT INTO shop.silver.orders VALUES (9)")
        return on_branch(branch)

    report = maintain(settings(catalog), catalog, while_a_run_publishes)
    assert (report.gave_way, report.compacted, report.errors) == ((str(ORDERS),), (), ())
    assert ids(main) == [*range(8), 9]
    assert not orders(catalog).only_replaced_since(base)
    assert [branch.name for branch in catalog.list_branches()] == ["run-1"]

    base = orders(catalog)
    catalog.refresh_branch("run-1", [ORDERS])
    run.sql("INSERT INTO shop.silver.orders VALUES (10)")
    assert maintain(settings(catalog), catalog, on_branch).compacted
    assert orders(catalog).only_replaced_since(base)
    compacted = catalog.head()[ORDERS]
    catalog.publish("run-1", [ORDERS], accept={ORDERS: compacted})
    assert ids(main) == [*range(8), 9, 10]


@pytest.mark.spark
def test_after_a_run_only_what_is_worth_it_is_done(on_branch: OnBranch, catalog: EmbeddedCatalog) -> None:
    main = on_branch("main")
    main.sql("CREATE NAMESPACE shop")
    main.sql("CREATE NAMESPACE shop.silver")
    main.sql("CREATE TABLE shop.silver.orders AS SELECT id FROM range(8)")
    main.sql("INSERT INTO shop.silver.orders VALUES (9)")
    first = min(orders(catalog).snapshots.values(), key=lambda s: s.sequence_number)
    dead = local_path(orders(catalog).table_location) / "data" / "dead.parquet"
    dead.write_text("x")

    def no_spark(branch: str) -> SparkSession:
        raise AssertionError("nothing here needs Spark")

    new = maintain_after_run(settings(catalog), catalog, no_spark, [ORDERS], clock=later(0.5))
    assert new.swept is None
    report = maintain_after_run(settings(catalog), catalog, no_spark, [ORDERS], clock=later(2))
    assert (report.compacted, report.expired, report.errors) == ((), {}, ())
    assert report.swept is not None
    assert not dead.exists()
    assert maintain_after_run(settings(catalog), catalog, no_spark, [ORDERS], clock=later(2.5)).swept is None

    progress = Progress(
        "run-1",
        "f",
        "full",
        "append_only",
        tables={"silver.orders": replace(orders(catalog).table_input(), snapshot_id=first.id)},
    )
    text = progress.to_json()
    main.sql(f"CREATE TABLE shop.silver.reader TBLPROPERTIES ('{PROGRESS_PROPERTY}' = '{text}') AS SELECT 1 AS id")
    assert maintain(settings(catalog), catalog, None, clock=later(2)).expired == {}
    assert maintain(settings(catalog), catalog, None, clock=later(100)).expired == {str(ORDERS): 1}


def test_what_maintenance_did_fits_in_one_line() -> None:
    compacted = (Compacted("shop.a.b", 12, 1), Compacted("shop.a.c", 8, 2))
    report = MaintenanceReport(("run-1",), compacted, {"shop.a.b": 3, "shop.a.c": 4})
    assert report.summary == "1 abandoned branch dropped, 2 tables compacted (20 files to 3), 7 snapshots expired"
    assert MaintenanceReport().summary == ""
