"""Where the documents of a JSON text begin and end, without reading their values.

Regular expressions do it, in C. They know a few levels of nesting; what is deeper, or not closed, is scanned token by
token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["DocumentSpan", "document_spans", "end_of_document"]


class DocumentSpan(NamedTuple):
    start: int
    end: int


_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_LEVELS = 4


def _nested(levels: int) -> bytes:
    inner = b"|" + _nested(levels - 1) if levels else b""
    parts = rb'(?:[^{}\[\]"]++|' + _STRING + inner + b")*+"
    return rb"\{" + parts + rb"\}|\[" + parts + rb"\]"


_CLOSED = re.compile(_nested(_LEVELS), re.DOTALL)
_TOKEN = re.compile(_STRING + rb'|[{}\[\]"]', re.DOTALL)
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(rb"(?:" + _STRING + rb'|[^,\[\]{}"\s]++)', re.DOTALL)
_OPENING, _CLOSING = (b"{", b"["), (b"}", b"]")


def document_spans(text: bytes, start: int = 0) -> Iterator[DocumentSpan]:
    """Documents that follow each other, with commas between them or without; those that end inside `text`, up to the
    first that does not, or to a bracket that closes what is around them."""
    position = start
    while True:
        position = _after_blanks(text, position)
        if text[position : position + 1] == b",":
            position = _after_blanks(text, position + 1)
        if position >= len(text) or text[position : position + 1] in _CLOSING:
            return
        end = end_of_document(text, position)
        if end is None or (end == len(text) and text[position : position + 1] not in (b"{", b"[", b'"')):
            return  # a number may go on
        yield DocumentSpan(position, end)
        position = end


def end_of_document(text: bytes, start: int) -> int | None:
    """None where it does not end inside `text`."""
    if text[start : start + 1] in _OPENING:
        match = _CLOSED.match(text, start)
        return match.end() if match is not None else _scanned_end(text, start)
    match = _SCALAR.match(text, start)
    return match.end() if match is not None else None


def _after_blanks(text: bytes, position: int) -> int:
    match = _BLANKS.match(text, position)
    return position if match is None else match.end()


def _scanned_end(text: bytes, start: int) -> int | None:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark in _OPENING:
            depth += 1
        elif mark in _CLOSING:
            depth -= 1
            if depth == 0:
                return token.end()
        elif mark == b'"':
            return None  # a text that does not end
    return None
