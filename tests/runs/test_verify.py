"""A table compared with what a full build gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.projects import ProjectFolder, run_types
from tidegate.compiler import compile_from_disk
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.progress import PROGRESS_PROPERTY
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.project.model import ModelSettings, Strategy
from tidegate.runs.build.verify import Verified, can_be_verified, verification_due, verify
from tidegate.spark.session import child_session
from tidegate.write import WriteRequest, write
from tidegate.write.spark_sql import literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
TABLE = TableName("shop", "silver", "t")
Check = Callable[..., Verified]


@pytest.fixture
def check(on_branch: Callable[[str], SparkSession], catalog: EmbeddedCatalog) -> Check:
    """The table that the first query makes, compared with the full result that the second one gives."""
    session = on_branch("run-1")

    def compare(table: str, full: str, **settings: Any) -> Verified:
        def request(query: str) -> WriteRequest:
            return WriteRequest(
                session,
                BranchView(catalog, "run-1"),
                TABLE,
                session.sql(query),
                ModelSettings(**settings),
                run_started_at=datetime(2024, 1, 1, tzinfo=UTC),
                complete=True,
                rebuild=True,
            )

        write(request(table))
        pointer = catalog.pointer("run-1", TABLE)
        verified = verify(request(full), limit=2)
        assert catalog.pointer("run-1", TABLE) == pointer
        return verified

    return compare


def test_the_same_rows_in_another_order_are_equal(check: Check) -> None:
    rows = "SELECT id, IF(id = 3, NULL, map('k', id)) AS m FROM range(10) UNION ALL SELECT 1, map('k', 1L)"
    assert check(rows, f"SELECT * FROM ({rows}) ORDER BY id DESC") == Verified(True, 11, 11)


def test_what_only_one_side_has_is_counted_and_shown(check: Check) -> None:
    table = "SELECT * FROM VALUES (1, 'a'), (1, 'a'), (2, 'b'), (3, 'c') AS t(id, s)"
    full = "SELECT * FROM VALUES (1, 'a'), (2, 'x'), (3, 'c'), (4, NULL), (5, 'e'), (6, 'f') AS t(id, s)"
    found = check(table, full)
    assert (found.equal, found.rows, found.full_rows) == (False, 4, 6)
    assert (found.only_table, found.only_full) == (2, 4)
    assert sorted(found.table_samples, key=str) == [{"id": 1, "s": "a"}, {"id": 2, "s": "b"}]
    assert len(found.full_samples) == 2
    assert "built from changes it has 2 rows that the other has not, such as" in found.message
    assert found.message.endswith("the full build was taken")


def test_rounding_of_floating_sums_is_no_difference(check: Check) -> None:
    table = "SELECT 'a' AS k, 0.1D + 0.2D AS total, CAST('NaN' AS double) AS n"
    assert check(table, "SELECT 'a' AS k, 0.3D AS total, CAST('NaN' AS double) AS n").equal
    found = check(table, "SELECT 'a' AS k, 0.31D AS total, CAST('NaN' AS double) AS n")
    assert (found.equal, found.only_table, found.only_full) == (False, 1, 1)
    assert not check("SELECT 'a' AS k, 1.0D AS total", "SELECT 'a' AS k, CAST(NULL AS double) AS total").equal


def test_the_newest_row_of_a_key_is_what_the_full_build_gives(check: Check) -> None:
    rows = "SELECT * FROM VALUES (1, 10, 'old'), (1, 20, 'new'), (2, 5, 'x') AS t(id, at, s)"
    settings = {"strategy": Strategy.INCREMENTAL, "unique_key": ("id",), "watermark_column": "at"}
    assert check(rows, rows, **settings) == Verified(True, 2, 2)


def test_columns_that_the_query_no_longer_gives_do_not_count(check: Check) -> None:
    assert check("SELECT 1 AS id, 'kept' AS gone", "SELECT 1L AS id").equal is True
    assert check("SELECT 1 AS id", "SELECT 1 AS id, 2 AS more").equal is False


def test_only_what_a_query_gives_over_its_inputs_can_be_verified(shop: ProjectFolder) -> None:
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", merge_strategy="append_only")
    shop.file("landing/a/1.csv", "id,at\n1,2024-01-01\n")
    kinds = {
        "plain": ("SELECT id, at FROM bronze.a", {}),
        "keyed": ("SELECT id, at FROM bronze.a", {"merge_strategy": "incremental", "unique_key": "id"}),
        "tracked": ("SELECT id, at FROM bronze.a", {"merge_strategy": "tracked", "group_key": "id"}),
        "upsert": (
            "SELECT id, at FROM bronze.a",
            {"merge_strategy": "incremental", "unique_key": "id", "watermark_column": "at"},
        ),
        "appended": ("SELECT id, at FROM bronze.a", {"merge_strategy": "append_only"}),
        "versions": ("SELECT id, at FROM bronze.a", {"merge_strategy": "scd2", "unique_key": "id"}),
        "chance": ("SELECT id, rand() AS r FROM bronze.a", {}),
        "seen": ("SELECT id, at FROM bronze.a", {"materialized": "view"}),
    }
    for name, (sql, settings) in kinds.items():
        shop.model(f"silver.{name}", sql, **settings)
    compiled, _discovery = compile_from_disk(shop.settings, {}, {})
    assert not compiled.errors
    verifiable = {table.name for table, model in compiled.models.items() if can_be_verified(model)}
    assert verifiable == {"plain", "keyed", "tracked"}


def test_a_table_that_is_not_what_a_full_build_gives_is_built_whole_and_the_run_says_so(shop: ProjectFolder) -> None:
    shop.model("bronze.a", "SELECT * FROM {{ landing_zone('a') }}", merge_strategy="append_only")
    rows = {"merge_strategy": "incremental", "unique_key": "id", "deltas": "always"}
    shop.model("silver.a", "SELECT id, n * 2 AS n FROM bronze.a", **rows)
    shop.file("landing/a/1.csv", "id,n\n1,1\n2,2\n")
    shop.run()
    spoil(shop, "shop.silver.a", "UPDATE shop.silver.a SET n = 99 WHERE id = 1")
    shop.file("landing/a/2.csv", "id,n\n3,3\n")
    result = shop.run(verify=True)
    assert result.materializations[-1].reason.endswith("verification failed")
    assert run_types(result)["silver.a"] == "full"
    (warning,) = [text for text in result.warnings if "verification failed" in text]
    assert '{"id": 1, "n": 99}' in warning
    assert '{"id": 1, "n": 2}' in warning
    assert shop.rows("silver.a") == [(1, 2), (2, 4), (3, 6)]
    shop.file("landing/a/3.csv", "id,n\n4,4\n")
    result = shop.run(verify=True)
    assert (run_types(result)["silver.a"], result.warnings) == ("incremental", ())


def spoil(shop: ProjectFolder, name: str, statement: str) -> None:
    """Change rows so that the table still takes them for its own work, as a wrong delta would."""
    session = child_session(shop.spark, shop.catalog.spark_conf("main"), "main")
    session.sql(statement)
    metadata = shop.main.table(TableName.parse(name, "shop"))
    assert metadata is not None
    assert metadata.progress is not None
    progress = replace(metadata.progress, snapshot_id=metadata.current_snapshot_id)
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{PROGRESS_PROPERTY}' = {literal(progress.to_json())})")


def test_it_is_due_when_asked_for_or_every_so_many_times() -> None:
    assert [verification_due(False, 3, deltas) for deltas in (1, 2, 3, 4)] == [False, False, True, True]
    assert verification_due(True, None, 1)
    assert not verification_due(False, None, 100)
