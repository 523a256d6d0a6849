"""JSON is read in pieces, each value as the text that was delivered."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.chunks.reading import json_pieces
from tidegate.chunks.reading.json_pieces import read_json
from tidegate.errors import RawFileError

Records = tuple[dict[int, dict[str, str]], dict[int, str]]


def read(data: bytes, by_line: bool = False) -> Records:
    """Rows without what is NULL, and the reasons of records that cannot be read, by their numbers."""
    rows: dict[int, dict[str, str]] = {}
    reasons: dict[int, str] = {}
    for piece in read_json(io.BytesIO(data), "bronze/a.json", by_line):
        columns = {name: values.to_pylist() for name, values in piece.columns.items()}
        for at, number in enumerate(piece.numbers.to_pylist()):
            rows[number] = {name: values[at] for name, values in columns.items() if values[at] is not None}
        reasons |= {record.number: record.reason for record in piece.unreadable}
    return rows, reasons


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1", "1"),
        ("1.0", "1.0"),
        ("1e3", "1e3"),
        ("12.500", "12.500"),
        ("-0", "-0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("9007199254740993", "9007199254740993"),
        ('"007"', "007"),
        ('""', ""),
        ('" a "', " a "),
        ('"null"', "null"),
        ('"a\\"\\u00e9\\n"', 'a"é\n'),
        ("true", "true"),
        ("null", None),
        ('{"b": [1,  2.50]}', '{"b": [1,  2.50]}'),
        ('[ "x,y", {"c":null} ]', '[ "x,y", {"c":null} ]'),
    ],
)
def test_a_value_is_the_text_that_was_delivered(written: str, text: str | None) -> None:
    for other in ("1", '"x"', "null", "{}", written):
        rows, reasons = read(f'{{"a": {written}}}\n{{"a": {other}}}\n'.encode(), by_line=True)
        assert rows[1].get("a") == text
        assert not reasons


def test_a_column_whose_values_differ_in_type_is_text() -> None:
    rows, _ = read(b'[{"a":1},{"a":"x"},{"a":null},{},{"a":true},{"a":[1]}]')
    assert [row.get("a") for row in rows.values()] == ["1", "x", None, None, "true", "[1]"]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1}\n{"a":2}\n',
        b'{"a":1}\r\n\r\n{"a":2}',
        b'\xef\xbb\xbf{"a":1}\n{"a":2}',
        b'[{"a":1},{"a":2}]',
        b'[\n  {\n    "a": 1\n  }\n,\n  {"a":2}\n]\n',
        b'{\n "a": 1\n}\n{\n "a": 2\n}\n',
    ],
)
def test_every_layout_of_records_is_read(data: bytes) -> None:
    rows, reasons = read(data)
    assert [row["a"] for row in rows.values()] == ["1", "2"]
    assert not reasons


@pytest.mark.parametrize("data", [b"", b" \n\n", b"[]", b" [ ] "])
def test_a_file_without_records_has_none(data: bytes) -> None:
    assert read(data) == ({}, {})


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"not json", "it is not JSON: Expecting value"),
        (b'{"a": nul}', "it is not JSON: Expecting value"),
        (b'{"a": NaN}', "NaN is no JSON value"),
        (b'{"a": 01}', "it is not JSON"),
        (b'{"a": 1', "it is not JSON: Expecting ',' delimiter"),
        (b'{"a": 1}{"a": 2}', "it is not JSON: Extra data"),
        (b'{"a": 1, "a": 2}', "it has the name 'a' twice"),
        (b'{"a": 1, "\\u0061": 2}', "it has the name 'a' twice"),
        (b'{"a": 1, "A": 2}', "two names that differ in case alone"),
        (b"[1]", "it is a list, not an object"),
        (b"5", "it is a number, not an object"),
        (b'{"a": "\xff"}', "it is not UTF-8 text (byte 8)"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested too deeply"),
    ],
)
def test_a_malformed_record_is_set_apart(record: bytes, reason: str) -> None:
    rows, reasons = read(b'{"a":1}\n\n' + record + b'\n{"a":3}\n', by_line=True)
    assert {number: row["a"] for number, row in rows.items()} == {1: "1", 4: "3"}
    assert list(reasons) == [3]
    assert reason in reasons[3]


def test_a_malformed_record_of_a_list_is_set_apart() -> None:
    rows, reasons = read(b'[{"a":1}, {"a":tru}, 5, {"a":3,"a":4}, {"a":"]},{"}]')
    assert {number: row["a"] for number, row in rows.items()} == {1: "1", 5: "]},{"}
    assert sorted(reasons) == [2, 3, 4]


def test_names_that_differ_in_case_alone_are_one_column() -> None:
    rows, reasons = read(b'{"Id":1}\n{"ID":2}\n{"id":3}\n', by_line=True)
    assert list(rows.values()) == [{"Id": "1"}, {"Id": "2"}, {"Id": "3"}]
    assert not reasons


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'[{"a":1}', "it ends before the end of its list"),
        (b'[{"a":1},{"a":', "it ends in record 2, which began in line 1"),
        (b'[{"a":1}]{', "there is more after the end of its list"),
        (b'[{"a":1},}]', "record 2 is not JSON"),
        (b"id,name\n1,x\n", "begins neither with '[' nor with '{'"),
        (b"\xff\xfe[\x00", "it is not UTF-8 text"),
        (b'{"_source_row": 1}', "the name of one that Tidegate adds"),
    ],
)
def test_a_file_that_is_no_whole_document_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(RawFileError) as caught:
        read(data)
    assert reason in str(caught.value)
    assert caught.value.remedy


def test_a_record_that_does_not_end_is_not_read_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_pieces, "_LONGEST", 1000)
    monkeypatch.setattr(json_pieces, "_BLOCK", 100)
    with pytest.raises(RawFileError, match="longer than 0 MB, or a text in it does not end"):
        read(b'[{"a":"' + b"x" * 5000)


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
_NUMBERS = st.one_of(
    st.integers().map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(lambda value: format(value, "f")),
    st.sampled_from(["1.0", "1e5", "-0", "1E-7", "0.10", "9007199254740993"]),
)


def _nested(value: Any) -> str:
    return json.dumps(value, separators=(", ", ":  "))


_VALUES = st.one_of(
    st.tuples(st.just("text"), _TEXT),
    st.tuples(st.just("as is"), _NUMBERS),
    st.tuples(st.just("as is"), st.sampled_from(["true", "false", "null"])),
    st.tuples(
        st.just("as is"),
        st.recursive(st.one_of(_TEXT, st.integers()), lambda inner: st.lists(inner, max_size=2), max_leaves=4)
        .filter(lambda value: isinstance(value, list))
        .map(_nested),
    ),
    st.tuples(st.just("as is"), st.dictionaries(_TEXT, _TEXT, max_size=2).map(_nested)),
)
_RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c d", "é", '"']), _VALUES, max_size=4), min_size=1, max_size=6
)


def _written(record: dict[str, tuple[str, str]], ascii_only: bool, blank: str) -> str:
    pairs = [
        f"{json.dumps(name, ensure_ascii=ascii_only)}:{blank}"
        f"{json.dumps(text, ensure_ascii=ascii_only) if kind == 'text' else text}"
        for name, (kind, text) in record.items()
    ]
    return "{" + f",{blank}".join(pairs) + "}"


@settings(deadline=None)
@given(
    _RECORDS,
    st.booleans(),
    st.sampled_from(["", " "]),
    st.sampled_from(["lines", "list", "pretty"]),
    st.integers(1, 40),
)
@example([{"a": ("as is", "1"), "b": ("text", "},")}], False, "", "list", 3)
def test_no_value_is_lost_or_changed(
    records: list[dict[str, tuple[str, str]]], ascii_only: bool, blank: str, layout: str, block: int
) -> None:
    texts = [_written(record, ascii_only, blank) for record in records]
    between = {"lines": "\n", "list": ",", "pretty": " ,\n "}[layout]
    data = between.join(texts) if layout == "lines" else f"[{between.join(texts)}]"
    expected = [
        {name: text for name, (kind, text) in record.items() if (kind, text) != ("as is", "null")} for record in records
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "_BLOCK", block)
        rows, reasons = read(data.encode("utf-8"), by_line=layout == "lines")
    assert list(rows.values()) == expected
    assert not reasons
