"""JSON objects as columns of text: each value as it was delivered.

A text is what it says, a number, `true` and `false` are as they were written (`1.0` stays `1.0`), what is nested stays
JSON as it was written. `null` and a key that is not there are NULL.

Many records are read at once, in C. Only where that fails, or a name is there twice, they are read one by one, so that
what is wrong with one of them is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import pyarrow as pa

from tidegate.chunks.reading.pieces import FilePiece, UnreadableRecord

__all__ = ["ColumnNames", "Row", "piece_of", "read_document", "same_text"]

Row = Mapping[str, msgspec.Raw]

_ROW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TEXTS = msgspec.json.Decoder(list[str | None])
_TEXT = msgspec.json.Decoder(str)
_ENCODER = msgspec.json.Encoder()
_NULL = msgspec.Raw(b"null")


class ColumnNames:
    """The names that a file has had so far. Names that differ in case alone are one column, for Spark too."""

    def __init__(self) -> None:
        self._spelling: dict[str, str] = {}
        self._known: set[str] = set()

    def settled(self, names: Iterable[str]) -> bool:
        """Whether each is spelled as the first of its kind; names that are new are taken over."""
        for name in names:
            if name not in self._known:
                if self._spelling.setdefault(name.lower(), name) != name:
                    return False
                self._known.add(name)
        return True

    def spelled(self, row: Row) -> Row | None:
        """None where two names of the row are one column."""
        names = [self._spelling.setdefault(name.lower(), name) for name in row]
        if len(set(names)) < len(names):
            return None
        self._known.update(names)
        return dict(zip(names, row.values(), strict=True))

    def all(self) -> list[str]:
        return list(self._spelling.values())


def same_text(rows: Sequence[Row], written: bytes, compact: bytes) -> bool:
    """Whether the rows hold all that was written: a name that is there twice is lost in reading.

    `written`: the rows as JSON, which `compact` is when it has no blanks around its values.
    """
    if len(compact) == len(written):
        return True
    try:
        return len(msgspec.json.format(compact, indent=-1)) == len(msgspec.json.format(written, indent=-1))
    except msgspec.DecodeError:
        return False


def read_document(text: bytes, names: ColumnNames) -> Row | str:
    """One record, or why it cannot be read."""
    try:
        text.decode()
        row: Row = _ROW.decode(text)
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 text (byte {error.start + 1})"
    except RecursionError:
        return "its values are nested too deeply"
    except msgspec.ValidationError:
        return f"it is {_kind(text)}, not an object of names and values"
    except msgspec.DecodeError as error:
        return _why_not_json(text, error)
    if not same_text([row], text, _ENCODER.encode(row)) and (name := _repeated(text)) is not None:
        return f"it has the name '{name}' twice"
    if not names.settled(row):
        spelled = names.spelled(row)
        if spelled is None:
            return "it has two names that differ in case alone, which are one column"
        return spelled
    return row


def piece_of(rows: Sequence[Row], numbers: Sequence[int] | range, unreadable: Sequence[UnreadableRecord]) -> FilePiece:
    """`rows`: each name is spelled in one way. Raises UnicodeDecodeError."""
    names = dict.fromkeys(chain.from_iterable(rows))
    columns = {name: _texts([row.get(name, _NULL) for row in rows]) for name in names}
    return FilePiece(columns, pa.array(numbers, pa.int64()), unreadable)


def _texts(values: Sequence[msgspec.Raw]) -> pa.Array:
    joined = b",".join(values)
    if not any(mark in joined for mark in (b'"', b"{", b"[")):
        texts: list[str | None] = list(joined.decode().split(","))
        if b"null" in joined:
            texts = [None if text == "null" else text for text in texts]
        return pa.array(texts, pa.string())
    try:
        return pa.array(_TEXTS.decode(b"[" + joined + b"]"), pa.string())
    except msgspec.ValidationError:  # not texts alone
        return pa.array([_value_text(bytes(value)) for value in values], pa.string())


def _value_text(value: bytes) -> str | None:
    if value.startswith(b'"'):
        return _TEXT.decode(value)
    return None if value == b"null" else value.decode()


def _kind(text: bytes) -> str:
    match text.lstrip()[:1]:
        case b"[":
            return "a list"
        case b'"':
            return "a text"
        case b"t" | b"f":
            return "true or false"
        case b"n":
            return "null"
        case _:
            return "a number"


def _why_not_json(text: bytes, error: msgspec.DecodeError) -> str:
    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)
    except ValueError as reason:
        return f"it is not JSON: {reason}"
    except RecursionError:
        return "its values are nested too deeply"
    if "truncated" in str(error):
        return "a text in it has half of a surrogate pair, such as \\ud800, which is no character"
    return f"it is not JSON: {error}"


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _repeated(text: bytes) -> str | None:
    """The first name that the object has twice."""
    # The hook is called for the outermost object last.
    pairs: list[tuple[str, Any]] = []

    def remember(found: list[tuple[str, Any]]) -> None:
        pairs[:] = found

    json.loads(text, object_pairs_hook=remember, parse_int=str, parse_float=str)
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    return None
