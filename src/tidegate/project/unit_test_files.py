"""`[[tests]]` of a model's settings file, and `tests/*.yaml`: the unit tests of models."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from tidegate.names import TableName, nearest
from tidegate.problems import Place, Problem, did_you_mean
from tidegate.project.settings_files import SourceNode, read_tree

__all__ = ["TESTS_FOLDER", "Cell", "DeclaredRows", "Given", "Scalar", "UnitTest", "read_unit_tests", "unit_test_files"]

TESTS_FOLDER = "tests"
_ENDINGS = (".yaml", ".yml", ".toml")
_KEYS = (
    "name",
    "model",
    "description",
    "given",
    "expect",
    "ordered",
    "vars",
    "run_started_at",
    "is_incremental",
    "watermark_value",
    "start_date",
    "end_date",
)
_FORMS = ("rows", "csv", "sql")
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"-?(?:\d+\.\d*|\.?\d+)(?:[eE][+-]?\d+)?")


def unit_test_files(root: Path) -> tuple[str, ...]:
    """Relative to the project; only files directly in `tests/`."""
    try:
        names = sorted(os.listdir(root / TESTS_FOLDER))
    except OSError:
        return ()
    return tuple(
        f"{TESTS_FOLDER}/{name}" for name in names if name.lower().endswith(_ENDINGS) and not name.startswith(".")
    )


def read_unit_tests(
    text: str, file: str, namespace: str, table: TableName | None = None
) -> tuple[tuple[UnitTest, ...], tuple[Problem, ...]]:
    """`table`: whose settings file it is; None for a file of `tests/`, where each test names its model."""
    tree = read_tree(text, file)
    if isinstance(tree, Problem):
        return (), (tree,)
    reader = _UnitTestReader(namespace, table)
    return tuple(reader.file(tree)), tuple(reader.problems)


class _Wrong(Exception):
    """One test cannot be understood; the others can."""


class _UnitTestReader:
    def __init__(self, namespace: str, table: TableName | None) -> None:
        self.namespace = namespace
        self.table = table
        self.problems: list[Problem] = []

    def report(self, place: Place, message: str, suggestion: str | None = None) -> None:
        self.problems.append(Problem("InvalidUnitTest", message, place, suggestion=suggestion))

    def wrong(self, place: Place, message: str, suggestion: str | None = None) -> _Wrong:
        self.report(place, message, suggestion)
        return _Wrong()

    def file(self, tree: SourceNode) -> Iterable[UnitTest]:
        if self.table is None:
            if not isinstance(tree.value, dict) or "tests" not in tree.value:
                self.report(tree.place, "the file has no list of tests", "begin it with 'tests:'")
                return
            self._check_keys(tree, ("tests",), "file of tests")
        tests = tree.value["tests"]
        if not isinstance(tests.value, list):
            self.report(tests.place, "'tests' must be a list", "begin each test with '- name: …', in TOML [[tests]]")
            return
        for node in tests.value:
            try:
                yield self._test(node)
            except _Wrong:
                continue

    def _test(self, node: SourceNode) -> UnitTest:
        if not isinstance(node.value, dict):
            raise self.wrong(node.place, "a test must hold keys and values: name, given, expect")
        self._check_keys(node, _KEYS, "unit test")
        keys: dict[str, SourceNode] = node.value
        table = self._model(node, keys.get("model"))
        if "name" not in keys:
            raise self.wrong(node.place, "the test has no name", "add 'name'")
        if "expect" not in keys:
            raise self.wrong(node.place, "the test does not say which rows it expects", "add 'expect'; [] is no rows")
        return UnitTest(
            table=table,
            name=self._text(keys["name"], "name"),
            place=node.place,
            expect=self._rows(keys["expect"], "expect"),
            given=self._given(keys.get("given")),
            description=self._text(keys["description"], "description") if "description" in keys else "",
            vars=self._vars(keys.get("vars")),
            run_started_at=self._moment(keys.get("run_started_at"), "run_started_at"),
            is_incremental=self._flag(keys.get("is_incremental"), "is_incremental"),
            watermark_value=self._text(keys["watermark_value"], "watermark_value")
            if "watermark_value" in keys
            else None,
            start_date=_plain_time(self._moment(keys.get("start_date"), "start_date")),
            end_date=_plain_time(self._moment(keys.get("end_date"), "end_date")),
            ordered=bool(self._flag(keys.get("ordered"), "ordered")),
        )

    def _model(self, node: SourceNode, name_node: SourceNode | None) -> TableName:
        if name_node is None:
            if self.table is None:
                raise self.wrong(node.place, "the test does not say which model it is of", "add 'model: layer.name'")
            return self.table
        try:
            table = TableName.parse(self._text(name_node, "model"), self.namespace)
        except ValueError as error:
            raise self.wrong(name_node.place, f"model: {error}") from error
        if self.table is not None and table != self.table:
            message = f"the test is in the settings of {self.table.short(self.namespace)}, not of {name_node.text}"
            raise self.wrong(name_node.place, message, "move it, or remove 'model'")
        return table

    def _given(self, node: SourceNode | None) -> tuple[Given, ...]:
        if node is None or node.value is None:
            return ()
        if not isinstance(node.value, dict):
            message = "'given' must have the rows of each input under its name"
            raise self.wrong(node.place, message, "write for example 'silver.orders: [{id: 1}]'")
        self._twice(node)
        return tuple(Given(name, rows.place, self._rows(rows, name)) for name, rows in _inputs(node.value))

    def _rows(self, node: SourceNode, what: str) -> DeclaredRows:
        value = node.value
        if isinstance(value, dict):
            self._check_keys(node, _FORMS, f"form of rows for '{what}'")
            if len(value) != 1:
                raise self.wrong(node.place, f"'{what}' must have one of rows, csv and sql")
            form, inner = next(iter(value.items()))
            if form == "csv":
                return self._csv(inner, what)
            if form == "sql":
                return DeclaredRows(inner.place, sql=self._text(inner, "sql"))
            node, value = inner, inner.value
        if value is None:
            return DeclaredRows(node.place)
        if not isinstance(value, list):
            raise self.wrong(node.place, f"'{what}' must be a list of rows", "[] is no rows")
        return self._listed(node, what)

    def _listed(self, node: SourceNode, what: str) -> DeclaredRows:
        names: dict[str, str] = {}
        places: dict[str, Place] = {}
        records: list[dict[str, Cell]] = []
        for row in node.value:
            if not isinstance(row.value, dict):
                raise self.wrong(row.place, f"a row of '{what}' must hold columns and values, as in {{id: 1}}")
            self._twice(row)
            for name, item in row.value.items():
                if name.lower() not in names:
                    names[name.lower()] = name
                    places[name] = item.place
            if not row.value and what == "expect":
                raise self.wrong(row.place, "a row of 'expect' must name a column")
            records.append({name.lower(): _cell(item) for name, item in row.value.items()})
        rows = tuple(tuple(row.get(name) for name in names) for row in records)
        return DeclaredRows(node.place, tuple(names.values()), rows, places=places)

    def _csv(self, node: SourceNode, what: str) -> DeclaredRows:
        text = self._text(node, "csv")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        try:
            header, *records = csv.reader(io.StringIO("\n".join(lines)), skipinitialspace=True, strict=True)
        except csv.Error as error:
            raise self.wrong(node.place, f"'{what}' is not CSV: {error}") from error
        names = [name.strip() for name in header]
        if len({name.lower() for name in names}) < len(names) or not all(names):
            raise self.wrong(node.place, f"the first line of '{what}' must name each column once")
        for record in records:
            if len(record) != len(names):
                message = f"'{','.join(record)}' has {len(record)} values, but '{what}' has {len(names)} columns"
                raise self.wrong(node.place, message)
        rows = tuple(tuple(_csv_cell(value.strip()) for value in record) for record in records)
        return DeclaredRows(node.place, tuple(names), rows, places=dict.fromkeys(names, node.place))

    def _vars(self, node: SourceNode | None) -> dict[str, Any]:
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            raise self.wrong(node.place, "'vars' must hold names and values")
        return {name: _plain(item) for name, item in node.value.items()}

    def _text(self, node: SourceNode, key: str) -> str:
        if isinstance(node.value, dict | list) or node.value is None or not node.text.strip():
            raise self.wrong(node.place, f"'{key}' must be text")
        return node.text.strip()

    def _flag(self, node: SourceNode | None, key: str) -> bool | None:
        if node is None:
            return None
        if not isinstance(node.value, bool):
            raise self.wrong(node.place, f"'{key}' must be true or false, not '{node.text}'")
        return node.value

    def _moment(self, node: SourceNode | None, key: str) -> str | None:
        if node is None:
            return None
        text = self._text(node, key)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            message = f"'{key}' must be a time such as 2026-01-31 or 2026-01-31T06:00:00, not '{text}'"
            raise self.wrong(node.place, message) from error
        return (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()

    def _check_keys(self, node: SourceNode, allowed: Sequence[str], what: str) -> None:
        self._twice(node)
        for key, item in node.value.items():
            if key not in allowed:
                suggestion = did_you_mean(nearest(key, allowed, 1)) or f"known are {', '.join(allowed)}"
                self.report(item.place, f"a {what} has no '{key}'", suggestion)

    def _twice(self, node: SourceNode) -> None:
        for key, place in node.twice:
            self.report(place, f"'{key}' is there twice")


def _inputs(nodes: dict[str, SourceNode], path: str = "") -> Iterable[tuple[str, SourceNode]]:
    """TOML reads `silver.orders` without quotes as a table in a table."""
    for name, node in nodes.items():
        full = f"{path}{name}"
        if isinstance(node.value, dict) and node.value and not set(node.value) & set(_FORMS):
            yield from _inputs(node.value, f"{full}.")
        else:
            yield full, node


def _cell(node: SourceNode) -> Cell:
    if isinstance(node.value, dict):
        return {key: _cell(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return tuple(map(_cell, node.value))
    return None if node.value is None else Scalar(node.value, node.text)


def _csv_cell(text: str) -> Cell:
    """An empty field is NULL. What a text means counts only where the column's type is not known."""
    return Scalar(_meaning(text), text) if text else None


