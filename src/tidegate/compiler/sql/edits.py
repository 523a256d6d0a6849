"""Changing a text at some places and leaving every other character as it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidegate.compiler.values import TableRead

__all__ = ["Edit", "apply_edits"]


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `text`; `reads` are the tables named in it, with offsets into it."""

    start: int
    end: int
    text: str
    reads: tuple[TableRead, ...] = ()


def apply_edits(text: str, edits: Iterable[Edit], start: int, end: int) -> tuple[str, tuple[TableRead, ...]]:
    """`text[start:end]` with the edits made, and where the reads ended up."""
    pieces: list[str] = []
    reads: list[TableRead] = []
    length, last = 0, start
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        kept = text[last : edit.start]
        length += len(kept)
        reads += [replace(read, start=read.start + length, end=read.end + length) for read in edit.reads]
        pieces += [kept, edit.text]
        length += len(edit.text)
        last = edit.end
    return "".join([*pieces, text[last:end]]), tuple(reads)
