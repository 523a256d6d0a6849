"""Reading zones with Spark: names, Parquet, files that break or vanish, and what cannot matter to the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.config import ZoneSettings
from tidegate.errors import FailureKind, LandingError
from tidegate.project.landing_files import list_zone
from tidegate.transform.landing.landing_errors import explain_read_error
from tidegate.transform.landing.zone_frame import ZoneFrame
from tidegate.transform.landing.zone_reader import read_zone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ODD_NAMES = ("a b", "a[1]", "{x,y}", "a*", "a%20b", "ü,é", "q?", "y=1/z", "back\\slash", "a+b&c#d", 'it\'s "q"')


def read(
    spark: SparkSession, folder: Path, columns: dict[str, str] | None = None, known: str | None = None
) -> ZoneFrame:
    return read_zone(spark, folder, list_zone(folder.parent, folder.name), ZoneSettings(columns=columns), known)


def rows(zone: ZoneFrame) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in zone.frame.collect()), key=repr)


@pytest.mark.parametrize(
    ("ending", "content"), [("csv", "a,b\n{0},x\n"), ("json", '{{"a":{0}}}\n'), ("json", '[{{"a":{0}}}]')]
)
def test_each_file_is_read_once_whatever_its_name(
    spark: SparkSession, tmp_path: Path, ending: str, content: str
) -> None:
    folder = tmp_path / "zo[n]e"
    for number, name in enumerate(ODD_NAMES):
        path = folder / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.format(number))
    zone = read(spark, folder)
    assert sorted(row.a for row in zone.frame.collect()) == list(range(len(ODD_NAMES)))


def test_parquet_files_are_joined_by_name_and_widened(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "zone"
    folder.mkdir()
    narrow = pa.table({"id": pa.array([1], pa.int32()), "s": [{"p": 1}]})
    wide = pa.table({"ID": pa.array([2], pa.int64()), "n": ["x"], "s": [{"p": 2, "q": "z"}]})
    pq.write_table(narrow, folder / "a.parquet")
    pq.write_table(wide, folder / "b{1}.parquet")
    zone = read(spark, folder, known="id INT, old DATE")
    assert zone.columns == "`id` BIGINT, `old` DATE, `s` STRUCT<`p`: BIGINT, `q`: STRING>, `n` STRING"
    assert rows(zone) == [(1, None, (1, None), None), (2, None, (2, "z"), "x")]
    assert rows(read(spark, folder, {"n": "STRING", "id": "DECIMAL(10,0)"})) == [("x", 2), (None, 1)]
    with pytest.raises(LandingError, match="cannot be read as the declared types"):
        read(spark, folder, {"id": "DATE"})


@pytest.mark.parametrize("kept", [0, 100])
def test_a_truncated_parquet_file_is_named(spark: SparkSession, tmp_path: Path, kept: int) -> None:
    folder = tmp_path / "zone"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1]}), folder / "whole.parquet")
    (folder / "half of it.parquet").write_bytes((folder / "whole.parquet").read_bytes()[:kept])
    with pytest.raises(LandingError, match=r"'half of it\.parquet'") as caught:
        read(spark, folder)
    assert caught.value.where == str(folder / "half of it.parquet")


def test_a_file_that_vanishes_before_its_rows_are_read_is_a_passing_failure(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "zone"
    folder.mkdir()
    (folder / "a b.csv").write_text("a,b\n1,2\n")
    files = list_zone(tmp_path, "zone")
    zone = read(spark, folder, {"a": "INT"})
    (folder / "a b.csv").unlink()
    with pytest.raises(Exception, match="FAILED_READ_FILE") as caught:
        zone.frame.collect()
    explained = explain_read_error(caught.value, files)
    assert explained is not None
    assert explained.kind is FailureKind.TRANSIENT
    assert explained.where == str(folder / "a b.csv")
    assert explain_read_error(caught.value, ()) is None
    with pytest.raises(LandingError, match="was removed"):
        read_zone(spark, folder, files, ZoneSettings())


def test_large_files_are_read_in_parallel_pieces(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "zone"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n" + "".join(f'{n},"text, {n}"\n' for n in range(20_000)))
    session = spark.newSession()
    session.conf.set("spark.sql.files.openCostInBytes", "1024")  # so that a file need not have megabytes
    zone = read(session, folder)
    assert zone.columns == "`a` BIGINT, `b` STRING"
    pieces = zone.frame.selectExpr("spark_partition_id() AS piece", "a")
    (found,) = pieces.selectExpr("count(DISTINCT piece)", "count(*)", "sum(a)").collect()
    assert found[0] > 1
    assert found[1:] == (20_000, 20_000 * 19_999 // 2)


VALUES = st.sampled_from(["", "1", "-20", "2.5", "007", "true", "2024-01-31", "2024-01-31 10:00", "x", '""', '"a\nb"'])


@settings(max_examples=4, derandomize=True)
@given(data=st.data(), table=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=2, max_size=8))
def test_how_rows_are_split_over_files_does_not_matter(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, table: list[tuple[str, ...]]
) -> None:
    root = tmp_path_factory.mktemp("split")
    (root / "one").mkdir()
    (root / "one" / "all.csv").write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in table))
    (root / "many").mkdir()
    for number, row in enumerate(data.draw(st.permutations(table))):
        where = root / "many" / f"{data.draw(st.integers(0, 3))}-{number}.csv"
        a, b, c = row
        where.write_text(f"a,b,c\n{a},{b},{c}\n" if number % 2 else f"a,c,b\n{a},{c},{b}\n")
    one, many = read(spark, root / "one"), read(spark, root / "many")
    assert sorted(one.columns.split(", ")) == sorted(many.columns.split(", "))
    in_order = ZoneFrame(many.frame.select("a", "b", "c"), many.columns)
    assert rows(one) == rows(in_order)


def test_files_of_several_encodings_and_delimiters_are_read_each_by_its_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "zone"
    folder.mkdir()
    (folder / "a.csv").write_bytes("id,name\r\n1,café €\r\n".encode("utf-8-sig"))
    (folder / "b.csv").write_bytes('id;name\r\n2;"ça; €"\r\n'.encode("utf-16"))
    (folder / "c.csv").write_text("id|name\n3|naïve\n")
    assert rows(read(spark, folder)) == [(1, "café €"), (2, "ça; €"), (3, "naïve")]


def test_a_declared_encoding_is_read_as_such(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "zone"
    folder.mkdir()
    (folder / "a.csv").write_bytes("id;näme\n1;café €\n".encode("cp1252"))
    zone = read_zone(spark, folder, list_zone(tmp_path, "zone"), ZoneSettings(encoding="windows-1252"))
    assert zone.columns == "`id` BIGINT, `näme` STRING"
    assert rows(zone) == [(1, "café €")]
