"""The first rows of a table, read without a JVM: those that Spark gives, or none at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from tidegate.jsontext import json_text
from tidegate.lake.branch_catalog import Pointer, PointerKind
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.lake.deleted_rows import DeletedRows, NotReadableHereError
from tidegate.lake.first_rows import first_rows
from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.manifests import DataFile
from tidegate.lake.metadata import TableMetadata, local_path, read_metadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.quality import plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OnBranch = Callable[[str], "SparkSession"]
TABLE = TableName("shop", "silver", "t")

TYPES = """
    id bigint, flag boolean, small int, grown int, ratio float, grown_ratio float, real double, price decimal(9,2),
    tiny decimal(20,10), day date, at timestamp, local timestamp_ntz, name string, content binary,
    point struct<x: int, label: string, deep: struct<at: timestamp, n: decimal(5,1)>>,
    tags array<string>, points array<struct<x: int, y: string>>, lists array<array<int>>,
    counts map<string, int>, by_day map<date, array<binary>>, structs map<int, struct<a: int, b: string>>
"""
FULL = """
    {id}L, true, 7, 2147483647, CAST(0.1 AS float), CAST(1.5 AS float), 1e300, 12.30, 0.0000000015, DATE'1969-12-31',
    TIMESTAMP'2024-02-29 23:59:59.123456', TIMESTAMP_NTZ'1901-01-01 00:00:00.000001', 'ein "Wort" ☃', X'00FF',
    named_struct('x', 1, 'label', 'l', 'deep', named_struct('at', TIMESTAMP'1970-01-01 00:00:00', 'n', 1.5)),
    array('a', NULL, ''), array(named_struct('x', 1, 'y', 'b'), NULL), array(array(1, NULL), array(), NULL),
    map('k', 1, 'none', NULL), map(DATE'2024-01-01', array(X'01', NULL)),
    map(1, named_struct('a', 1, 'b', NULL), 2, NULL)
"""
ODD = """
    {id}L, false, -7, 0, CAST('NaN' AS float), CAST('-Infinity' AS float), -0.0D, -0.01, 0, DATE'0001-01-01',
    TIMESTAMP'0001-01-02 00:00:00', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', '', X'',
    named_struct('x', NULL, 'label', NULL, 'deep', NULL),
    array(), array(), NULL, map(), map(), map()
