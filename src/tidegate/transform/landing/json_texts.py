"""JSON as the text that was delivered: the records of documents and lines, each value exactly as it is written.

A string is its characters; any other value is the text that stands in the file, so that 1.10 stays 1.10 and no digit
of a number is lost; null is None. Documents are read in pieces, one record after the other, wherever in the document
the records are.
"""

from __future__ import annotations

import io
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TextIO

from tidegate.transform.landing.bad_records import UnreadableFileError
from tidegate.transform.landing.json_files import RepeatedKeyError, json_records, lines_of, unique_object
from tidegate.transform.landing.raw import open_raw

__all__ = ["TextRecord", "document_texts", "fields_of", "line_texts"]

_PIECE = 1 << 20
_HELD = 16 << 20
"""The records of a document of so many bytes are held; a larger one is read twice."""
_UNZIPPED = 16
"""How much larger than its file a zipped document may well be."""
_SHOWN_TEXT = 1 << 20
_NUMBER_MAY_GO_ON = 2
"""So many characters of a number's exponent may stand after what alone would be a number."""

_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_UNIQUE = json.JSONDecoder(parse_int=str, parse_float=str, object_pairs_hook=unique_object)
_SPACE = re.compile(r"[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,?[ \t\r\n]*")
_NO_ROW = "holds a value that is not an object, so it is no row"
_SECOND = "holds more than one JSON value, of which only the first would be read"


class TextRecord(NamedTuple):
    """`text` is only there where `why` says what is wrong with the record, `fields` only where nothing is."""

    line: int
    fields: Mapping[str, str | None] | None = None
    text: str | None = None
    why: str | None = None


class _BrokenDocumentError(Exception):
    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line, self.why = line, why


def document_texts(path: Path, content_path: str | None) -> Iterator[TextRecord]:
    """The records at the path in a file that is one document. A document that is broken anywhere is one bad record."""
    held = _HELD // _UNZIPPED if path.name.lower().endswith(".gz") else _HELD
    try:
        if path.stat().st_size <= held:
            records: Iterator[TextRecord] = iter(list(_of_file(path, content_path)))
        else:
            deque(_of_file(path, content_path), maxlen=0)
            records = _of_file(path, content_path)
    except UnreadableFileError as error:
        records = iter([TextRecord(found.line or 1, None, None, found.why) for found in error.files])
    except _BrokenDocumentError as error:
        with _open(path, "replace") as file:
            records = iter([TextRecord(error.line, None, file.read(_SHOWN_TEXT + 1), error.why)])
    yield from records


def line_texts(path: Path, content_path: str | None) -> Iterator[TextRecord]:
    """The records of a file of lines: each line is a document."""
    if not content_path:
        for line, text, why in json_records(path):
            yield TextRecord(line, None, text, why) if why else _record(line, text)
        return
    for line, text in lines_of(path):
        try:
            yield from list(_records(_Cursor(io.StringIO(text), line), content_path))
        except _BrokenDocumentError as error:
            yield TextRecord(line, None, text, error.why)


def fields_of(text: str) -> dict[str, str | None]:
    """The values of an object, given as JSON, by key. Raises where a key is there twice."""
    fields: dict[str, str | None] = {}
    at = _end(_SPACE, text, 1)
    while text[at] != "}":
        key, at = _UNIQUE.raw_decode(text, at)
        at = _end(_COLON, text, at)
        value, end = _UNIQUE.raw_decode(text, at)
        if key in fields:
            raise RepeatedKeyError(key)
        # Numbers are decoded as texts, too.
        fields[key] = None if value is None else value if text[at] == '"' else text[at:end]
        at = _end(_COMMA, text, end)
    if text.isascii() and "\\u" not in text:
        return fields
    return {_encodable(key): value if value is None else _encodable(value) for key, value in fields.items()}


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where the pattern, which always matches, ends."""
    return pattern.match(text, at).end()  # type: ignore[union-attr]


def _encodable(text: str) -> str:
    """JSON can write half of a character, which no encoding has."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _of_file(path: Path, content_path: str | None) -> Iterator[TextRecord]:
    with _open(path, "strict") as file:
        yield from _records(_Cursor(file, 1), content_path)


