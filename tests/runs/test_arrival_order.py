"""An append from a landing zone numbers its rows as they arrived: by file, as files were consumed, and by line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

from tests.projects import ProjectFolder
from tidegate.lake.metadata import arrival_order
from tidegate.names import TableName
from tidegate.runs.build import spark_builder
from tidegate.spark.session import child_session
from tidegate.transform.landing import zone_frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

LOG = TableName("shop", "bronze", "log")


def lines(file: str, count: int, more: str = "") -> str:
    header = "file,line" + (",more" if more else "")
    return "".join([f"{header}\n", *(f"{file},{number}{more}\n" for number in range(count))])


@pytest.fixture(scope="module")
def shop_of_pieces(module_shop: ProjectFolder) -> ProjectFolder:
    """Spark reads files in pieces of 4 KiB; more than 8 KiB are written by several tasks."""
    shop = module_shop
    pieces = {"spark.sql.files.maxPartitionBytes": "4096", "spark.sql.files.openCostInBytes": "4096"}

    def child(root: SparkSession, conf: Mapping[str, str], catalog: str) -> SparkSession:
        return child_session(root, {**conf, **pieces}, catalog)

    for name, more in (("log", {}), ("single", {}), ("parts", {"partitioned_by": "file"})):
        shop.model(f"bronze.{name}", f"SELECT * FROM {{{{ landing_zone('{name}') }}}}", kind="append", **more)
    for file, count in (("a", 3), ("b", 5000), ("c d%ä", 700)):
        shop.file(f"landing/log/{file}.csv", lines(file, count))
    shop.file("landing/single/a.csv", lines("a", 5000))
    shop.file("landing/parts/a.csv", lines("a", 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spark_builder, "child_session", child)
        patch.setattr(zone_frame, "BYTES_OF_A_TASK", 8192)
        assert shop.run().exit_code == 0
    return shop


def arrived(shop: ProjectFolder, name: str = "log") -> list[tuple[str, int]]:
    metadata = shop.main.table(TableName("shop", "bronze", name))
    assert metadata is not None
    order = arrival_order(metadata)
    rows = shop.rows(f"SELECT struct({order} AS at, file, line) AS row FROM bronze.{name}")
    return [(row["file"], row["line"]) for (row,) in sorted(rows, key=lambda found: found[0]["at"])]


def expected(*files: tuple[str, int]) -> list[tuple[str, int]]:
    return [(name, number) for name, count in files for number in range(count)]


def test_rows_are_numbered_by_file_and_line_whatever_the_sizes_of_the_files(shop_of_pieces: ProjectFolder) -> None:
    metadata = shop_of_pieces.main.table(LOG)
    assert metadata is not None
    assert metadata.current is not None
    assert metadata.current.count("added-data-files") > 2
    assert arrived(shop_of_pieces) == expected(("a", 3), ("b", 5000), ("c d%ä", 700))


def test_one_file_that_is_split_over_tasks_keeps_its_lines_in_order(shop_of_pieces: ProjectFolder) -> None:
    assert arrived(shop_of_pieces, "single") == expected(("a", 5000))


def test_no_order_is_claimed_for_a_table_that_is_written_by_its_values(shop_of_pieces: ProjectFolder) -> None:
    metadata = shop_of_pieces.main.table(TableName("shop", "bronze", "parts"))
    assert metadata is not None
    assert arrival_order(metadata) is None


def test_a_full_refresh_numbers_rows_as_their_files_were_consumed(shop: ProjectFolder) -> None:
    shop.model("bronze.log", "SELECT * FROM {{ landing_zone('log') }} WHERE line < 2000", merge_strategy="append_only")
    shop.file("landing/log/y.csv", lines("y", 3))
    shop.file("landing/log/z.json", '{"file": "z", "line": 0}\n{"file": "z", "line": 1}\n')
    assert shop.run().exit_code == 0
    shop.file("landing/log/b.csv", lines("b", 2, ",new"))
    shop.file("landing/log/a.csv", lines("a", 2000))
    assert shop.run().exit_code == 0
    order = expected(("y", 3), ("z", 2), ("a", 2000), ("b", 2))
    assert arrived(shop) == order
    shop.file("landing/log/0.csv", lines("0", 1))
    assert shop.run(full_refresh=True, confirmed=True).exit_code == 0
    assert arrived(shop) == [*order, ("0", 0)]
    assert shop.run(full_refresh=True, confirmed=True).exit_code == 0
    assert arrived(shop) == [*order, ("0", 0)]
