"""The shape of a JSON file, seen without Spark: one value per line, or one document.

Spark reads the first value of a line, or of a file, and passes over whatever follows it. So each file is looked
through once for a place where something follows; only where there may be one is it parsed here as well.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tidegate.transform.landing.bad_records import BadRecord, bad_records_error, first_bad_records
from tidegate.transform.landing.raw import BOM, open_raw, pieces, utf8_pieces

__all__ = [
    "RepeatedKeyError",
    "broken_records",
    "inspect",
    "is_document",
    "json_records",
    "lines_of",
    "unique_object",
]

_HEAD = 1 << 16
_PARSED_WHOLE = 64 << 20
_FOLLOWED_IN_LINE = re.compile(r"[}\]][ \t]*[^ \t\n}\]]")
_FOLLOWED = {b"{": re.compile(rb"}\s*[^\s}\]]"), b"[": re.compile(rb"\]\s*[^\s}\]]")}
"""By the bracket that opens a document: where something may follow the one that closes it."""
_OPEN_END = re.compile(rb"[}\]]\s*\Z")
_PAIRS = (("{", "}"), ("[", "]"))
_ITEM = re.compile(r"[\s,]*(?![\s,\]])")
_MARKS = re.compile(rb'[\\"{}\[\]]')
_LINE_NAMES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


@dataclass(frozen=True, slots=True)
class _Broken:
    line: int
    why: str


def inspect(path: Path, multiline: bool | None) -> bool | None:
    """Whether the file is one document (True) or lines (False); None when there is nothing in it.

    Raises where a value follows another, which Spark would pass over.
    """
    document, opening = _shape(path, multiline)
    if document is None:
        return None
    broken = _followed_in_document(path, opening) if document else _followed_in_lines(path)
    if broken:
        remedy = "put one value on each line, or all of them into one array"
        first, total = first_bad_records(() if document else broken_records(path))
        lines = () if document else (path,)
        raise bad_records_error(first or [BadRecord(path, broken.line, broken.why)], total, remedy, lines)
    return document


def is_document(path: Path, multiline: bool | None, page: bool = False) -> bool | None:
    """As `inspect` says, by the beginning of the file alone. `page`: a text that is no JSON at all is one document."""
    document, opening = _shape(path, multiline)
    if page and multiline is None and opening not in (b"{", b"["):
        return not path.name.lower().endswith(_LINE_NAMES)
    return document


def _shape(path: Path, multiline: bool | None) -> tuple[bool | None, bytes]:
    """Whether the file is one document, and the first byte of its text."""
    with open_raw(path) as file:
        head = file.read(_HEAD)
    start = head.removeprefix(BOM).lstrip()
    if not start and len(head) < _HEAD:
        return None, b""
    return multiline if multiline is not None else _is_document(path, start), start[:1]


def broken_records(path: Path, document: bool | None = None) -> Iterator[BadRecord]:
    """The lines that are not JSON, or not objects; for a file that is one document, where that breaks.

    `document` None: the file says what it is.
    """
    if document is None:
        with open_raw(path) as file:
            document = _is_document(path, file.read(_HEAD).removeprefix(BOM).lstrip())
    if not document:
        for number, content in lines_of(path):
            if broken := _broken_value(content, number, unique_keys=True):
                yield BadRecord(path, number, broken.why)
        return
    with open_raw(path) as file:
        whole = file.read(_PARSED_WHOLE + 1)
    if len(whole) <= _PARSED_WHOLE and (broken := _broken_value(whole.removeprefix(BOM), 1, unique_keys=True)):
        yield BadRecord(path, broken.line, broken.why)


def json_records(path: Path) -> Iterator[tuple[int, str, str | None]]:
    """Of a file of lines: the number of each, its text, and what is wrong with it. A line that is an array gives its
    items."""
    for number, content in lines_of(path):
        broken = _broken_value(content, number)
        if broken is None and content.startswith("["):
            yield from ((number, item, None) for item in _items(content))
        else:
            yield number, content, broken.why if broken else None


def _items(array: str) -> Iterator[str]:
    """The items of an array as they are written."""
    decoder, at = json.JSONDecoder(parse_int=str), 1
    while match := _ITEM.match(array, at):
        _, at = decoder.raw_decode(array, match.end())
        yield array[match.end() : at]


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Those that are not empty, with their numbers, split as Spark does."""
    with _open_lines(path) as file:
        for number, line in enumerate(file, 1):
            if content := line.strip():
                yield number, content


