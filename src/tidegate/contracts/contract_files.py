"""`<model>.contract.toml`: required, protected, and a table for each column."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from typing import Any

from tidegate.config.toml_lines import line_of
from tidegate.contracts.model_contract import ColumnRule, ContractTerm, ModelContract, TypeRule, type_rule
from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean, not_toml

__all__ = ["read_contract", "read_toml"]


def read_contract(text: str, file: str, table: str) -> tuple[ModelContract | None, tuple[Problem, ...]]:
    """`table` is the name that an ODCS file with several objects may know the model by.

    What is wrong is left out of the contract; None where nothing could be read.
    """
    text = text.replace("\r\n", "\n")
    if file.lower().endswith(".toml"):
        return read_toml(text, file)
    # YAML takes a while to load, and most projects have no such file.
    from tidegate.contracts.odcs import read_odcs

    return read_odcs(text, file, table)


_KEYS = ("required", "protected", "columns")
_COLUMN_KEYS = ("type", "nullable")


def read_toml(text: str, file: str) -> tuple[ModelContract | None, tuple[Problem, ...]]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return None, (not_toml(error, text, file),)
    reader = _TomlReader(text, file)
    reader.check_keys(data, _KEYS, ())
    contract = ModelContract(
        file, reader.names(data, "required"), reader.names(data, "protected"), reader.columns(data.get("columns", {}))
    )
    return contract, tuple(reader.problems)


class _TomlReader:
    """One file being read; nothing that is wrong stops it."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.problems: list[Problem] = []

    def place(self, *path: str) -> Place:
        return Place(self.file, line_of(self.text, path))

    def report(self, place: Place, message: str, suggestion: str | None = None) -> None:
        self.problems.append(Problem("InvalidContract", message, place, suggestion=suggestion))

    def check_keys(self, table: dict[str, Any], known: Collection[str], path: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                suggestion = did_you_mean(nearest(key, known, 1)) or f"known are {', '.join(known)}"
                self.report(self.place(*path, key), f"unknown key '{key}'", suggestion)

    def names(self, data: dict[str, Any], key: str) -> tuple[ContractTerm[str], ...]:
        value, place = data.get(key, []), self.place(key)
        if not isinstance(value, list) or not all(isinstance(name, str) and name.strip() for name in value):
            self.report(place, f"'{key}' must be a list of columns, as in {key} = [\"id\"]")
            return ()
        found: dict[str, ContractTerm[str]] = {}
        for name in value:
            at = self._item(place.line, name)
            if name.lower() in found:
                self.report(at, f"'{key}' names column '{name}' twice")
            found.setdefault(name.lower(), ContractTerm(name, at))
        return tuple(found.values())

    def _item(self, line: int, name: str) -> Place:
        """Where in a list that begins in `line` the name stands: lists may go over several lines."""
        for number, text in enumerate(self.text.split("\n")[line - 1 :], line):
            for quoted in (f'"{name}"', f"'{name}'"):
                if quoted in text:
                    return Place(self.file, number, text.index(quoted) + 1)
        return Place(self.file, line)

    def columns(self, tables: Any) -> tuple[ColumnRule, ...]:
        if not isinstance(tables, dict):
            self.report(self.place("columns"), "'columns' must hold a table for each column, as in [columns.id]")
            return ()
        rules: dict[str, ColumnRule] = {}
        for name, table in tables.items():
            place = self.place("columns", name)
            if name.lower() in rules:
                self.report(place, f"column '{name}' is described twice: case does not count in names of columns")
            elif isinstance(table, str):
                rules[name.lower()] = ColumnRule(name, place, self._type(name, table, place))
            elif isinstance(table, dict):
                rules[name.lower()] = self._column(name, table, place)
            else:
                self.report(place, f"column '{name}' must be a table, as in [columns.{name}], or the name of a type")
        return tuple(rules.values())

    def _column(self, name: str, table: dict[str, Any], place: Place) -> ColumnRule:
        path = ("columns", name)
        self.check_keys(table, _COLUMN_KEYS, path)
        kind = self._type(name, table["type"], self.place(*path, "type")) if "type" in table else None
        nullable = None
        if "nullable" in table:
            at = self.place(*path, "nullable")
            if isinstance(table["nullable"], bool):
                nullable = ContractTerm(table["nullable"], at)
            else:
                self.report(at, f"'nullable' of column '{name}' must be true or false, not {table['nullable']!r}")
        return ColumnRule(name, place, kind, nullable)

    def _type(self, name: str, value: Any, place: Place) -> ContractTerm[TypeRule] | None:
        rule = type_rule(value) if isinstance(value, str) else None
        if rule is None:
            message = f"the type of column '{name}' is not one of Spark's: {value!r}"
            self.report(place, message, "write for example bigint, decimal(10,2), timestamp or array<string>")
            return None
        return ContractTerm(rule, place)
