"""A few of the rows and groups that break rules: asked for once some are known to be there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.checks.values import Grouped, RowRule
from tidegate.names import literal, quote
from tidegate.quality.asking import SAMPLES
from tidegate.quality.hiding import HIDDEN
from tidegate.quality.one_pass import groups_of
from tidegate.quality.plain_values import plain
from tidegate.quality.words import mentioned

__all__ = ["Columns", "RowSamples", "group_samples", "row_samples"]

_CLASSES = SAMPLES - 2


@dataclass(frozen=True, slots=True)
class Columns:
    """The relation's, with their Spark types. `keys` tell its rows apart; `hidden`, in lower case, are not shown."""

    types: Mapping[str, str]
    keys: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()

    def shown(self, rule: RowRule) -> tuple[str, ...]:
        """Only what is read anyway, and the keys: a sample must not make the pass read every column."""
        own = {name.lower(): name for name in self.types}
        wanted = (*rule.shown, *self.keys, *mentioned(rule.violates, self.types))
        return tuple(dict.fromkeys(own[name.lower()] for name in wanted if name.lower() in own))

    def member(self, name: str) -> str:
        return _masked(quote(name)) if name.lower() in self.hidden else quote(name)


@dataclass(frozen=True, slots=True)
class RowSamples:
    """A query of one row. `widths`: how many of its columns hold samples of each rule."""

    sql: str
    widths: tuple[int, ...]

    def read(self, row: Sequence[Any]) -> tuple[tuple[dict[str, Any], ...], ...]:
        found, at = [], 0
        for width in self.widths:
            found.append(_each_once(row[at : at + width]))
            at += width
        return tuple(found)


def row_samples(relation: str, rules: Sequence[RowRule], columns: Columns) -> RowSamples:
    """Of each rule the first and the last row that breaks it, and the first of each of some classes of such rows.

    One query, however many rules there are. An aggregate that gathers all such rows could be of any size, and one that
    sorts them would read every one; these keep one row each. In the pass that counts they would take several times as
    long as the counts themselves: Spark has no fast way to aggregate anything but numbers.
    """
    aggregates = [_of_rule(rule, columns) for rule in rules]
    listed = ", ".join(text for one in aggregates for text in one)
    broken = " OR ".join(f"({rule.violates})" for rule in rules)
    return RowSamples(f"SELECT {listed} FROM {relation} WHERE {broken}", tuple(map(len, aggregates)))


def _of_rule(rule: RowRule, columns: Columns) -> tuple[str, ...]:
    shown, condition = columns.shown(rule) or tuple(columns.types)[:SAMPLES], f"({rule.violates})"
    row = f"named_struct({', '.join(f'{literal(name)}, {columns.member(name)}' for name in shown)})"
    found = [f"first_value({row}) FILTER (WHERE {condition})", f"last_value({row}) FILTER (WHERE {condition})"]
    if hashed := [quote(name) for name in shown if _can_be_hashed(columns.types[name])]:
        number = f"pmod(xxhash64({', '.join(hashed)}), {_CLASSES})"
        found += [f"first_value({row}) FILTER (WHERE {condition} AND {number} = {i})" for i in range(_CLASSES)]
    return tuple(found)


def group_samples(relation: str, concerning: str | None, form: Grouped, hidden: Collection[str]) -> str:
    """A query of broken groups: their keys and `n`."""
    shown = [
        f"{_masked(f'__key{number}') if mentioned(text, hidden) else f'__key{number}'} AS {quote(_told(text))}"
        for number, text in enumerate(form.keys)
    ]
    return (
        f"SELECT {', '.join(shown)}, n FROM {groups_of(relation, concerning, form)} WHERE {form.broken} LIMIT {SAMPLES}"
    )


def _each_once(rows: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    found: list[dict[str, Any]] = []
    for row in rows:
        sample = None if row is None else plain(row)
        if sample and sample not in found:
            found.append(sample)
    return tuple(found)


def _masked(expression: str) -> str:
    return f"IF({expression} IS NULL, NULL, '{HIDDEN}')"


def _can_be_hashed(type_: str) -> bool:
    return not any(word in type_ for word in ("map<", "variant", "interval"))


def _told(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") and text.endswith("`") else text
