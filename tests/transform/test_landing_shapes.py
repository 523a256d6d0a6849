"""What is seen of a file before Spark reads it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tidegate.errors import LandingError
from tidegate.transform.landing import csv_files, json_files
from tidegate.transform.landing.csv_dialect import Dialect
from tidegate.transform.landing.csv_files import CsvShape

MEGABYTE = 1 << 20


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def look(path: Path) -> CsvShape:
    return csv_files.inspect(path, Dialect(), None)


@pytest.mark.parametrize(
    ("content", "whole"),
    [
        ("a,b\n1,2\n", False),
        ('a,b\n1,"x,y"\n', False),
        ('a,b\n1,"x ""y"" z"\r\n', False),
        ('a,b\n1,"x\ny"\n', True),
        ('a,b\n1,"x\ry"\n', True),
        ('a,"b\nc"\n1,2\n', True),
        ("a,b\n  \n1,2\n", True),
        ("a\n1\n", True),
        ("a,b\n" + "1,2\n" * MEGABYTE + '3,"x\ny"\n', True),
        ("a,b\n1," + "x" * 3 * MEGABYTE + "\n", False),
    ],
)
def test_a_file_is_read_in_pieces_only_if_every_line_is_a_record(tmp_path: Path, content: str, whole: bool) -> None:
    assert look(written(tmp_path, "a.csv", content)).whole is whole


def test_the_header_is_found_behind_a_bom_a_zip_quotes_and_blank_lines(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf\r\n"a b","c,""d"""\r\n1,2\r\n'
    for path in (written(tmp_path, "a.csv", content), written(tmp_path, "a.csv.gz", gzip.compress(content, mtime=0))):
        assert look(path).first == ("a b", 'c,"d"')


def test_an_empty_file_has_no_record(tmp_path: Path) -> None:
    assert look(written(tmp_path, "a.csv", "")).first is None
    assert json_files.inspect(written(tmp_path, "a.json", " \n"), None) is None


@pytest.mark.parametrize("reader", [look, lambda p: json_files.inspect(p, None)])
@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv", b'{"a":\n1}\n\n"caf\xe9"\n', "is not UTF-8"),
        ("a.csv.gz", gzip.compress(b'{"a": 1}', mtime=0)[:-6], "is not a whole gzip file"),
        ("a.csv.gz", b'{"a": 1}', "is not a whole gzip file"),
    ],
)
def test_bytes_that_spark_would_replace_or_choke_on_are_named(
    tmp_path: Path, reader: object, name: str, content: bytes, why: str
) -> None:
    with pytest.raises(LandingError, match=why) as caught:
        reader(written(tmp_path, name, content))  # type: ignore[operator]
    assert str(tmp_path / name) in str(caught.value.where)


def test_a_record_over_lines_is_refused_where_lines_are_declared(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'a,b\n1,2\n3,"x\ny"\n')
    with pytest.raises(LandingError, match="spans lines") as caught:
        csv_files.inspect(path, Dialect(), False)
    assert caught.value.where == f"{path}:3"


def test_mixed_line_endings_are_refused_where_records_span_lines(tmp_path: Path) -> None:
    assert not look(written(tmp_path, "a.csv", "a,b\n1,2\r\n3,4\n")).whole
    with pytest.raises(LandingError, match="mixes line endings"):
        look(written(tmp_path, "b.csv", 'a,b\n1,"x\ny"\r\n'))


@pytest.mark.parametrize(
    ("name", "content", "document"),
    [
        ("a.json", '{"a": 1}\n{"a": 2}\n', False),
        ("a.json", '{"a": 1}', False),
        ("a.json", '\ufeff [{"a": 1}]', True),
        ("a.json", '{\n"a": 1}', True),
        ("a.jsonl", '{"a": 1}\n', False),
        ("a.json", '{"a": "' + "x" * MEGABYTE + '"}\n{"a": 1}\n', False),
        ("a.json", '[{"a": "' + "] [" * MEGABYTE + '\\""}]', True),
    ],
)
def test_lines_and_documents_are_told_apart(tmp_path: Path, name: str, content: str, document: bool) -> None:
    assert json_files.inspect(written(tmp_path, name, content), None) is document


@pytest.mark.parametrize("between", ["", " ", "\n" * MEGABYTE])
def test_a_second_document_is_found_however_far_away(tmp_path: Path, between: str) -> None:
    path = written(tmp_path, "a.json", '[{"a": "\\\\"}]' + between + "[]")
    with pytest.raises(LandingError, match="more than one JSON value") as caught:
        json_files.inspect(path, True)
    assert caught.value.where == f"{path}:{between.count(chr(10)) + 1}"
