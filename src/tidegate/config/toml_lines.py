"""The line of a key in a TOML text, which tomllib does not provide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

__all__ = ["is_row", "line_of", "row"]

_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\[\]]+?)\s*\]?\]\s*(?:#.*)?$")
_KEY = re.compile(
    r"""\s*(?P<key>(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)(?:\s*\.\s*(?:"[^"\n]*"|'[^'\n]*'|[\w-]+))*)\s*=(?P<value>.*)$"""
)
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")
_OUTSIDE_STRINGS = re.compile(r""""(?:\\.|[^"\\])*"|'[^']*'|#.*""")


def row(number: int) -> str:
    """The part of a path that means the table of that number (from 0) among those of one `[[name]]`."""
    return f"#{number}"


def is_row(part: str) -> bool:
    return part[:1] == "#" and part[1:].isdecimal()


def line_of(text: str, path: Sequence[str]) -> int:
    """The line (from 1) of the key or table at `path`, else of its nearest parent, else 1.

    A path without a row number means the first row that has the key.
    """
    target, best, best_length = tuple(path), 1, 0
    by_row = any(map(is_row, target))
    for line, place in _entries(text):
        candidate = place if by_row else tuple(part for part in place if not is_row(part))
        shared = 0
        while shared < min(len(target), len(candidate)) and target[shared] == candidate[shared]:
            shared += 1
        if shared > best_length and (shared == len(candidate) or shared == len(target)):
            best, best_length = line, shared
    return best


def _entries(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    table: tuple[str, ...] = ()
    rows: dict[tuple[str, ...], int] = {}
    closing: str | None = None
    depth = 0
    for number, line in enumerate(text.split("\n"), 1):
        if closing:
            closing = None if closing in line else closing
            continue
        if depth > 0:
            depth += _nesting(line)
            continue
        if header := _HEADER.match(line):
            table = _parts(header["name"])
            if line.lstrip().startswith("[["):
                rows[table] = rows.get(table, -1) + 1
            table = _with_rows(table, rows) if rows else table
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_parts(key["key"]))
            value = key["value"].strip()
            quote = next((mark for mark in ('"""', "'''") if value.startswith(mark)), None)
            if quote:
                closing = None if quote in value[3:] else quote
            else:
                depth = max(0, _nesting(value))


def _with_rows(table: tuple[str, ...], rows: Mapping[tuple[str, ...], int]) -> tuple[str, ...]:
    """A table below `[[name]]` belongs to the last row above it."""
    path: list[str] = []
    for length, part in enumerate(table, 1):
        path.append(part)
        if table[:length] in rows:
            path.append(row(rows[table[:length]]))
    return tuple(path)


def _nesting(line: str) -> int:
    """How many more brackets the line opens than it closes."""
    bare = _OUTSIDE_STRINGS.sub("", line)
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(double or single or bare for double, single, bare in _PART.findall(dotted))