def _meaning(text: str) -> Any:
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(text) if "-" in text else text
        except ValueError:
            continue
    return text


def _plain(node: SourceNode) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(item) for key, item in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return node.value


def _plain_time(moment: str | None) -> str | None:
    """As intervals are written: in UTC, without its offset."""
    return None if moment is None else datetime.fromisoformat(moment).strftime("%Y-%m-%d %H:%M:%S")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain value as its file understands it, and as it is written there: `no` is false, and a country."""

    value: Any
    text: str


Cell = Scalar | tuple[Any, ...] | Mapping[str, Any] | None
"""A plain value, a list or a mapping of cells, or NULL."""


@dataclass(frozen=True, slots=True)
class DeclaredRows:
    """`rows` have a cell per column of `columns`, NULL where a row does not name it. `sql`: a query instead of rows.

    `places`: where each column is first named.
    """

    place: Place
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    sql: str | None = None
    places: Mapping[str, Place] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Given:
    """`name`: a table as the model's query names it, a landing zone, or `this`."""

    name: str
    place: Place
    rows: DeclaredRows


@dataclass(frozen=True, slots=True)
class UnitTest:
    """`place`: where it begins. None is not set: the time of the test, no interval, a first run."""

    table: TableName
    name: str
    place: Place
    expect: DeclaredRows
    given: tuple[Given, ...] = ()
    description: str = ""
    vars: Mapping[str, Any] = field(default_factory=dict)
    run_started_at: str | None = None
    is_incremental: bool | None = None
    watermark_value: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    ordered: bool = False

    @property
    def incremental(self) -> bool:
        """The value of `is_incremental()`: only a run that is not the first has a watermark."""
        return self.watermark_value is not None if self.is_incremental is None else self.is_incremental
