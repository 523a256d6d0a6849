"""The records of JSON documents as the text that was delivered, without Spark."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.transform.landing import json_texts
from tidegate.transform.landing.json_texts import document_texts, fields_of, line_texts

PAGE = '{"next": "x", "data": {"n": [{"items": 1}], "items": [\n {"a": 1.10},\n {"a": {"b" : 2.0}}]}, "z": [1, {}]}\n'


def page(folder: Path, content: str | bytes, name: str = "000001.json") -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def texts(folder: Path, content: str | bytes, path: str | None = None, name: str = "000001.json") -> list[Any]:
    return [each.fields or each.why for each in document_texts(page(folder, content, name), path)]


@pytest.mark.parametrize("piece", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_records_are_found_at_their_path_however_the_document_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, name: str
) -> None:
    monkeypatch.setattr(json_texts, "_PIECE", piece)
    monkeypatch.setattr(json_texts, "_HELD", 0 if piece == 7 else 1 << 20)
    records = list(document_texts(page(tmp_path, PAGE, name), "data.items"))
    assert [(each.line, each.fields) for each in records] == [(2, {"a": "1.10"}), (3, {"a": '{"b" : 2.0}'})]


def test_each_value_is_the_text_that_was_delivered(tmp_path: Path) -> None:
    record = (
        '{"a": 1.10, "b": 12345678901234567890.0100, "c": 1E400, "d": "q\\u00e9\\n\\"", "e": null, "f": true,'
        ' "g" : [1.0 , {"x":null}], "h": "", "i": "null", "j": -0.0, "k": "\\ud800", "é": "\\ud83d\\ude00"}'
    )
    assert texts(tmp_path, record) == [
        {
            "a": "1.10",
            "b": "12345678901234567890.0100",
            "c": "1E400",
            "d": 'qé\n"',
            "e": None,
            "f": "true",
            "g": '[1.0 , {"x":null}]',
            "h": "",
            "i": "null",
            "j": "-0.0",
            "k": "?",
            "é": "😀",
        }
    ]


@pytest.mark.parametrize(
    ("content", "path", "expected"),
    [
        ("[]", None, []),
        ("[]", "data", ["has nothing at 'data'"]),
        ('{"data": []}', "data", []),
        ('{"data": {"a": 1}}', "data", [{"a": "1"}]),
        ('{"data": null}', "data", ["has nothing at 'data'"]),
        ('{"data": 7}', "data", ["has neither a list nor an object at 'data'"]),
        ('{"data": [7, {"a": 1}]}', "data", ["holds a value that is not an object, so it is no row", {"a": "1"}]),
        ('{"data": {}}', "data.items", ["has nothing at 'data.items'"]),
        ('{"data": [{"items": 1}]}', "data.items", ["has nothing at 'data.items'"]),
        ('{"Data": []}', "data", ["has nothing at 'data'"]),
        ("", "data", ["is not JSON: Expecting value"]),
        ("<html>busy</html>", "data", ["is not JSON: Expecting value"]),
        ('{"data": [{"a": 1}', "data", ["is not JSON: ',' is expected where it ends"]),
        ('{"data": [{"a": 1}, ]}', "data", ["is not JSON: Expecting value"]),
        ('{"data": [{"a": 1}]', "data", ["is not JSON: ',' is expected where it ends"]),
        ('{"data" [{"a": 1}]}', "data", ["is not JSON: ':' is expected where '[' is"]),
        ("{data: [1]}", "data", ["is not JSON: a key in double quotes is expected"]),
        ('{"data": [{"a": 1}]} {}', "data", ["holds more than one JSON value, of which only the first would be read"]),
        ('[{"a": 1, "a": 2}, {"a": 3}]', None, ["has the key 'a' twice in one object", {"a": "3"}]),
        ('{"data": [' + "[" * 100_000, "data", ["is nested too deeply"]),
        (b'{"data": [{"a": "\xff"}]}', "data", ["is not UTF-8"]),
    ],
)
def test_a_page_without_records_is_one_bad_record(
    tmp_path: Path, content: str | bytes, path: str | None, expected: list[Any]
) -> None:
    assert texts(tmp_path, content, path) == expected


def test_a_bad_page_is_shown_with_the_line_that_breaks(tmp_path: Path) -> None:
    content = '{"data": [{"a": 1},\n{"a": 2}\n{"a": 3}]}'
    (bad,) = document_texts(page(tmp_path, content), "data")
    assert (bad.line, bad.text) == (3, content)


def test_each_line_is_a_document_of_its_own(tmp_path: Path) -> None:
    path = page(tmp_path, '{"data": [{"a": 1}, {"a": 2}]}\n\n{"data": 1}\n{"data": {"a": 3}}\n', "a.jsonl")
    found = [(each.line, each.fields or each.why) for each in line_texts(path, "data")]
    why = "has neither a list nor an object at 'data'"
    assert found == [(1, {"a": "1"}), (1, {"a": "2"}), (3, why), (4, {"a": "3"})]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
ROW = st.dictionaries(st.text(max_size=3).filter(lambda key: key.isascii()), VALUES, max_size=4)


@given(ROW, st.sampled_from([None, 1]), st.booleans())
def test_what_is_cut_out_reads_back_to_the_same(row: dict[str, Any], indent: int | None, escaped: bool) -> None:
    fields = fields_of(json.dumps(row, indent=indent, ensure_ascii=escaped))
    assert list(fields) == list(row)
    for key, value in row.items():
        text = fields[key]
        if value is None or isinstance(value, str):
            assert text == (value if value is None else value.encode("utf-8", "replace").decode())
        else:
            assert text is not None
            assert json.loads(text) == value
