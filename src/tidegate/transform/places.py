"""From where Spark says that something is wrong to the line of the model's file."""

from __future__ import annotations

from difflib import SequenceMatcher

__all__ = ["source_line"]


def source_line(sql: str, source: str, line: int | None, fragment: str | None = None) -> int | None:
    """The line of the file that became the place in `sql`, the model's query with its templates rendered.

    `fragment`: the part of a statement that is to blame, and `line` where it begins there. The statement may be
    another one that holds parts of the query, so the line counts only where the fragment stands there in `sql` too.
    None where it cannot be known.
    """
    if line is not None and fragment is not None:
        line = _line_of(fragment, sql, line)
    if line is None or not 1 <= line <= len(sql.splitlines()):
        return None
    aligned = _aligned(sql, source, line)
    if fragment is not None and fragment in source:
        return _line_of(fragment, source, aligned)
    return aligned


def _line_of(fragment: str, text: str, line: int | None = None) -> int | None:
    """Where the only such fragment begins; of several, the one in `line`."""
    begins, at = [], text.find(fragment)
    while at >= 0:
        begins.append(text.count("\n", 0, at) + 1)
        at = text.find(fragment, at + 1)
    return begins[0] if len(set(begins)) == 1 else line if line in begins else None


def _aligned(sql: str, source: str, line: int) -> int | None:
    """The same line of the file, or the one in its place among lines that are the same."""
    matcher = SequenceMatcher(None, _words(sql), _words(source), autojunk=False)
    for tag, start, end, source_start, source_end in matcher.get_opcodes():
        if start < line <= end and (tag == "equal" or end - start == source_end - source_start):
            found = source_start + line - start
            # Lines that have nothing in common may be as many as lines of the header.
            return None if source.splitlines()[found - 1].lstrip().startswith("--") else found
    return None


def _words(text: str) -> list[tuple[str, ...]]:
    return [tuple(line.replace("`", "").split()) for line in text.splitlines()]