@contextmanager
def _open(path: Path, errors: str) -> Iterator[TextIO]:
    with open_raw(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", errors=errors, newline="") as text:
        yield text


def _records(cursor: _Cursor, content_path: str | None) -> Iterator[TextRecord]:
    yield from _below(cursor, content_path.split(".") if content_path else (), content_path)
    if cursor.peek():
        raise cursor.broken(_SECOND)


def _below(cursor: _Cursor, steps: Sequence[str], content_path: str | None) -> Iterator[TextRecord]:
    """The records at the path; everything else in the value is passed over."""
    if not steps:
        yield from _items(cursor, content_path)
        return
    met = False
    if cursor.peek() == "{":
        for key in cursor.names():
            if key == steps[0] and not met:
                met = True
                yield from _below(cursor, steps[1:], content_path)
            else:
                cursor.value()
    else:
        cursor.value()
    if not met:
        raise cursor.broken(f"has nothing at '{content_path}'")


def _items(cursor: _Cursor, content_path: str | None) -> Iterator[TextRecord]:
    first = cursor.peek()
    if first == "[":
        for line in cursor.lines():
            yield _record(line, cursor.value())
        return
    line, text = cursor.line, cursor.value()
    if content_path and first != "{":
        what = "nothing" if text == "null" else "neither a list nor an object"
        raise _BrokenDocumentError(line, f"has {what} at '{content_path}'")
    yield _record(line, text)


def _record(line: int, text: str) -> TextRecord:
    if not text.startswith("{"):
        return TextRecord(line, None, text, _NO_ROW)
    try:
        fields = fields_of(text)
    except RepeatedKeyError as error:
        return TextRecord(line, None, text, f"has the key '{error}' twice in one object")
    if two := _spelled_twice(fields):
        return TextRecord(line, None, text, f"has the keys {two}, which differ only in case and are one column")
    return TextRecord(line, fields)


def _spelled_twice(fields: Mapping[str, str | None]) -> str | None:
    if len(fields) == len({key.casefold() for key in fields}):
        return None
    spellings: dict[str, str] = {}
    pairs = ((spellings.setdefault(key.casefold(), key), key) for key in fields)
    return next(f"'{other}' and '{key}'" for other, key in pairs if other != key)


class _Cursor:
    """A place in a text, of which only what comes after it is held."""

    def __init__(self, file: TextIO, line: int) -> None:
        self._file, self._text, self._at = file, "", 0
        self.line = line

    def broken(self, why: str) -> _BrokenDocumentError:
        return _BrokenDocumentError(self.line, why)

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            here = self._text[self._at : self._at + 1]
            if here and here not in " \t\r\n":
                return here
            self._move(_end(_SPACE, self._text, self._at))
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def value(self) -> str:
        """The text of the value that begins here, and pass over it."""
        self.peek()
        while True:
            try:
                _, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._more():
                    continue
                line = self.line + self._text.count("\n", self._at, error.pos)
                raise _BrokenDocumentError(line, f"is not JSON: {error.msg}") from None
            except RecursionError:
                raise self.broken("is nested too deeply") from None
            if end + _NUMBER_MAY_GO_ON >= len(self._text) and self._more():
                continue
            text = self._text[self._at : end]
            self._move(end)
            return text

    def names(self) -> Iterator[str]:
        """Of the object that begins here, each with the cursor before its value, which the caller passes over."""
        for _ in self._parts("}"):
            if self.peek() != '"':
                raise self.broken("is not JSON: a key in double quotes is expected")
            key: str = json.loads(self.value())
            self._expect(":")
            yield key

    def lines(self) -> Iterator[int]:
        """Of the list that begins here: the line of each, with the cursor before it."""
        for _ in self._parts("]"):
            self.peek()
            yield self.line

    def _parts(self, closing: str) -> Iterator[None]:
        self._move(self._at + 1)
        if self.peek() == closing:
            self._move(self._at + 1)
            return
        while True:
            yield
            if self.peek() == closing:
                self._move(self._at + 1)
                return
            self._expect(",")

    def _expect(self, mark: str) -> None:
        if (there := self.peek()) != mark:
            raise self.broken(f"is not JSON: '{mark}' is expected where " + (f"'{there}' is" if there else "it ends"))
        self._move(self._at + 1)

    def _move(self, to: int) -> None:
        self.line += self._text.count("\n", self._at, to)
        self._at = to

    def _more(self) -> bool:
        """Whether there was more to read. Twice as much each time, so that a large value is not tried often."""
        try:
            piece = self._file.read(max(_PIECE, len(self._text) - self._at))
        except UnicodeDecodeError:
            raise self.broken("is not UTF-8") from None
        if piece:
            self._text, self._at = self._text[self._at :] + piece, 0
        return bool(piece)