@contextmanager
def _open_lines(path: Path) -> Iterator[io.TextIOWrapper]:
    with open_raw(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace") as text:
        yield text


def _is_document(path: Path, start: bytes) -> bool:
    if path.name.lower().endswith(_LINE_NAMES):
        return False
    if start[:1] != b"{":
        return start[:1] == b"["
    line, ended, _ = start.partition(b"\n")
    if not ended:
        return len(start) < _HEAD // 2 and not _parses(line)
    return not _parses(line)


def _parses(line: bytes) -> bool:
    """Whether the line begins with a whole value: two of them are lines, and wrong; half a value is a document. A
    value followed only by a comma may be either."""
    text = line.decode(errors="replace").strip()
    try:
        _, end = json.JSONDecoder(parse_int=str).raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].strip() != ","


def _followed_in_lines(path: Path) -> _Broken | None:
    for _ in utf8_pieces(path):
        pass
    number = 0
    with _open_lines(path) as file:
        while lines := file.readlines(1 << 20):
            if _may_be_followed("".join(lines)):
                for offset, line in enumerate(lines, 1):
                    looks_broken = _may_be_followed(line) and not _is_json(line)
                    if looks_broken and (broken := _broken_value(line.strip(), number + offset)):
                        return broken
            number += len(lines)
    return None


def _is_json(text: str) -> bool:
    """One value, of whatever kind. Quick: nested lines all come here."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _may_be_followed(text: str) -> bool:
    """Whether something may stand behind the end of a value. Brackets within texts count: it is a first look."""
    unpaired = any(text.count(opening) != text.count(closing) for opening, closing in _PAIRS)
    return unpaired or _FOLLOWED_IN_LINE.search(text) is not None


def _followed_in_document(path: Path, opening: bytes) -> _Broken | None:
    carried, unpaired = b"", 0
    followed = _FOLLOWED.get(opening)
    if followed is None:
        return None
    for piece in utf8_pieces(path):
        unpaired += sum(piece.count(one.encode()) - piece.count(other.encode()) for one, other in _PAIRS)
        if followed.search(carried + piece):
            return _second_value(path)
        tail = _OPEN_END.search(carried + piece)
        carried = tail[0] if tail else b""
    return _second_value(path) if unpaired else None


def _second_value(path: Path) -> _Broken | None:
    """Follow the brackets, passing over strings, to the end of the first value, and see what is after it."""
    depth, in_string, line, skip = 0, False, 1, -1
    closed = False
    with open_raw(path) as file:
        for piece in pieces(file):
            end = 0 if closed else -1
            if not closed:
                for match in _MARKS.finditer(piece):
                    place, mark = match.start(), match[0]
                    if place == skip:
                        continue
                    if in_string:
                        skip = place + 1 if mark == b"\\" else skip
                        in_string = mark != b'"'
                    elif mark == b'"':
                        in_string = True
                    elif mark in b"{[":
                        depth += 1
                    elif mark in b"}]":
                        depth -= 1
                        if depth == 0:
                            closed, end = True, place + 1
                            break
                skip -= len(piece)
            if closed and (following := piece[end:].lstrip()):
                line += piece.count(b"\n", 0, len(piece) - len(following))
                return _Broken(line, "holds more than one JSON value, of which only the first would be read")
            line += piece.count(b"\n")
    return None


def _broken_value(content: str | bytes, first_line: int, unique_keys: bool = False) -> _Broken | None:
    """`unique_keys`: an object with a key twice is broken. Spark reads one under declared columns, and infers none."""
    try:
        # Whatever its size, an integer is one.
        value = json.loads(content, object_pairs_hook=unique_object if unique_keys else None, parse_int=str)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            why = "holds more than one JSON value, of which only the first would be read"
        else:
            why = f"is not JSON: {error.msg} (column {error.colno})"
        return _Broken(first_line + error.lineno - 1, why)
    except RepeatedKeyError as error:
        return _Broken(first_line, f"has the key '{error}' twice in one object")
    except RecursionError:
        return _Broken(first_line, "is nested too deeply")
    except ValueError as error:
        return _Broken(first_line, f"is not JSON: {error}")
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in items):
        return _Broken(first_line, "holds a value that is not an object, so it is no row")
    return None


class RepeatedKeyError(Exception):
    """A key is there twice in one object."""


def unique_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys: set[str] = set()
        raise RepeatedKeyError(next(key for key, _ in pairs if key in keys or keys.add(key)))  # type: ignore[func-returns-value]
    return value
