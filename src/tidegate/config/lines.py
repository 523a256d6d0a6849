"""Where a key stands in a TOML text: tomllib does not say, and an error without its line is half an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["line_of"]

_HEADER = re.compile(r"\s*\[\[?\s*(?P<name>[^\[\]]+?)\s*\]?\]\s*(?:#.*)?$")
_KEY = re.compile(
    r"""\s*(?P<key>(?:"[^"\n]*"|'[^'\n]*'|[\w-]+)(?:\s*\.\s*(?:"[^"\n]*"|'[^'\n]*'|[\w-]+))*)\s*=(?P<value>.*)$"""
)
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")
_OUTSIDE_STRINGS = re.compile(r""""(?:\\.|[^"\\])*"|'[^']*'|#.*""")


def line_of(text: str, path: Sequence[str]) -> int:
    """The line (from 1) of the key or table at `path`, else of its nearest parent, else 1."""
    wanted, best, best_length = tuple(path), 1, 0
    for line, found in _entries(text):
        shared = 0
        while shared < min(len(wanted), len(found)) and wanted[shared] == found[shared]:
            shared += 1
        if shared > best_length and (shared == len(found) or shared == len(wanted)):
            best, best_length = line, shared
    return best


def _entries(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    table: tuple[str, ...] = ()
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
            yield number, table
        elif key := _KEY.match(line):
            yield number, (*table, *_parts(key["key"]))
            value = key["value"].strip()
            quote = next((mark for mark in ('"""', "'''") if value.startswith(mark)), None)
            if quote:
                closing = None if quote in value[3:] else quote
            else:
                depth = max(0, _nesting(value))


def _nesting(line: str) -> int:
    """How many more brackets the line opens than it closes."""
    bare = _OUTSIDE_STRINGS.sub("", line)
    return bare.count("[") + bare.count("{") - bare.count("]") - bare.count("}")


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(double or single or bare for double, single, bare in _PART.findall(dotted))
