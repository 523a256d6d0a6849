"""A project's own checks: `checks/<name>.sql` is a condition or a query with places for the arguments of a call,
`checks/<name>.py` a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from tidegate.checks.kinds import ABOUT, CheckKind, OwnCheckError
from tidegate.checks.parameters import Arguments, Parameter, ParameterKind, items
from tidegate.checks.rules import plain
from tidegate.checks.sql import interval
from tidegate.checks.values import Form, Query, RowRule, Stage
from tidegate.names import literal, nearest, quote
from tidegate.problems import did_you_mean

__all__ = ["read_own_check"]

_DIRECTIVE = re.compile(r"\s*--\s*@(?P<key>\w+)\s*:\s*(?P<value>.*?)\s*$")
_KEYS = ("kind", "params", "description")
_PLACE = re.compile(r"\{([A-Za-z_]\w*)\}")
_TABLE = "table"


@lru_cache(maxsize=256)
def read_own_check(name: str, text: str, file: str = "") -> CheckKind:
    """`file`: relative to the project. Raises OwnCheckError."""
    if not file.endswith(".py"):
        return _read_sql(name, text)
    # Only here: few projects have one, and none needs Python's parser without.
    from tidegate.checks.own_functions import read_own_function

    return read_own_function(name, text, file)


def _read_sql(name: str, text: str) -> CheckKind:
    said: dict[str, tuple[str, int]] = {}
    lines = text.removeprefix("\ufeff").splitlines()
    at = 0
    for at, line in enumerate(lines):
        if line.strip() and not line.lstrip().startswith("--"):
            break
        if directive := _DIRECTIVE.match(line):
            key = directive["key"]
            if key not in _KEYS:
                near = did_you_mean(tuple(f"@{close}" for close in nearest(key, _KEYS)))
                hint = near or f"known are {', '.join(f'@{known}' for known in _KEYS)}"
                raise OwnCheckError(f"unknown directive @{key}; {hint}", at + 1)
            if key in said:
                raise OwnCheckError(f"@{key} is set twice", at + 1)
            said[key] = directive["value"], at + 1
    body = "\n".join(lines[at:]).strip().removesuffix(";").strip()
    form = said.get("kind", ("row", 1))
    if form[0] not in ("row", "query"):
        raise OwnCheckError(f"@kind must be row or query, not '{form[0]}'", form[1])
    parameters = _parameters(*said.get("params", ("", 1)))
    if not body or all(line.lstrip().startswith("--") for line in body.splitlines()):
        what = "a condition that every row must meet" if form[0] == "row" else "a query of the rows that break the rule"
        raise OwnCheckError(f"the file holds no SQL: write {what}", at + 1)
    if "--" in body or "/*" in body:
        raise OwnCheckError("comments must stand above the SQL", at + 1)
    _check_places(body, parameters, form[0] == "query", at + 1)
    return CheckKind(
        name,
        frozenset(Stage),
        parameters,
        said.get("description", ("", 1))[0] or f"The project's own check {name}.",
        "as its SQL says",
        "as its SQL says",
        f"{name}({', '.join(parameter.name for parameter in parameters)})",
        _build(name, body, parameters, form[0] == "query"),
    )


def _parameters(text: str, line: int) -> tuple[Parameter, ...]:
    """`column, number limit`: a kind and a name, which is the kind's own where none is given."""
    found: dict[str, Parameter] = {}
    for item in filter(None, map(str.strip, text.split(","))):
        word, _, name = item.partition(" ")
        name = name.strip() or word
        if word not in _WRITTEN:
            hint = did_you_mean(nearest(word, _WRITTEN)) or f"use one of {', '.join(_WRITTEN)}"
            raise OwnCheckError(f"@params: '{word}' is not a kind of argument; {hint}", line)
        if name in ABOUT:
            raise OwnCheckError(f"@params: '{name}' is a key of every check, so no parameter can be called so", line)
        if not name.isidentifier() or (name == _TABLE and word != _TABLE) or name in found:
            raise OwnCheckError(f"@params: '{name}' cannot be the name of a parameter, or is one already", line)
        name = "other" if name == _TABLE else name
        found[name] = Parameter(name, ParameterKind(word))
    return tuple(found.values())


def _check_places(body: str, parameters: tuple[Parameter, ...], is_query: bool, line: int) -> None:
    used = set(_PLACE.findall(body))
    known = {parameter.name for parameter in parameters} | ({_TABLE} if is_query else set())
    if unknown := sorted(used - known):
        hint = did_you_mean(nearest(unknown[0], known)) or "name it in @params"
        raise OwnCheckError(f"{{{unknown[0]}}} is no parameter of this check; {hint}", line)
    if unused := sorted(known - used):
        what = f"parameter {unused[0]}" if unused[0] != _TABLE else "the checked table"
        raise OwnCheckError(f"{what} is not used: write {{{unused[0]}}} in the SQL", line)


def _build(name: str, body: str, parameters: tuple[Parameter, ...], is_query: bool) -> Callable[[Arguments], Form]:
    def build(given: Arguments) -> Form:
        texts = {parameter.name: _WRITTEN[parameter.kind](given, parameter.name) for parameter in parameters}
        sql = _PLACE.sub(lambda place: texts.get(place[1], place[0]), body)
        if is_query:
            tables = [given.relation(p.name) for p in parameters if p.kind is ParameterKind.TABLE]
            return Query(sql, f"no rows from {name}", tuple(map(str, tables)))
        columns = tuple(given.name(p.name) for p in parameters if p.kind is ParameterKind.COLUMN)
        return RowRule(f"NOT ({sql})", sql, columns)

    return build


def _text(given: Arguments, name: str) -> str:
    return _quoted(given.text(name))


def _quoted(text: str) -> str:
    """`{table}` in an argument is no place for the table."""
    return literal(text).replace("{", "\\u007B")


def _list(given: Arguments, name: str) -> str:
    return f"({', '.join(map(_quoted, items(given.text(name))))})"


_WRITTEN: Mapping[str, Callable[[Arguments, str], str]] = {
    "column": lambda given, name: given.quoted(name),
    "columns": lambda given, name: ", ".join(quote(column.name) for column in given.columns(name)),
    "operator": lambda given, name: given.operator(name),
    "number": lambda given, name: given.number(name),
    "percent": lambda given, name: plain(given.percent(name)),
    "duration": lambda given, name: interval(given.duration(name)),
    "text": _text,
    "list": _list,
    "type": lambda given, name: str(given.data_type(name)),
    "table": lambda given, name: given.relation(name).quoted,
    "condition": lambda given, name: f"({given.condition(name)})",
}
"""How an argument of each kind stands in the SQL."""
