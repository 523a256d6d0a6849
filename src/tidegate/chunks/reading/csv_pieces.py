"""CSV files in pieces, every field as text. An empty field is NULL, `""` is an empty text."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pyarrow as pa
from pyarrow import csv as arrow_csv

from tidegate.chunks.reading.pieces import FilePiece, UnreadableRecord, refused, require_columns
from tidegate.errors import RawFileError

__all__ = ["read_csv"]

_BLOCK = 4 << 20
_HEADER = 1 << 20
_TAIL = 1 << 20


def read_csv(stream: BinaryIO, path: str, delimiter: str) -> Iterator[FilePiece]:
    """Raises RawFileError where the file as a whole is not CSV; then pieces may have been given."""
    start = stream.read(_HEADER).removeprefix(codecs.BOM_UTF8)
    if not start.strip():
        return
    names = _header(start, path, delimiter)
    watched = _Watched(start, stream)
    invalid: list[UnreadableRecord] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        fields = "1 field" if row.actual_columns == 1 else f"{row.actual_columns} fields"
        reason = f"it has {fields}, and the header {row.expected_columns}"
        invalid.append(UnreadableRecord(row.number - 1, reason, row.text))
        return "skip"

    numbers = _Numbers(invalid)
    piece = None
    try:
        for batch in _batches(watched, names, delimiter, note):
            if piece is not None:
                yield piece
            piece = _piece(batch, names, numbers)
    except pa.ArrowInvalid as error:
        if piece is not None:
            yield piece
        raise _explained(error, path) from None
    if piece is not None:
        watched.require_closed_quotes(path, piece, names)
        yield piece
    rest = tuple(numbers.taken_invalid(None))
    if rest:
        yield FilePiece({}, pa.array([], pa.int64()), rest)


def _header(start: bytes, path: str, delimiter: str) -> list[str]:
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in start[:4096]:
        raise refused(path, "it is not UTF-8 text", "write the file as UTF-8")
    if start.lstrip()[:1] in (b"{", b"["):
        raise refused(path, "it begins like JSON, not like CSV", "give the file the ending of its format")
    text = start.decode(errors="surrogateescape")
    header = next((row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row), [])
    if any("\udc80" <= mark <= "\udcff" for name in header for mark in name):
        raise refused(path, "the names of its columns are not UTF-8 text", "write the file as UTF-8")
    if len(header) == 1 and (other := next((mark for mark in (",", ";", "\t", "|") if mark in header[0]), None)):
        shown = {"\t": "a tab"}.get(other, f"'{other}'")
        raise refused(
            path,
            f"its header is one column whose name holds {shown}",
            f"set delimiter = {other!r} for its source in tidegate.toml".replace("'", '"'),
        )
    names = [name or f"column_{number}" for number, name in enumerate(header, 1)]
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise refused(path, f"its header has the column '{name}' twice", "give each column a name of its own")
        seen.add(name.lower())
    require_columns(path, names)
    return names


def _batches(stream: _Watched, names: Sequence[str], delimiter: str, note: object) -> Iterator[pa.RecordBatch]:
    """The header is the first row of the first batch."""
    fields = [str(number) for number in range(len(names))]
    # Without threads, so that invalid rows know their number.
    reader = arrow_csv.open_csv(
        pa.PythonFile(stream, mode="r"),
        arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=fields),
        arrow_csv.ParseOptions(
            delimiter=delimiter,
            newlines_in_values=True,
            invalid_row_handler=note,
        ),
        arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(fields, pa.binary()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    is_first = True
    for batch in reader:
        rows = batch.slice(1) if is_first else batch
        is_first = is_first and not batch.num_rows
        if rows.num_rows:
            yield rows


class _Numbers:
    """Which record each row is: those that are invalid have their number already."""

    def __init__(self, invalid: list[UnreadableRecord]) -> None:
        self._invalid = invalid
        self._next = 1

    def of(self, count: int) -> tuple[list[int] | range, list[UnreadableRecord]]:
        """Of the next rows, and the invalid records among them."""
        if not self._invalid:
            self._next += count
            return range(self._next - count, self._next), []
        skipped = {record.number for record in self._invalid}
        numbers: list[int] = []
        while len(numbers) < count:
            if self._next not in skipped:
                numbers.append(self._next)
            self._next += 1
        return numbers, list(self.taken_invalid(self._next))

    def taken_invalid(self, before: int | None) -> Iterator[UnreadableRecord]:
        """Those before a record; None: all."""
        while self._invalid and (before is None or self._invalid[0].number < before):
            yield self._invalid.pop(0)


def _piece(batch: pa.RecordBatch, names: Sequence[str], numbers: _Numbers) -> FilePiece:
    of_rows, unreadable = numbers.of(batch.num_rows)
    numbered = pa.array(of_rows, pa.int64())
    try:
        columns = [column.cast(pa.string()) for column in batch.columns]
    except pa.ArrowInvalid:  # not UTF-8
        is_text = [_is_utf8(batch, row) for row in range(batch.num_rows)]
        unreadable += [_not_utf8(batch, row, of_rows[row]) for row, good in enumerate(is_text) if not good]
        mask = pa.array(is_text, pa.bool_())
        columns = [column.filter(mask).cast(pa.string()) for column in batch.columns]
        numbered = numbered.filter(mask)
    return FilePiece(dict(zip(names, columns, strict=True)), numbered, tuple(unreadable))


def _is_utf8(batch: pa.RecordBatch, row: int) -> bool:
    try:
        for column in batch.columns:
            (column[row].as_py() or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _not_utf8(batch: pa.RecordBatch, row: int, number: int) -> UnreadableRecord:
    fields = [(column[row].as_py() or b"").decode(errors="backslashreplace") for column in batch.columns]
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(fields)
    return UnreadableRecord(number, "it is not UTF-8 text", out.getvalue())


class _Watched(io.RawIOBase):
    """The file as it is read, and how it ends."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start, self._stream = start, stream
        self._tail = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._start:
            data, self._start = self._start[:size], self._start[size:]
        else:
            data = self._stream.read(size)
        self._tail = data[-_TAIL:] if len(data) >= _TAIL else (self._tail + data)[-_TAIL:]
        return data

    def require_closed_quotes(self, path: str, last: FilePiece, names: Sequence[str]) -> None:
        """Arrow takes a quoted field that does not end for one that ends with the file."""
        if not last.numbers:
            return
        value = last.columns[names[-1]][-1].as_py() or ""
        written = b'"' + value.replace('"', '""').encode()
        # Of a field of quotes that does end, all but the first look alike.
        if self._tail.endswith(written[-_TAIL:]) and not self._tail[: -len(written)].endswith(b'"'):
            number = last.numbers[-1].as_py()
            raise refused(
                path,
                f"it ends inside a quoted field of record {number:,}",
                "close the quote where the file is written, or deliver the whole file",
            )


def _explained(error: pa.ArrowInvalid, path: str) -> RawFileError:
    if "straddling" in str(error):
        return refused(
            path,
            f"a record is longer than {_BLOCK >> 20} MB, or a quoted field does not end",
            "close the quote where the file is written, or deliver such records as JSON lines",
        )
    return refused(path, str(error).removeprefix("CSV parse error: "), "correct the file where it is written")
