"""A raw file is what its name says, or it is refused; compressed ones are read as others are."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tidegate.chunks.reading.raw_file import read_pieces, require_format
from tidegate.errors import RawFileError
from tidegate.storage import open_storage

LINES = b'{"a": 1}\n{"a": "x"}\n'


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


def stored(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


TABLE = pa.table({"a": ["1", "x"]})
FILES = {
    "a.jsonl": LINES,
    "a.ndjson.gz": gzip.compress(LINES),
    "a.json.gzip": gzip.compress(b'[{"a":1},') + gzip.compress(b'{"a":"x"}]'),
    "a.json.zst": zstd(b'[{"a":1},{"a":"x"}]'),
    "A.JSONL.BZ2": bz2.compress(LINES),
    "a.csv.xz": lzma.compress(b"a\n1\nx\n"),
    "a.tsv": b"a\tb\n1\t2\nx\t3\n",
    "a.parquet": stored(TABLE),
    "a.parquet.gz": gzip.compress(stored(TABLE)),
}


def columns(root: Path, name: str, rows: int = 1000) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for piece in read_pieces(open_storage(root), name, None, rows, lambda read: None):
        for column, values in piece.columns.items():
            found.setdefault(column, []).extend(values.to_pylist())
    return found


@pytest.mark.parametrize("name", FILES)
def test_every_format_and_compression_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert columns(tmp_path, name)["a"] == ["1", "x"]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.json", gzip.compress(LINES), "it is compressed as gz, and its name says something else"),
        ("a.json.gz", LINES, "it is not compressed as gz"),
        ("a.csv", stored(TABLE), "it is Parquet, and its name says something else"),
        ("a.parquet", LINES, "it is not Parquet"),
        ("a.jsonl.gz", gzip.compress(LINES * 9)[:-12], "it cannot be unpacked"),
        ("a.jsonl.bz2", bz2.compress(LINES * 9)[:-4], "it cannot be unpacked"),
        ("a.jsonl.zst", zstd(LINES * 9)[:-4], "it cannot be unpacked"),
        ("a.jsonl.xz", lzma.compress(LINES * 9)[:-4], "it cannot be unpacked"),
        ("a.parquet", stored(TABLE)[:-9], "it is no complete Parquet file"),
        ("a.parquet", b"", "it is no complete Parquet file"),
        ("a.parquet", stored(pa.table({"a": [1], "A": [2]})), "it has the column 'A' twice"),
    ],
    # gzip writes the time into its bytes, and processes that share the tests must know them by the same names.
    ids=lambda value: "data" if isinstance(value, bytes) else None,
)
def test_a_file_that_is_not_what_its_name_says_is_refused(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(RawFileError) as caught:
        columns(tmp_path, name)
    assert reason in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("name", ["a", "a.txt", "a.gz", "json"])
def test_a_name_without_a_format_is_refused(name: str) -> None:
    with pytest.raises(RawFileError, match="its name does not say which format it has"):
        require_format(name)


def test_parquet_keeps_its_types_and_loses_nothing(tmp_path: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
    table = pa.table(
        {
            "whole": pa.array([2**62, None]),
            "exact": pa.array([Decimal("1.10"), Decimal("0.00")], pa.decimal128(9, 2)),
            "nanos": pa.array([moment, None], pa.timestamp("ns", "UTC")),
            "finer": pa.array([1, 2], pa.timestamp("ns")),
            "time": pa.array([time(1, 2, 3), None]),
            "name": pa.array(["a", "b"]).dictionary_encode(),
            "nested": pa.array([{"x": [1]}, None]),
        }
    )
    (tmp_path / "a.parquet").write_bytes(stored(table))
    pieces = list(read_pieces(open_storage(tmp_path), "a.parquet", None, 1, lambda read: None))
    assert [piece.numbers.to_pylist() for piece in pieces] == [[1], [2]]
    first = {name: values[0].as_py() for name, values in pieces[0].columns.items()}
    assert first["whole"] == 2**62
    assert first["exact"] == Decimal("1.10")
    assert first["nanos"] == moment
    assert first["finer"] == "1970-01-01 00:00:00.000000001"
    assert first["time"] == "01:02:03.000000"
    assert (first["name"], first["nested"]) == ("a", {"x": [1]})
