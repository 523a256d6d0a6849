"""The records of a CSV file, split where Spark's parser splits them, each with its line and what is wrong with it.

White space may stand between a closing quote and the delimiter; any other text there breaks the record. A quote opens a
field only as its first character. What is broken ends with the line on which that is seen, and the next line begins a
record; a quote that is never closed takes the rest of the file.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tidegate.transform.landing.bad_records import BadRecord
from tidegate.transform.landing.csv_dialect import DOUBLED, Dialect
from tidegate.transform.landing.raw import open_raw

__all__ = ["CsvRecord", "csv_records", "malformed_records", "open_text", "what_is_wrong"]

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
