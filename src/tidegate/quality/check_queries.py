"""The SQL of checks: all rules about rows and all aggregates of one relation as one query, so that it is read once; and
samples of the rows and groups that break rules."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.checks.check_values import AggregateRule, GroupRule, RowRule
from tidegate.names import literal, quote
from tidegate.quality.check_answers import REDACTED, SAMPLES, CheckAnswer, plain

__all__ = [
    "Pass",
    "RowSamples",
    "SampleColumns",
    "group_samples",
    "grouped_pass",
    "groups_of",
    "mentioned",
    "one_pass",
    "renamed",
    "row_samples",
]


@dataclass(frozen=True, slots=True)
class Pass:
    """A query of one row. `places`: for each form, where in that row its answer is."""

    sql: str
    places: tuple[_Place, ...]

    def read(self, row: Sequence[Any]) -> tuple[CheckAnswer, ...]:
        return tuple(place.read(row) for place in self.places)


@dataclass(frozen=True, slots=True)
class _Place:
    """`passes` None: it passes where the value is 0."""

    expected: str
    value: int
    passes: int | None

    def read(self, row: Sequence[Any]) -> CheckAnswer:
        value = row[self.value]
        passed = value == 0 if self.passes is None else row[self.passes] is True
        return CheckAnswer("passed" if passed else "failed", plain(value), self.expected)


def one_pass(relation: str, past: str | None, forms: Sequence[RowRule | AggregateRule]) -> Pass:
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


def grouped_pass(relation: str, concerning: str | None, forms: Sequence[GroupRule]) -> Pass:
    """Forms with the same keys, rows and count. `concerning`: only groups with a key of that relation are looked at."""
    now, result = _Aggregates("a"), _Result()
    for form in forms:
        result.add(form, {name: now.add(text) for name, text in form.aggregates})
    return result.over(now.over(groups_of(relation, concerning, forms[0])))


def groups_of(relation: str, concerning: str | None, form: GroupRule) -> str:
    """The groups as a relation: `__key0`, `__key1` … and `n`."""
    keys = [f"__key{number}" for number in range(len(form.keys))]
    exposed = ", ".join(f"{text} AS {key}" for text, key in zip(form.keys, keys, strict=True))
    rows = f"SELECT *, {exposed} FROM {relation} WHERE {form.only}"
    if concerning:
        relevant_keys = f"SELECT DISTINCT {exposed} FROM {concerning} WHERE {form.only}"
        same = " AND ".join(f"t.{key} <=> w.{key}" for key in keys)
        rows = f"SELECT t.* FROM ({rows}) t LEFT SEMI JOIN ({relevant_keys}) w ON {same}"
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

    def add(self, form: AggregateRule | GroupRule, names: Mapping[str, str]) -> None:
        value, passes = self._put(renamed(form.value, names)), self._put(renamed(form.passes, names))
        self._places.append(_Place(form.expected, value, passes))

    def over(self, source: str) -> Pass:
        listed = ", ".join(f"{text} AS c{number}" for number, text in enumerate(self._columns))
        return Pass(f"SELECT {listed} FROM {source}", tuple(self._places))

    def _put(self, text: str) -> int:
        self._columns.append(text)
        return len(self._columns) - 1


_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?P<quoted>(?:[^`]|``)*)`|\d[\w.]*|(?P<word>[^\W\d]\w*)""", re.DOTALL
)

