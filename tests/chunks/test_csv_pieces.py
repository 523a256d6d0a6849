"""CSV is read in pieces, each field as the text that was delivered."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.chunks.reading import csv_pieces
from tidegate.chunks.reading.csv_pieces import read_csv
from tidegate.errors import RawFileError

Records = tuple[dict[int, list[str | None]], dict[int, str]]


def read(data: bytes, delimiter: str = ",") -> Records:
    """Rows, and the reasons of records that cannot be read, by their numbers."""
    rows: dict[int, list[str | None]] = {}
    reasons: dict[int, str] = {}
    for piece in read_csv(io.BytesIO(data), "bronze/a.csv", delimiter):
        columns = [values.to_pylist() for values in piece.columns.values()]
        for at, number in enumerate(piece.numbers.to_pylist()):
            rows[number] = [values[at] for values in columns]
        reasons |= {record.number: record.reason for record in piece.unreadable}
    return rows, reasons


def test_a_field_is_the_text_that_was_delivered() -> None:
    rows, reasons = read(b'\xef\xbb\xbfa,b\r\n007, x \r\n,""\r\n1.0,"a ""b""\nc"\r\nNULL,NaN\r\n')
    assert rows == {1: ["007", " x "], 2: [None, ""], 3: ["1.0", 'a "b"\nc'], 4: ["NULL", "NaN"]}
    assert not reasons


def test_malformed_records_are_set_apart() -> None:
    rows, reasons = read(b'a,b\n1,2\n1,2,3\n4\n"x\ny",5\n\n\xff,6\n7,8')
    assert rows == {1: ["1", "2"], 4: ["x\ny", "5"], 6: ["7", "8"]}
    assert reasons == {
        2: "it has 3 fields, and the header 2",
        3: "it has 1 field, and the header 2",
        5: "it is not UTF-8 text",
    }


def test_malformed_records_at_the_end_are_set_apart() -> None:
    assert read(b"a,b\n1,2,3\n4\n") == (
        {},
        {1: "it has 3 fields, and the header 2", 2: "it has 1 field, and the header 2"},
    )


@pytest.mark.parametrize("data", [b"", b"\n\n", b"a,b", b"a,b\r\n"])
def test_a_file_without_records_has_none(data: bytes) -> None:
    assert read(data) == ({}, {})


def test_a_column_without_a_name_gets_one() -> None:
    (piece,) = read_csv(io.BytesIO(b"a,\n1,2\n"), "bronze/a.csv", ",")
    assert list(piece.columns) == ["a", "column_2"]


def test_another_delimiter() -> None:
    assert read(b"a;b\n1;2,5\n", ";") == ({1: ["1", "2,5"]}, {})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'a,b\n1,"x\n3,4\n', "it ends inside a quoted field of record 1"),
        (b'a,b\n1,2\n3,"x', "it ends inside a quoted field of record 2"),
        (b'a,b\n1,x"y\n2,"z\n3,4\n', "it ends inside a quoted field of record 2"),
        (b'a,b\n1,x"y\n2,"', "it ends inside a quoted field of record 2"),
        (b'a,b\n1,"x""', "it ends inside a quoted field of record 1"),
        (b"a;b\n1;2\n", "its header is one column whose name holds ';'"),
        (b"a,A\n1,2\n", "its header has the column 'A' twice"),
        (b'{"a": 1}\n', "it begins like JSON"),
        (b"\xff\xfea\x00", "it is not UTF-8 text"),
        (b"a\xff,b\n", "the names of its columns are not UTF-8 text"),
        (b"a,_source_row\n1,2\n", "the name of one that Tidegate adds"),
    ],
)
def test_a_file_that_is_not_csv_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(RawFileError) as caught:
        read(data)
    assert reason in str(caught.value)
    assert caught.value.remedy


def test_a_field_may_hold_a_quote() -> None:
    assert read(b'a,b\n1,5" disk\n') == ({1: ["1", '5" disk']}, {})


def test_a_record_longer_than_a_block_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_pieces, "_BLOCK", 1000)
    with pytest.raises(RawFileError, match="a record is longer than"):
        read(b"a,b\n1," + b"x" * 5000 + b"\n")


_FIELDS = st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), max_size=6)


@settings(deadline=None)
@given(st.lists(st.tuples(_FIELDS, _FIELDS), min_size=1, max_size=8), st.integers(60, 200))
def test_no_field_is_lost_or_changed(records: list[tuple[str, str]], block: int) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([("a", "b"), *records])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_pieces, "_BLOCK", block)
        rows, reasons = read(text.getvalue().encode())
    assert [tuple(row) for row in rows.values()] == records
    assert not reasons
