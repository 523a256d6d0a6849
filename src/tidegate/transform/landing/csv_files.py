"""The shape of a CSV file, seen without Spark: its header, and whether a record may span lines.

Spark reads a file whose records are lines in parallel pieces, any other as a whole, and takes an unclosed quote as a
value that goes on to the end of the file. So each file is looked through once, at the speed of a byte search; only one
with quotes that a line leaves open is parsed here as well.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tidegate.errors import LandingError
from tidegate.transform.landing.raw import open_raw, utf8_pieces

__all__ = ["BadRecord", "CsvShape", "find_malformed", "find_value", "inspect", "usual_delimiter"]

# Fields have no limit in Spark, and the module's own is one per process.
csv.field_size_limit(sys.maxsize)

_SPACES_ONLY = re.compile(rb"(?:\A|[\r\n])[\x00-\x09\x0b\x0c\x0e-\x20]+(?=[\r\n]|\Z)")


@dataclass(frozen=True, slots=True)
class CsvShape:
    """`first` is the first record (None: the file has none). `whole`: its records may be more than lines."""

    first: tuple[str, ...] | None
    whole: bool


@dataclass(frozen=True, slots=True)
class BadRecord:
    line: int
    why: str


@dataclass(slots=True)
class _Scan:
    """What a look at the bytes tells. Spark drops lines of white space only, which may be a record of NULLs."""

    open_quotes: bool = False
    spaces_only: bool = False
    first_break: bytes = b""
    windows_breaks: bool = False


def usual_delimiter(name: str) -> str:
    return "\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ","


def inspect(path: Path, delimiter: str, multiline: bool | None) -> CsvShape:
    """`multiline` False is the user's word that every record is a line."""
    scan = _scan(path)
    if scan.open_quotes and multiline is False:
        raise LandingError(
            f"'{path.name}' has a quoted field that spans lines, or a quote that is not closed",
            where=f"{path}:{_first_open_quote(path)}",
            remedy="leave out multiline = false, or mend the file",
        )
    if scan.open_quotes and (bad := find_malformed(path, delimiter, None)):
        raise LandingError(f"'{path.name}' {bad.why}", where=f"{path}:{bad.line}", remedy="mend the record")
    first = _first_record(path, delimiter)
    single = first is not None and len(first) == 1
    whole = bool(multiline) or scan.open_quotes or scan.spaces_only or single
    if whole and scan.windows_breaks and scan.first_break == b"\n":
        raise LandingError(
            f"'{path.name}' mixes line endings (LF and CRLF), so that its records cannot be told apart for certain",
            where=str(path),
            remedy="save it with one kind of line ending",
        )
    return CsvShape(first, whole)


def find_malformed(path: Path, delimiter: str, width: int | None) -> BadRecord | None:
    """The first record with broken quotes, or with another number of fields than `width` (None: than the first)."""
    with _records(path, delimiter) as reader:
        start = 1
        try:
            for record in reader:
                width = width or len(record) or None
                if record and width and len(record) != width:
                    return BadRecord(start, f"has {len(record)} fields where {width} are expected")
                start = reader.line_num + 1
        except csv.Error as error:
            return BadRecord(start, f"has broken quotes: {error}")
    return None


def find_value(path: Path, column: str, value: str) -> int | None:
    """The line of the first record that has the value in the column (anywhere, if the header does not name it)."""
    with _records(path, usual_delimiter(path.name)) as reader:
        try:
            header = [name.strip().casefold() for name in next(reader, [])]
            place = header.index(column.casefold()) if column.casefold() in header else None
            start: int = reader.line_num + 1
            for record in reader:
                fields = record if place is None else record[place : place + 1]
                if value in fields:
                    return start
                start = reader.line_num + 1
        except csv.Error:
            return None
    return None


def _first_record(path: Path, delimiter: str) -> tuple[str, ...] | None:
    with _records(path, delimiter) as reader:
        try:
            return next((tuple(record) for record in reader if record), None)
        except csv.Error as error:
            raise LandingError(
                f"'{path.name}' has broken quotes: {error}", where=f"{path}:{reader.line_num}", remedy="mend the record"
            ) from error


@contextmanager
def _records(path: Path, delimiter: str) -> Iterator[Any]:
    with open_raw(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="") as text:
        yield csv.reader(text, delimiter=delimiter, strict=True)


def _scan(path: Path) -> _Scan:
    scan = _Scan()
    odd = 0
    last = b""
    for piece in utf8_pieces(path):
        if not scan.first_break and (found := re.search(rb"\r\n|\n|\r", piece)):
            scan.first_break = found[0]
        scan.windows_breaks |= b"\r\n" in piece or (last == b"\r" and piece[:1] == b"\n")
        scan.spaces_only = scan.spaces_only or _SPACES_ONLY.search(piece) is not None
        if not scan.open_quotes and (odd or b'"' in piece):
            odd, open_ = _leave_open(piece, odd)
            scan.open_quotes = open_
        last = piece[-1:]
    scan.open_quotes = scan.open_quotes or bool(odd)
    return scan


def _leave_open(piece: bytes, odd: int) -> tuple[int, bool]:
    """Whether a line in the piece ends within quotes, and whether the unfinished last one is within them so far."""
    first, *rest = piece.replace(b"\r", b"\n").split(b"\n")
    odd ^= first.count(b'"') & 1
    if not rest:
        return odd, False
    return rest[-1].count(b'"') & 1, bool(odd) or any(line.count(b'"') & 1 for line in rest[:-1])


def _first_open_quote(path: Path) -> int:
    with open_raw(path) as file:
        return next((number for number, line in enumerate(file, 1) if line.count(b'"') & 1), 1)