_SQL = frozenset({"and", "between", "false", "in", "is", "like", "not", "null", "or", "true"})


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Each word that is a key of `names` replaced, but not within quotes, after a dot or as a function."""

    def other(match: re.Match[str]) -> str:
        word = match["word"]
        called = text[match.end() :].lstrip().startswith("(")
        of_something = text[: match.start()].rstrip().endswith(".")
        return match[0] if word is None or called or of_something else names.get(word, match[0])

    return _TOKEN.sub(other, text)


def mentioned(text: str, columns: Collection[str]) -> tuple[str, ...]:
    """Those of `columns` that the text names, in their order. A word of SQL, or a function, is a column in backquotes
    only."""
    words = {_name(match) for match in _TOKEN.finditer(text) if match["word"] is None or not _is_sql(text, match)}
    return tuple(column for column in columns if column.lower() in words)


def _is_sql(text: str, match: re.Match[str]) -> bool:
    return match["word"].lower() in _SQL or text[match.end() :].lstrip().startswith("(")


def _name(match: re.Match[str]) -> str:
    return (match["word"] or (match["quoted"] or "").replace("``", "`")).lower()


_CLASSES = SAMPLES - 2


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """The columns that a sample can show."""

    types: Mapping[str, str]
    """All columns of the relation, with their Spark types."""

    keys: tuple[str, ...] = ()
    """The columns that identify a row."""

    hidden: frozenset[str] = frozenset()
    """In lower case; their values are redacted."""

    def shown(self, rule: RowRule) -> tuple[str, ...]:
        """Only what is read anyway, and the keys: a sample must not make the pass read every column."""
        own = {name.lower(): name for name in self.types}
        candidates = (*rule.shown, *self.keys, *mentioned(rule.violates, self.types))
        return tuple(dict.fromkeys(own[name.lower()] for name in candidates if name.lower() in own))

    def member(self, name: str) -> str:
        return _masked(quote(name)) if name.lower() in self.hidden else quote(name)


@dataclass(frozen=True, slots=True)
class RowSamples:
    """A query of one row. `widths`: how many of its columns hold samples of each rule."""

    sql: str
    widths: tuple[int, ...]

    def read(self, row: Sequence[Any]) -> tuple[tuple[dict[str, Any], ...], ...]:
        samples, at = [], 0
        for width in self.widths:
            samples.append(_each_once(row[at : at + width]))
            at += width
        return tuple(samples)


def row_samples(relation: str, rules: Sequence[RowRule], columns: SampleColumns) -> RowSamples:
    """Of each rule the first and the last row that breaks it, and the first of each of some classes of such rows.

    One query, however many rules there are. An aggregate that gathers all such rows could be of any size, and one that
    sorts them would read every one; these keep one row each. In the pass that counts they would take several times as
    long as the counts themselves: Spark has no fast way to aggregate anything but numbers.
    """
    aggregates = [_of_rule(rule, columns) for rule in rules]
    listed = ", ".join(text for one in aggregates for text in one)
    broken = " OR ".join(f"({rule.violates})" for rule in rules)
    return RowSamples(f"SELECT {listed} FROM {relation} WHERE {broken}", tuple(map(len, aggregates)))


def _of_rule(rule: RowRule, columns: SampleColumns) -> tuple[str, ...]:
    names, condition = columns.shown(rule) or tuple(columns.types)[:SAMPLES], f"({rule.violates})"
    row = f"named_struct({', '.join(f'{literal(name)}, {columns.member(name)}' for name in names)})"
    aggregates = [f"first_value({row}) FILTER (WHERE {condition})", f"last_value({row}) FILTER (WHERE {condition})"]
    if hashed := [quote(name) for name in names if _can_be_hashed(columns.types[name])]:
        number = f"pmod(xxhash64({', '.join(hashed)}), {_CLASSES})"
        aggregates += [f"first_value({row}) FILTER (WHERE {condition} AND {number} = {i})" for i in range(_CLASSES)]
    return tuple(aggregates)


def group_samples(relation: str, concerning: str | None, form: GroupRule, hidden: Collection[str]) -> str:
    """A query of broken groups: their keys and `n`."""
    key_columns = [
        f"{_masked(f'__key{number}') if mentioned(text, hidden) else f'__key{number}'} AS {quote(_unquoted(text))}"
        for number, text in enumerate(form.keys)
    ]
    return (
        f"SELECT {', '.join(key_columns)}, n FROM {groups_of(relation, concerning, form)}"
        f" WHERE {form.broken} LIMIT {SAMPLES}"
    )


def _each_once(rows: Sequence[Any]) -> tuple[dict[str, Any], ...]:
    samples: list[dict[str, Any]] = []
    for row in rows:
        sample = None if row is None else plain(row)
        if sample and sample not in samples:
            samples.append(sample)
    return tuple(samples)


def _masked(expression: str) -> str:
    return f"IF({expression} IS NULL, NULL, '{REDACTED}')"


def _can_be_hashed(type_: str) -> bool:
    return not any(word in type_ for word in ("map<", "variant", "interval"))


def _unquoted(text: str) -> str:
    return text[1:-1].replace("``", "`") if text.startswith("`") and text.endswith("`") else text
