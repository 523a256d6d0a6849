"""JSON files in pieces: one array of records, a record per line, or records one after the other."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO

import msgspec

from tidegate.chunks.reading.json_bounds import DocumentSpan, document_spans, end_of_document
from tidegate.chunks.reading.json_values import ColumnNames, Row, piece_of, read_document, same_text
from tidegate.chunks.reading.pieces import FilePiece, UnreadableRecord, refused, require_columns

__all__ = ["read_json"]

_BLOCK = 4 << 20
_LONGEST = 128 << 20
"""Bytes of one record. Without a limit a quote that is not closed would take the rest of the file into memory."""

_LINES = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_ENCODER = msgspec.json.Encoder()
_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_BLANKS = b" \t\r\n"


def read_json(stream: BinaryIO, path: str, by_line: bool) -> Iterator[FilePiece]:
    """`by_line`: the file's name says that each line is a record. Raises RawFileError where the file as a whole is not
    JSON; then pieces may have been given."""
    blocks = _Blocks(stream, path)
    first = blocks.skip_blanks()
    if not first:
        return
    names = ColumnNames()
    if by_line or (first == b"{" and _first_line_is_a_record(blocks)):
        pieces = _lines(blocks, names)
    elif first == b"[":
        blocks.take(1)
        pieces = _array(blocks, names)
    elif first == b"{":
        pieces = _documents(blocks, names)
    else:
        raise refused(
            path, "it begins neither with '[' nor with '{', so it is not JSON", "give the file the ending of its format"
        )
    for piece in pieces:
        require_columns(path, names.all())
        yield piece


class _Blocks:
    """The bytes that are read and not yet used."""

    def __init__(self, stream: BinaryIO, path: str) -> None:
        self._stream = stream
        self.path = path
        self.held = b""
        self.line = 1
        """Of the first byte that is held."""

        self.ended = False
        self.more()
        self.held = self.held.removeprefix(codecs.BOM_UTF8)
        if self.held.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in self.held[:64]:
            raise refused(path, "it is not UTF-8 text", "write the file as UTF-8")

    def more(self) -> bool:
        """Read another block; False at the end of the file."""
        if len(self.held) > _LONGEST:
            raise refused(
                self.path,
                f"a record that begins in line {self.line:,} is longer than {_LONGEST >> 20} MB, or a text in it does "
                "not end",
                "correct the record where the file is written",
            )
        block = self._stream.read(_BLOCK)
        self.ended = not block
        self.held = self.held + block if self.held else block
        return not self.ended

    def take(self, length: int) -> bytes:
        taken, self.held = self.held[:length], self.held[length:]
        self.line += taken.count(b"\n")
        return taken

    def skip_blanks(self) -> bytes:
        """The next byte that is no blank; empty at the end of the file."""
        while True:
            rest = self.held.lstrip(_BLANKS)
            self.take(len(self.held) - len(rest))
            if rest or not self.more():
                return self.held[:1]


def _first_line_is_a_record(blocks: _Blocks) -> bool:
    while b"\n" not in blocks.held and blocks.more():
        pass
    line, _, rest = blocks.held.partition(b"\n")
    if rest.startswith(b"{"):
        return True
    line = line.rstrip(_BLANKS)
    end = end_of_document(line, 0)
    # One that is broken off is followed by the rest of it; a whole one may be followed by anything.
    return end is not None and (end == len(line) or not line[end:].lstrip(_BLANKS).startswith((b"{", b",")))


def _lines(blocks: _Blocks, names: ColumnNames) -> Iterator[FilePiece]:
    while True:
        cut = blocks.held.rfind(b"\n") + 1
        if not cut:
            if blocks.more():
                continue
            cut = len(blocks.held)
        if cut:
            first = blocks.line
            yield _piece_of_lines(blocks.take(cut), first, names)
        if blocks.ended and not blocks.held:
            return
        blocks.more()


def _piece_of_lines(block: bytes, first: int, names: ColumnNames) -> FilePiece:
    count = block.count(b"\n") + (not block.endswith(b"\n"))
    try:
        if block.isascii() or block.decode():
            rows: Sequence[Row] = _LINES.decode_lines(block)
            if len(rows) == count and _hold_all(rows, block, as_lines=True) and names.settled(_names(rows)):
                return piece_of(rows, range(first, first + count), ())
    except _UNREADABLE:
        pass
    lines = ((first + number, line) for number, line in enumerate(block.split(b"\n")) if line.strip(_BLANKS))
    return _one_by_one(lines, names)


def _array(blocks: _Blocks, names: ColumnNames) -> Iterator[FilePiece]:
    number = 1
    while True:
        piece, count = _next_of_array(blocks, number, names)
        if piece is not None:
            number += count
            yield piece
            continue
        if blocks.more():
            continue
        end = blocks.skip_blanks()
        if end == b",":
            blocks.take(1)
            end = blocks.skip_blanks()
        if end == b"]":
            blocks.take(1)
            if blocks.skip_blanks():
                raise refused(
                    blocks.path, f"there is more after the end of its list, in line {blocks.line:,}", _ONE_LIST
                )
            return
        raise refused(blocks.path, *_not_closed(blocks, number, end))


_ONE_LIST = "write one list of records, or each record on a line of its own in a file called .jsonl"


def _not_closed(blocks: _Blocks, number: int, first: bytes) -> tuple[str, str]:
    if first == b"}":
        return f"record {number:,} is not JSON: it begins with '}}'", "correct the file where it is written"
    what = f"in record {number:,}" if first else "before the end of its list"
    return (
        f"it ends {what}, which began in line {blocks.line:,}" if first else f"it ends {what}",
        "deliver the whole file; if it is still being written, run this again when it is complete",
    )


def _next_of_array(blocks: _Blocks, number: int, names: ColumnNames) -> tuple[FilePiece | None, int]:
    """Records that end inside what is held, and how many they are."""
    cut = _likely_end(blocks.held)
    if cut:
        rows = _rows_of_array(blocks.held[:cut], names)
        if rows is not None:
            blocks.take(cut + 1)  # with its comma
            return piece_of(rows, range(number, number + len(rows)), ()), len(rows)
    spans = list(document_spans(blocks.held))
    if not spans:
        return None, 0
    text = blocks.held
    piece = _piece_of_spans(text, spans, number, names, separated=True)
    blocks.take(spans[-1].end)
    return piece, len(spans)


def _likely_end(text: bytes) -> int:
    """Behind the last bracket that a comma follows; 0 where there is none. Only reading shows whether it ends a
    record."""
    return text.rfind(b"},") + 1


def _rows_of_array(text: bytes, names: ColumnNames) -> Sequence[Row] | None:
    """None where they must be read one by one."""
    written = b"[" + text.lstrip(_BLANKS + b",") + b"]"
    try:
        if not written.isascii():
            written.decode()
        rows: Sequence[Row] = _ARRAY.decode(written)
    except _UNREADABLE:
        return None
    return rows if _hold_all(rows, written) and names.settled(_names(rows)) else None


def _documents(blocks: _Blocks, names: ColumnNames) -> Iterator[FilePiece]:
    number = 1
    while True:
        spans = list(document_spans(blocks.held))
        if spans:
            yield _piece_of_spans(blocks.held, spans, number, names, separated=False)
            number += len(spans)
            blocks.take(spans[-1].end)
        if not blocks.more():
            break
    if first := blocks.skip_blanks():
        raise refused(blocks.path, *_not_closed(blocks, number, first))


def _piece_of_spans(
    text: bytes, spans: Sequence[DocumentSpan], number: int, names: ColumnNames, separated: bool
) -> FilePiece:
    if separated:
        rows = _rows_of_array(text[spans[0].start : spans[-1].end], names)
        if rows is not None and len(rows) == len(spans):
            return piece_of(rows, range(number, number + len(rows)), ())
    return _one_by_one(((number + at, text[start:end]) for at, (start, end) in enumerate(spans)), names)


def _one_by_one(documents: Iterator[tuple[int, bytes]], names: ColumnNames) -> FilePiece:
    rows: list[Row] = []
    numbers: list[int] = []
    unreadable: list[UnreadableRecord] = []
    for number, text in documents:
        row = read_document(text, names)
        if isinstance(row, str):
            unreadable.append(UnreadableRecord(number, row, text.strip(_BLANKS).decode(errors="backslashreplace")))
        else:
            rows.append(row)
            numbers.append(number)
    return piece_of(rows, numbers, unreadable)


def _hold_all(rows: Sequence[Row], written: bytes, as_lines: bool = False) -> bool:
    compact = _ENCODER.encode_lines(rows) if as_lines else _ENCODER.encode(rows)
    if len(compact) == len(written):
        return True
    if not as_lines:
        return same_text(rows, written, compact)
    body = written.strip(_BLANKS).replace(b"\n", b",")
    return same_text(rows, b"[" + body + b"]", b"[" + compact.strip(b"\n").replace(b"\n", b",") + b"]")


def _names(rows: Sequence[Row]) -> Iterable[str]:
    """In their order, so that a column is spelled alike however often the file is read."""
    return dict.fromkeys(chain.from_iterable(rows))
