"""A CSV file, read without Spark: its header, whether a record may span lines, and its records, split where Spark's
parser splits them, each with its line and what is wrong with it.

White space may stand between a closing quote and the delimiter; any other text there breaks the record. A quote opens a
field only as its first character. A broken record ends with the line on which that is seen, and the next line begins a
record; a quote that is never closed takes the rest of the file.

Spark reads a file whose records are lines in parallel pieces, any other as a whole, and takes an unclosed quote as a
value that goes on to the end of the file. So each file is looked through once, at the speed of a byte search; only one
with quotes that a line leaves open is parsed here as well.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tidegate.transform.landing.bad_records import BadRecord, UnreadableFileError
from tidegate.transform.landing.csv_dialect import DOUBLED, Dialect
from tidegate.transform.landing.raw import SECTION, open_raw, utf8_pieces

__all__ = [
    "CsvRecord",
    "CsvShape",
    "csv_records",
    "find_values",
    "inspect",
    "malformed_records",
    "open_text",
    "what_is_wrong",
]


_SPACES_ONLY = re.compile(rb"(?:\A|[\r\n])[\x00-\x09\x0b\x0c\x0e-\x20]+(?=[\r\n]|\Z)")


@dataclass(frozen=True, slots=True)
class CsvShape:
    """`first` is the first record (None: the file has none). `whole`: its records may be more than lines.

    `dialect`: as it was given, but for the escape, which only the whole file shows. `open_quotes`: a line ends within
    quotes, which may never be closed: Spark would take the rest of the file for a value.
    """

    first: tuple[str, ...] | None
    whole: bool
    dialect: Dialect
    open_quotes: bool = False


@dataclass(slots=True)
class _Scan:
    """Facts from the bytes of the file. Spark drops lines of white space only, which may be a record of NULLs."""

    open_quotes: bool = False
    backslash_quotes: bool = False
    spaces_only: bool = False
    first_break: bytes = b""
    windows_breaks: bool = False


def inspect(path: Path, dialect: Dialect, multiline: bool | None, escape_declared: bool = False) -> CsvShape:
    """`multiline` False is the user's word that every record is a line."""
    scan = _scan(path, dialect.encoding)
    if scan.backslash_quotes and not escape_declared:
        dialect = _with_escape(path, dialect)
    if scan.open_quotes and multiline is False:
        raise UnreadableFileError(
            path,
            "has a quoted field that spans lines, or a quote that is not closed",
            remedy="leave out multiline = false, or correct the file",
            line=_first_open_quote(path, dialect.encoding),
        )
    first = _first_record(path, dialect)
    single = first is not None and len(first) == 1
    whole = bool(multiline) or scan.open_quotes or scan.spaces_only or single or not dialect.lines_are_bytes
    if whole and scan.windows_breaks and scan.first_break == b"\n":
        raise UnreadableFileError(
            path,
            "mixes line endings (LF and CRLF), so it is not certain where its records end",
            remedy="save it with one kind of line ending",
        )
    return CsvShape(first, whole, dialect, scan.open_quotes)


def find_values(path: Path, dialect: Dialect, column: str, value: str, place: int | None = None) -> Iterator[int]:
    """The lines of the records that have the value in the column, whose place, if not given, the header says (anywhere,
    if it does not)."""
    with _records(path, dialect) as reader:
        try:
            start = 1
            if place is None:
                header = [name.strip().casefold() for name in next(reader, [])]
                place = header.index(column.casefold()) if column.casefold() in header else None
                start = reader.line_num + 1
            for record in reader:
                fields = record if place is None else record[place : place + 1]
                if value in fields:
                    yield start
                start = reader.line_num + 1
        except csv.Error:
            return


def _first_record(path: Path, dialect: Dialect) -> tuple[str, ...] | None:
    with _records(path, dialect) as reader:
        try:
            return next((tuple(record) for record in reader if record), None)
        except csv.Error as error:
            why = f"has broken quotes: {error}"
            raise UnreadableFileError(path, why, remedy="correct the record", line=reader.line_num) from error


@contextmanager
def _records(path: Path, dialect: Dialect) -> Iterator[Any]:
    with open_text(path, dialect) as text:
        yield csv.reader(text, strict=True, **dialect.for_python)  # type: ignore[arg-type]


def _with_escape(path: Path, dialect: Dialect) -> Dialect:
    """Of a file that has a backslash before a quote: the escape with which more of its quotes fit together."""
    backslash = replace(dialect, escape="\\")
    (broken, records), (broken_so, records_so) = _quotes(path, dialect), _quotes(path, backslash)
    if broken == broken_so and records != records_so:
        raise UnreadableFileError(
            path,
            f"may escape quotes by doubling them or with backslashes, which gives {records} or {records_so} records",
            remedy=f"declare which in {SECTION}: escape = '\"' or escape = '\\'",
        )
    return backslash if broken_so < broken else dialect


def _quotes(path: Path, dialect: Dialect) -> tuple[int, int]:
    """How many records have broken quotes, and how many there are."""
    broken = records = 0
    for record in csv_records(path, dialect):
        broken += record.broken is not None
        records += 1
    return broken, records


