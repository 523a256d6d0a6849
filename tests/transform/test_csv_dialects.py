"""How a CSV file is written is found from its own content, or refused with the setting that decides it."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tidegate.config import ZoneSettings
from tidegate.errors import LandingError
from tidegate.transform.landing.csv_dialect import Dialect, find_dialect, refuse_suspicious_column
from tidegate.transform.landing.csv_files import inspect


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("customer_id;name;city\n1;x;y\n", ";"),
        ("id;price\n1;2,50\n2;3,75\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ('"a;b",c\n"1;2",3\n', ","),
        ('"a,1";"b,2"\n"x,1";y\n', ";"),
        ("id,name (a|b),x\n1,y,z\n", ","),
        ('a;b\n1;"two\nlines, with a comma"\n', ";"),
        ("a;b;c\n1;2;3\n4;5\n", ";"),
        ("a,b;c\n1,x;y\n2,z\n", ","),
        ("n\n1\n", ","),
        ("", ","),
        ("\n\r\n\na;b\n1;2\n", ";"),
        ("a;b\n" + "1;2\n" * 40_000, ";"),
        ("a;b\r1;2\r", ";"),
    ],
)
def test_the_delimiter_is_the_one_that_the_records_agree_on(tmp_path: Path, content: str, delimiter: str) -> None:
    for name, data in (("a.csv", content.encode()), ("a.csv.gz", gzip.compress(content.encode(), mtime=0))):
        assert find_dialect(written(tmp_path, name, data), ZoneSettings()).delimiter == delimiter


def test_the_name_decides_only_where_there_is_one_column(tmp_path: Path) -> None:
    assert find_dialect(written(tmp_path, "a.tsv", "n\n1\n"), ZoneSettings()).delimiter == "\t"
    assert find_dialect(written(tmp_path, "b.tsv", "a,b\n1,2\n"), ZoneSettings()).delimiter == ","


def test_what_is_declared_wins_over_what_is_found(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a;b\n1;é\n".encode("windows-1252"))
    settings = ZoneSettings(delimiter=",", encoding="windows-1252", escape="\\")
    assert find_dialect(path, settings) == Dialect(",", "windows-1252", "\\")


def test_two_delimiters_that_fit_equally_well_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="by a comma or a semicolon: each gives 2 columns") as caught:
        find_dialect(written(tmp_path, "a.csv", "a,b;c\n1,2;3\n"), ZoneSettings())
    assert "delimiter = ','" in str(caught.value.remedy)


@pytest.mark.parametrize("header", ['"customer_id;name;city"', "a^b^c", '"id,name"'])
def test_one_column_whose_name_holds_a_delimiter_is_refused(tmp_path: Path, header: str) -> None:
    path = written(tmp_path, "a.csv", f"{header}\n1\n")
    first = inspect(path, find_dialect(path, ZoneSettings()), None).first
    assert first is not None
    with pytest.raises(LandingError, match="looks like several") as caught:
        refuse_suspicious_column(path, first, ZoneSettings())
    assert "delimiter = " in str(caught.value.remedy)
    refuse_suspicious_column(path, first, ZoneSettings(delimiter="#"))


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("ä;b\n".encode(), "utf-8"),
        ("ä;b\n".encode("utf-8-sig"), "utf-8"),
        ("ä;b\n".encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + "ä;b\n".encode("utf-16-be"), "utf-16"),
    ],
)
def test_the_encoding_is_utf8_or_what_the_byte_order_mark_says(tmp_path: Path, data: bytes, encoding: str) -> None:
    path = written(tmp_path, "a.csv", data)
    dialect = find_dialect(path, ZoneSettings())
    assert dialect == Dialect(";", encoding)
    shape = inspect(path, dialect, None)
    assert shape.first == ("ä", "b")
    assert shape.whole is (encoding == "utf-16")


def test_bytes_that_are_not_the_encoding_are_refused_with_their_offset_and_the_setting(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a;b\n1;caf\u00e9\n".encode("cp1252"))
    with pytest.raises(LandingError, match="is not UTF-8: see the byte at offset 9") as caught:
        inspect(path, Dialect(";"), None)
    assert caught.value.where == f"{path}:2"
    assert '[landing.ZONE], for example encoding = "windows-1252"' in str(caught.value.remedy)
    assert inspect(path, Dialect(";", "windows-1252"), None).first == ("a", "b")


def test_a_nul_byte_is_refused_with_its_offset(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match="holds a NUL byte, which no text has, at offset 6"):
        inspect(written(tmp_path, "a.csv", b"a,b\n1,\x002\n"), Dialect(), None)
    with pytest.raises(LandingError, match="NUL byte") as caught:
        inspect(written(tmp_path, "b.csv", "a,b\n".encode("utf-16-le")), Dialect(), None)
    assert "iconv -f UTF-16LE -t UTF-8 b.csv" in str(caught.value.remedy)
    with pytest.raises(LandingError, match="no byte-order mark"):
        inspect(tmp_path / "b.csv", Dialect(encoding="utf-16"), None)


@pytest.mark.parametrize(
    ("content", "escape"),
    [
        ('a,b\n1,"say ""hi"""\n', '"'),
        ('a,b\n1,"say \\"hi\\" to, me"\n', "\\"),
        ('a,b\n1,"C:\\dir\\"\n2,x\n', '"'),
        ('a,b\n1,"5\\" pipe"\n', "\\"),
        ("a,b\n1,x\\y\n", '"'),
        ('a,b\n1,x\\"y\n', '"'),
    ],
)
def test_backslashes_escape_quotes_where_the_quotes_fit_together_only_so(
    tmp_path: Path, content: str, escape: str
) -> None:
    assert inspect(written(tmp_path, "a.csv", content), Dialect(), None).dialect.escape == escape


def test_a_declared_escape_is_not_second_guessed(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'a,b\n1,"say \\"hi\\""\n')
    assert inspect(path, Dialect(), None, escape_declared=True).dialect.escape == '"'


def test_a_declared_encoding_is_for_files_that_are_not_utf8(tmp_path: Path) -> None:
    settings = ZoneSettings(encoding="windows-1252")
    accents, plain = tmp_path / "a.csv", tmp_path / "b.csv"
    accents.write_bytes("name,city\nJosé,Köln\n".encode())
    plain.write_bytes("name,city\nJosé,Köln\n".encode("windows-1252"))
    assert find_dialect(accents, settings).encoding == "utf-8"
    assert find_dialect(plain, settings).encoding == "windows-1252"


def test_gzip_data_without_the_ending_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(LandingError, match="gzip data") as caught:
        find_dialect(path, ZoneSettings())
    assert "a.csv.gz" in str(caught.value.remedy)
