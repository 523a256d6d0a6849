"""Raw zones: Parquet as text, what is said of each row, and numbers of records in files that Spark divides."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.config import ZoneSettings
from tidegate.project.landing_files import ZoneFile, list_zone
from tidegate.transform.landing.delivery import Delivery
from tidegate.transform.landing.zone_frame import ZoneFrame
from tidegate.transform.landing.zone_reader import read_zone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

STARTED = dt.datetime(2026, 1, 1, 12, 30, tzinfo=dt.UTC)
DELIVERY = Delivery("run-7", STARTED, "crm/zone")
RAW = ZoneSettings(raw=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "crm" / "zone"
    path.mkdir(parents=True)
    return path


def read(
    spark: SparkSession,
    folder: Path,
    files: Sequence[ZoneFile] | None = None,
    settings: ZoneSettings = RAW,
    known: str | None = None,
    in_order: bool = False,
) -> ZoneFrame:
    listed = list_zone(folder.parent, folder.name) if files is None else files
    return read_zone(spark, folder, listed, settings, known, in_order, DELIVERY)


def test_parquet_is_read_as_text_whatever_types_its_files_have(spark: SparkSession, folder: Path) -> None:
    moment = dt.datetime(2024, 1, 31, 10, 0, 0, 500_000)
    first = {
        "id": pa.array([1], pa.int32()),
        "price": pa.array([Decimal("1.10")], pa.decimal128(10, 2)),
        "ratio": [0.1],
        "at": pa.array([moment], pa.timestamp("us", "UTC")),
        "local": pa.array([moment], pa.timestamp("us")),
        "day": [dt.date(2024, 1, 31)],
        "bytes": [b"\xff\x00"],
        "ok": [True],
        "nested": [{"at": moment, "n": None, "price": Decimal("2.50"), "bytes": b"\xff"}],
        "tags": [["a", None]],
    }
    second = {"ID": ["x"], "price": [[1.5]], "nested": [{"other": 1}], "new": [2**63 - 1]}
    pq.write_table(pa.table(first), folder / "a.parquet")
    pq.write_table(pa.table(second), folder / "b.parquet")
    zone = read(spark, folder, known="gone INT, id BIGINT")
    names = [field.split("`")[1] for field in zone.columns.split(", ")]
    assert names == ["gone", "id", "price", "ratio", "at", "local", "day", "bytes", "ok", "nested", "tags", "new"]
    assert zone.columns == ", ".join(f"`{name}` STRING" for name in names)
    one, other = (row.asDict() for row in zone.frame.orderBy("_source_file").collect())
    assert {name: one[name] for name in names} == {
        "gone": None,
        "id": "1",
        "price": "1.10",
        "ratio": "0.1",
        "at": "2024-01-31T10:00:00.5Z",
        "local": "2024-01-31T10:00:00.5",
        "day": "2024-01-31",
        "bytes": "/wA=",
        "ok": "true",
        "nested": '{"at":"2024-01-31T10:00:00.500000","n":null,"price":2.50,"bytes":"/w=="}',
        "tags": '["a",null]',
        "new": None,
    }
    assert {name: value for name, value in other.items() if name in names and value is not None} == {
        "id": "x",
        "price": "[1.5]",
        "nested": '{"other":1}',
        "new": "9223372036854775807",
    }


def test_rows_say_where_they_come_from_in_the_order_of_arrival(spark: SparkSession, folder: Path) -> None:
    (folder / "a b%.csv").write_text("id\n1\n2\n")
    (folder / "c.json").write_text('[{"id": 3}]')
    last, first = list_zone(folder.parent, folder.name)
    zone = read(spark, folder, [first, last], in_order=True)
    rows = [row.asDict() for row in zone.frame.collect()]
    about = {"_ingested_at": rows[0]["_ingested_at"], "_run_id": "run-7", "_op": "read"}
    about["_commit_time"] = about["_ingested_at"]
    assert rows[0]["_ingested_at"].replace(tzinfo=dt.UTC) == STARTED
    places = [
        ("3", "crm/zone/c.json", 1, "00000001-000000000001"),
        ("1", "crm/zone/a b%.csv", 1, "00000002-000000000001"),
        ("2", "crm/zone/a b%.csv", 2, "00000002-000000000002"),
    ]
    assert rows == [
        {"id": id, "_source_file": file, "_source_row": row, "_sequence": sequence, **about}
        for id, file, row, sequence in places
    ]


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_what_a_connector_says_of_its_rows_is_taken_from_the_file(
    spark: SparkSession, folder: Path, ending: str
) -> None:
    rows = [
        {"id": 1, "_op": "delete", "_commit_time": "2024-01-31T10:00:00.25+02:00", "_sequence": "00ff-01"},
        {"id": 2, "_op": None, "_commit_time": "soon", "_sequence": None},
    ]
    if ending == "json":
        (folder / "a.json").write_text(json.dumps(rows))
    else:
        pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    zone = read(spark, folder)
    assert zone.columns == "`id` STRING"
    one, two = ((row._op, row._commit_time, row._sequence) for row in zone.frame.orderBy("_source_row").collect())
    assert one == ("delete", dt.datetime(2024, 1, 31, 8, 0, 0, 250_000), "00ff-01")
    assert two == ("read", STARTED.replace(tzinfo=None), "00000001-000000000002")


def test_records_of_files_that_spark_divides_have_their_numbers(spark: SparkSession, folder: Path) -> None:
    count = 4_000
    numbers = range(1, count + 1)
    (folder / "a.csv").write_text("id,b\n" + "".join(f'{n},"text, {n}"\n' for n in numbers))
    pairs = zip(numbers[::2], numbers[1::2], strict=True)
    lines = (f'[{{"id": {n}}}, {{"id": {m}}}]\n' if n % 3 else f'{{"id": {n}}}\n{{"id": {m}}}\n' for n, m in pairs)
    (folder / "b.jsonl").write_text("".join(lines))
    pq.write_table(pa.table({"id": list(numbers)}), folder / "c.parquet", row_group_size=100, compression="none")
    (folder / "d.csv").write_text("id\n" + "".join(f"{n}\n" for n in numbers))
    for small in range(5):
        (folder / f"small{small}.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
        (folder / f"small{small}.csv").write_text("id,b\n1,x\n2,y\n")
    session = spark.newSession()
    session.conf.set("spark.sql.files.openCostInBytes", "512")
    session.conf.set("spark.sql.files.maxPartitionBytes", "4096")
    frame = read(session, folder).frame
    (pieces,) = (
        read(session, folder, list_zone(folder.parent, folder.name)[:1])
        .frame.selectExpr("spark_partition_id() AS piece")
        .selectExpr("count(DISTINCT piece) AS pieces")
        .collect()
    )
    assert pieces.pieces > 2
    wrong = frame.where("id != _source_row OR id IS NULL").count()
    rows = {row._source_file.rsplit("/", 1)[1]: row["count"] for row in frame.groupBy("_source_file").count().collect()}
    assert wrong == 0
    large = dict.fromkeys(("a.csv", "b.jsonl", "c.parquet", "d.csv"), count)
    assert rows == {**large, **{f"small{n}.{end}": 2 for n in range(5) for end in ("csv", "jsonl")}}