def _scan(path: Path, encoding: str) -> _Scan:
    scan = _Scan()
    odd = 0
    last = b""
    offset = 0
    for piece in utf8_pieces(path, encoding, declarable=True):
        _refuse_nul(path, piece, offset)
        offset += len(piece)
        if not scan.first_break and (match := re.search(rb"\r\n|\n|\r", piece)):
            scan.first_break = match[0]
        scan.backslash_quotes |= b'\\"' in piece or (last == b"\\" and piece[:1] == b'"')
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
    first, *later_lines = piece.replace(b"\r", b"\n").split(b"\n")
    odd ^= first.count(b'"') & 1
    if not later_lines:
        return odd, False
    return later_lines[-1].count(b'"') & 1, bool(odd) or any(line.count(b'"') & 1 for line in later_lines[:-1])


def _first_open_quote(path: Path, encoding: str) -> int:
    with open_raw(path) as raw, io.TextIOWrapper(raw, encoding=encoding, errors="replace") as file:
        return next((number for number, line in enumerate(file, 1) if line.count('"') & 1), 1)


def _refuse_nul(path: Path, piece: bytes, offset: int) -> None:
    if (place := piece.find(b"\0")) >= 0:
        raise UnreadableFileError(
            path,
            f"holds a NUL byte, which no text has, at offset {offset + place}",
            remedy=f"if it is UTF-16 without a byte-order mark, convert it: iconv -f UTF-16LE -t UTF-8 {path.name}; "
            "else deliver the file again",
        )


# Fields have no limit in Spark, and the module's own is one per process.
csv.field_size_limit(sys.maxsize)


class CsvRecord(NamedTuple):
    """`text` is as delivered, without the line break at its end."""

    line: int
    text: str
    fields: int
    broken: str | None = None


def csv_records(path: Path, dialect: Dialect) -> Iterator[CsvRecord]:
    """All that are not empty lines, the header included."""
    with open_text(path, dialect) as lines:
        yield from _Splitter(dialect).records(lines)


@contextmanager
def open_text(path: Path, dialect: Dialect) -> Iterator[io.TextIOWrapper]:
    with open_raw(path) as raw, io.TextIOWrapper(raw, encoding=dialect.codec, errors="replace", newline="") as text:
        yield text


def malformed_records(path: Path, dialect: Dialect, width: int | None) -> Iterator[BadRecord]:
    """Records with broken quotes, or with another number of fields than `width` (None: than the first)."""
    if _is_plainly_sound(path, dialect, width):
        return
    for record in csv_records(path, dialect):
        width = width or record.fields
        if why := what_is_wrong(record, width):
            yield BadRecord(path, record.line, why)


def _is_plainly_sound(path: Path, dialect: Dialect, width: int | None) -> bool:
    """Python's parser is a little stricter, and quick: what it accepts needs no second look."""
    with open_text(path, dialect) as text:
        try:
            widths = set(map(len, csv.reader(text, strict=True, **dialect.for_python)))  # type: ignore[arg-type]
        except csv.Error:
            return False
    return len(widths - {0}) <= 1 and (width is None or widths <= {0, width})


def what_is_wrong(record: CsvRecord, width: int) -> str | None:
    if record.broken:
        return f"has broken quotes: {record.broken}"
    if record.fields != width:
        fields = f"{record.fields} field{'' if record.fields == 1 else 's'}"
        return f"has {fields} where {width} {'is' if width == 1 else 'are'} expected"
    return None


class _Splitter:
    def __init__(self, dialect: Dialect) -> None:
        self._delimiter = dialect.delimiter
        delimiter = re.escape(dialect.delimiter)
        blanks = "".join(re.escape(chr(code)) for code in range(33) if chr(code) not in f"\r\n{dialect.delimiter}")
        escaped = r'[^"]*+(?:""[^"]*+)*+"' if dialect.escape == DOUBLED else r'[^"\\]*+(?:\\.[^"\\]*+)*+"'
        self._closing = re.compile(escaped, re.DOTALL)
        self._plain = re.compile(rf"[^{delimiter}\r\n]*+")
        self._end = re.compile(rf"[{blanks}]*+(?:({delimiter})|[\r\n]|\Z)")

    def records(self, lines: Iterable[str]) -> Iterator[CsvRecord]:
        numbered = enumerate(lines, 1)
        for start, line in numbered:
            if '"' not in line:
                if text := line.rstrip("\r\n"):
                    yield CsvRecord(start, text, line.count(self._delimiter) + 1)
                continue
            pieces, fields, at = [line], 0, 0
            is_open = False
            while True:
                fields, at, is_open = self._scan(line, at, fields, is_open)
                if not is_open:
                    break
                line, at = next(numbered, (0, ""))[1], 0
                if not line:
                    break
                pieces.append(line)
            text = "".join(pieces).rstrip("\r\n")
            if is_open:
                yield CsvRecord(start, text, fields, "unexpected end of data")
            elif at < 0:
                yield CsvRecord(start, text, fields, f"'{self._delimiter}' expected after '\"'")
            else:
                yield CsvRecord(start, text, fields)

    def _scan(self, line: str, at: int, fields: int, is_open: bool) -> tuple[int, int, bool]:
        """Fields so far, where the scan stopped (-1: broken), and whether the line ends within quotes."""
        while True:
            if is_open or line.startswith('"', at):
                closed = self._closing.match(line, at if is_open else at + 1)
                if closed is None:
                    return fields, at, True
                at, is_open = closed.end(), False
            else:
                plain = self._plain.match(line, at)
                assert plain is not None
                at = plain.end()
            end = self._end.match(line, at)
            if end is None:
                return fields, -1, False
            fields, at = fields + 1, end.end()
            if end[1] is None:
                return fields, at, False
