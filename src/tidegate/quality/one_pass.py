"""All rules about rows and all measures of one relation as one query of aggregates, so that it is read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.checks.values import Grouped, Measure, RowRule
from tidegate.quality.asking import Found
from tidegate.quality.plain_values import plain
from tidegate.quality.words import renamed

__all__ = ["Pass", "grouped_pass", "groups_of", "one_pass"]


@dataclass(frozen=True, slots=True)
class Pass:
    """A query of one row. `places`: for each form, where in that row its answer is."""

    sql: str
    places: tuple[_Place, ...]

    def read(self, row: Sequence[Any]) -> tuple[Found, ...]:
        return tuple(place.read(row) for place in self.places)


@dataclass(frozen=True, slots=True)
class _Place:
    """`passes` None: it passes where the value is 0."""

    expected: str
    value: int
    passes: int | None

    def read(self, row: Sequence[Any]) -> Found:
        value = row[self.value]
        passed = value == 0 if self.passes is None else row[self.passes] is True
        return Found("passed" if passed else "failed", plain(value), self.expected)


def one_pass(relation: str, past: str | None, forms: Sequence[RowRule | Measure]) -> Pass:
    now, before = _Aggregates("a"), _Aggregates("b")
    result = _Result()
    for form in forms:
        if isinstance(form, RowRule):
            result.add_rule(form.expected, now.add(f"count_if(({form.violates}))"))
        else:
            names = {name: now.add(text) for name, text in form.aggregates}
            if form.past:
                names |= {f"past_{name}": before.add(text) if past else "NULL" for name, text in form.aggregates}
            result.add(form, names)
    sources = [now.over(relation)]
    if before.names:
        assert past is not None
        sources.append(before.over(past))
    return result.over(" CROSS JOIN ".join(sources))


def grouped_pass(relation: str, concerning: str | None, forms: Sequence[Grouped]) -> Pass:
    """Forms with the same keys, rows and count. `concerning`: only groups with a key of that relation are looked at."""
    now, result = _Aggregates("a"), _Result()
    for form in forms:
        result.add(form, {name: now.add(text) for name, text in form.aggregates})
    return result.over(now.over(groups_of(relation, concerning, forms[0])))


def groups_of(relation: str, concerning: str | None, form: Grouped) -> str:
    """The groups as a relation: `__key0`, `__key1` … and `n`."""
    keys = [f"__key{number}" for number in range(len(form.keys))]
    exposed = ", ".join(f"{text} AS {key}" for text, key in zip(form.keys, keys, strict=True))
    rows = f"SELECT *, {exposed} FROM {relation} WHERE {form.only}"
    if concerning:
        wanted = f"SELECT DISTINCT {exposed} FROM {concerning} WHERE {form.only}"
        same = " AND ".join(f"t.{key} <=> w.{key}" for key in keys)
        rows = f"SELECT t.* FROM ({rows}) t LEFT SEMI JOIN ({wanted}) w ON {same}"
    listed = ", ".join(keys)
    return f"(SELECT {listed}, {form.counted} AS n FROM ({rows}) GROUP BY {listed})"


class _Aggregates:
    """Expressions, each once, and what they are called in the query."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self.names: dict[str, str] = {}

    def add(self, text: str) -> str:
        return self.names.setdefault(text, f"__{self._prefix}{len(self.names)}")

    def over(self, relation: str) -> str:
        listed = ", ".join(f"{text} AS {name}" for text, name in self.names.items())
        return f"(SELECT {listed} FROM {relation})"


class _Result:
    def __init__(self) -> None:
        self._columns: list[str] = []
        self._places: list[_Place] = []

    def add_rule(self, expected: str, count: str) -> None:
        self._places.append(_Place(expected, self._put(count), None))

    def add(self, form: Measure | Grouped, names: Mapping[str, str]) -> None:
        value, passes = self._put(renamed(form.value, names)), self._put(renamed(form.passes, names))
        self._places.append(_Place(form.expected, value, passes))

    def over(self, source: str) -> Pass:
        listed = ", ".join(f"{text} AS c{number}" for number, text in enumerate(self._columns))
        return Pass(f"SELECT {listed} FROM {source}", tuple(self._places))

    def _put(self, text: str) -> int:
        self._columns.append(text)
        return len(self._columns) - 1
