"""The text form of a write case.

    # One sentence: what the case shows.
    strategy: incremental              settings of the model, as in a sidecar
    unique_key: id
    columns: id int, name string       the columns of every batch

    --- batch complete run=2024-01-02T00:00:00
    1 | a                              NULL is NULL, '' is the empty string, =expr is SQL
    --- expect written=1 deleted=0
    1 | a                              the whole table, in any order of rows
    --- drift
    name widened int -> bigint

Flags of a batch: complete, rebuild, allow_deletes, run=TIME, interval=FROM/TO, touched=V,V (the values of the key's
first column that the batch is about), present=V,V (those of a complete snapshot, taken at run=), or of several
snapshots snapshots=TIME/V,V;TIME?/V,V (`?`: one that is not whole); a line `columns: …` in it declares other columns
from there on. After it come `expect` (rows, optionally `(names)` and counts), `unchanged`, `error NAME` (lines that the
message must hold), `warning` (likewise), `drift` (one line per change). What is not mentioned must not happen.

A line `deletion: soft explicit` in the head (or `hard`, `inferred`, and a ratio) asks for deletes; with `tombstones` in
it the delete signals of all batches so far are known. Their counts are words of `expect` and `unchanged`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tidegate.project.model import ModelSettings, Strategy

_LISTS = ("unique_key", "group_key", "partitioned_by", "sorted_by")
_COLUMN = re.compile(r"(`(?:[^`]|``)+`|\S+)\s+(.+)")


@dataclass(frozen=True)
class Block:
    kind: str
    words: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """`columns` are (quoted name, type) pairs."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    flags: dict[str, Any]
    outcome: dict[str, Block] = field(default_factory=dict)

    @property
    def query(self) -> str:
        def value(cell: str, kind: str) -> str:
            text = cell[1:] if cell.startswith("=") else "NULL" if cell == "NULL" else _quoted(cell)
            return f"CAST({text} AS {kind})"

        names = ", ".join(name for name, _ in self.columns)
        rows = self.rows or (("NULL",) * len(self.columns),)
        selects = []
        for row in rows:
            cells = (value(cell, kind) for cell, (_, kind) in zip(row, self.columns, strict=True))
            selects.append(f"SELECT {', '.join(cells)}")
        return f"SELECT * FROM ({' UNION ALL '.join(selects)}) AS t({names}){'' if self.rows else ' WHERE false'}"


@dataclass(frozen=True)
class Case:
    settings: ModelSettings
    steps: tuple[Step, ...]
    deletion: tuple[str, ...] = ()


def read_case(path: Path) -> Case:
    head, *rest = re.split(r"^--- ", path.read_text(), flags=re.MULTILINE)
    settings = dict(line.split(":", 1) for line in _lines(head))
    columns, deletion = _columns(settings.pop("columns")), settings.pop("deletion", "")
    steps: list[Step] = []
    for block in map(_block, rest):
        if block.kind != "batch":
            steps[-1].outcome[block.kind] = block
            continue
        lines = list(block.lines)
        if lines and lines[0].startswith("columns:"):
            columns = _columns(lines.pop(0).removeprefix("columns:"))
        rows = tuple(split_row(line) for line in lines)
        steps.append(Step(columns, rows, dict(_flag(word) for word in block.words)))
    return Case(_settings(settings), tuple(steps), tuple(deletion.split()))


def split_row(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.split("|"))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _block(text: str) -> Block:
    first, _, rest = text.partition("\n")
    kind, *words = first.split()
    if kind == "expect" and "(" in first:
        words = [first[first.index("(") : first.rindex(")") + 1], *first[first.rindex(")") + 1 :].split()]
    return Block(kind, tuple(words), tuple(_lines(rest)))


def _flag(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    if name == "run":
        return "run_started_at", _time(value)
    if name == "interval":
        return "interval", tuple(_time(part) for part in value.split("/"))
    if name == "snapshots":
        return name, tuple(_snapshot(part) for part in value.split(";"))
    if name in ("touched", "present"):
        return name, tuple(filter(None, value.split(",")))
    assert name in ("complete", "rebuild", "allow_deletes"), f"unknown flag {word}"
    return name, True


def _snapshot(text: str) -> tuple[datetime, bool, tuple[str, ...]]:
    """When it was taken, whether it is whole, and its keys."""
    taken, _, keys = text.partition("/")
    return _time(taken.removesuffix("?")), not taken.endswith("?"), tuple(filter(None, keys.split(",")))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def split_list(text: str) -> tuple[str, ...]:
    """At commas outside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return tuple(part.strip() for part in parts)


def _columns(text: str) -> tuple[tuple[str, str], ...]:
    found = [_COLUMN.fullmatch(part) for part in split_list(text)]
    assert all(found), f"not a list of columns: {text}"
    return tuple((match[1], match[2]) for match in found if match)


def _settings(given: dict[str, str]) -> ModelSettings:
    known = {f.name for f in fields(ModelSettings)}
    values: dict[str, Any] = {}
    for key, text in given.items():
        assert key in known, f"unknown setting {key}"
        values[key] = split_list(text.strip()) if key in _LISTS else text.strip()
    return ModelSettings(**{**values, "strategy": Strategy(values["strategy"])})


def _quoted(cell: str) -> str:
    text = "" if cell == "''" else cell
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