"""
NULLS = "{id}L" + ", NULL" * 20


@pytest.mark.spark
@pytest.mark.parametrize("version", [2, 3])
def test_rows_and_types_are_those_of_spark(on_branch: OnBranch, catalog: EmbeddedCatalog, version: int) -> None:
    session = on_branch("main")
    name = TABLE.quoted

    def insert(*rows: str) -> None:
        session.sql(f"INSERT INTO {name} VALUES {', '.join(f'({row})' for row in rows)}")

    def compare() -> TableMetadata:
        metadata = BranchView(catalog, "main").table(TABLE)
        assert metadata is not None
        frame = session.table(name)
        rows = first_rows(metadata, 1000)
        assert rows is not None
        expected = sorted(json_text(plain(list(row))) for row in frame.collect())
        assert sorted(json_text(plain(row)) for row in rows) == expected
        types = [field.dataType.simpleString() for field in frame.schema.fields]
        assert [spark_type(field.type).text for field in metadata.fields] == types
        assert list(metadata.column_names) == frame.columns
        assert len(first_rows(metadata, 1) or []) == min(1, len(rows))
        return metadata

    session.sql("CREATE NAMESPACE shop")
    session.sql("CREATE NAMESPACE shop.silver")
    modes = ", ".join(f"'write.{kind}.mode' = 'merge-on-read'" for kind in ("delete", "update", "merge"))
    properties = f"'format-version' = '{version}', {modes}"
    session.sql(f"CREATE TABLE {name} ({TYPES}) USING iceberg PARTITIONED BY (flag) TBLPROPERTIES ({properties})")
    compare()
    insert(*(text.format(id=id) for id, text in enumerate([FULL, ODD, NULLS, FULL, ODD, NULLS])))
    compare()
    session.sql(f"DELETE FROM {name} WHERE id = 3")
    session.sql(f"UPDATE {name} SET small = 8, counts = map('new', 1) WHERE id IN (0, 1)")
    session.sql(f"DELETE FROM {name} WHERE id = 4")
    metadata = compare()
    assert metadata.current is not None
    assert metadata.current.count("total-position-deletes") > 0
    for change in (
        "RENAME COLUMN name TO title",
        "DROP COLUMN real",
        "ADD COLUMN name string FIRST",
        "ALTER COLUMN grown TYPE bigint",
        "ALTER COLUMN grown_ratio TYPE double",
        "ALTER COLUMN price TYPE decimal(12,2)",
        "RENAME COLUMN point.x TO x_axis",
        "ADD COLUMN point.deep.more array<int>",
        "ADD COLUMN points.element.z int",
        "ALTER COLUMN day AFTER id",
        "DROP PARTITION FIELD flag",
    ):
        session.sql(f"ALTER TABLE {name} {change}")
    compare()
    session.sql(f"INSERT INTO {name} (id, name, title, grown) VALUES (9, 'new', 'row', 1L << 40), (10, NULL, '', 0)")
    session.sql(f"DELETE FROM {name} WHERE id IN (2, 9)")
    compare()
    session.sql(f"CALL main.system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))")
    compare()
    session.sql(f"DELETE FROM {name} WHERE id >= 0")
    assert compare().total_records == 0


def write_table(folder: Path, *batches: pa.Table) -> Pointer:
    catalog = SqlCatalog("main", uri=f"sqlite:///{folder}/other.db", warehouse=f"file://{folder}")
    catalog.create_namespace("silver")
    table = catalog.create_table("silver.t", batches[0].schema)
    for batch in batches:
        table.append(batch)
    catalog.engine.dispose()
    return Pointer(PointerKind.TABLE, table.metadata_location)


def rows_of(pointer: Pointer, count: int = 10) -> list[tuple[Any, ...]] | None:
    metadata = read_metadata(pointer)
    assert isinstance(metadata, TableMetadata)
    return first_rows(metadata, count)


def test_no_more_files_are_opened_than_are_needed(tmp_path: Path) -> None:
    pointer = write_table(tmp_path, *(pa.table({"id": [number, number]}) for number in range(3)))
    rows = rows_of(pointer, 3)
    assert rows is not None
    assert len(rows) == 3
    oldest = min(tmp_path.rglob("*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    oldest.unlink()
    assert rows_of(pointer, 3) == rows
    assert rows_of(pointer, 5) is None, "Spark reports the missing file"


def test_values_have_the_types_of_pyspark(tmp_path: Path) -> None:
    columns = {
        "amount": pa.array([Decimal("0E-10"), Decimal("1.5")], pa.decimal128(20, 10)),
        "content": pa.array([b"a", None], pa.binary()),
        "pairs": pa.array([[("k", 1.0)], None], pa.map_(pa.string(), pa.float64())),
        "point": pa.array([{"x": math.inf}, None], pa.struct([("x", pa.float32())])),
    }
    assert rows_of(write_table(tmp_path, pa.table(columns))) == [
        (Decimal("0E-10"), bytearray(b"a"), {"k": 1.0}, {"x": math.inf}),
        (Decimal("1.5"), None, None, None),
    ]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"0123456789abcdef"], pa.binary(16)),
        pa.array([1], pa.time64("us")),
    ],
    ids=["fixed", "time"],
)
def test_a_type_that_few_tables_have_is_left_to_spark(tmp_path: Path, column: pa.Array) -> None:
    assert rows_of(write_table(tmp_path, pa.table({"id": [1], "c": column}))) is None


def test_a_later_version_of_the_format_is_left_to_spark(tmp_path: Path) -> None:
    pointer = write_table(tmp_path, pa.table({"id": [1]}))
    metadata = read_metadata(pointer)
    assert isinstance(metadata, TableMetadata)
    assert first_rows(metadata, 1) == [(1,)]
    assert first_rows(replace(metadata, format_version=4), 1) is None


def test_a_damaged_file_is_left_to_spark(tmp_path: Path) -> None:
    pointer = write_table(tmp_path, pa.table({"id": [1]}))
    for file in tmp_path.rglob("*.parquet"):
        file.write_bytes(b"PAR1 and no more")
    assert rows_of(pointer) is None


def test_a_table_without_rows_has_none(tmp_path: Path) -> None:
    catalog = SqlCatalog("main", uri=f"sqlite:///{tmp_path}/other.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("silver")
    table = catalog.create_table("silver.t", pa.schema([("id", pa.int64())]))
    catalog.engine.dispose()
    assert local_path(table.metadata_location).exists()
    assert rows_of(Pointer(PointerKind.TABLE, table.metadata_location)) == []


@pytest.mark.parametrize("what", [{"by_values": True}, {"encrypted": True}])
def test_deletes_that_only_spark_applies_are_left_to_it(what: dict[str, bool]) -> None:
    with pytest.raises(NotReadableHereError):
        DeletedRows([DataFile("/d.parquet", 1, "", True, **what)])


def test_a_vector_that_is_not_whole_is_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "d.puffin").write_bytes(bytes(64))
    file = DataFile(str(tmp_path / "d.puffin"), 64, "", True, "PUFFIN", deletes_from="/a.parquet", part=(4, 40))
    with pytest.raises(NotReadableHereError):
        DeletedRows([file]).positions(DataFile("/a.parquet", 1, "", False))
    assert DeletedRows([file]).positions(DataFile("/b.parquet", 1, "", False)) == set()
