"""What the code of a Python model asks `tg` for."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tidegate.config import ZoneSettings
from tidegate.problems import Place, Problem
from tidegate.project.python_source import PythonQuery, PythonRead
from tidegate.project.python_tree import filled_text, is_tg, literal_text
from tidegate.project.template_names import zone_settings
from tidegate.project.tg_mistakes import conditions, unknown_name, wrong_use
from tidegate.python_inputs import TG_NAMES, ReadKind

__all__ = ["TgUses", "read_uses"]

_READS = {str(kind): kind for kind in ReadKind}


@dataclass(slots=True)
class TgUses:
    """The fields are those of `PythonSource`."""

    reads: tuple[PythonRead, ...] = ()
    queries: tuple[PythonQuery, ...] = ()
    names: dict[str, Place] = field(default_factory=dict)
    variables: frozenset[str] | None = frozenset()
    problems: list[Problem] = field(default_factory=list)


def read_uses(tree: ast.Module, names: Collection[str], file: str) -> TgUses:
    """`names`: those that hold `tg`."""
    uses = TgUses()
    calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    asked = conditions(tree)
    nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and is_tg(n.value, names)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        if not isinstance(node.ctx, ast.Load):
            continue
        place = Place(file, node.lineno, node.col_offset + 1)
        if node.attr not in TG_NAMES:
            uses.problems.append(unknown_name(node.attr, place))
            continue
        if wrong := wrong_use(node.attr, place, called=id(node) in calls, asked=id(node) in asked):
            uses.problems.append(wrong)
        uses.names.setdefault(node.attr, place)
        if node.attr == "sql":
            uses.queries += (_query(calls.get(id(node)), place, names),)
        else:
            _read_use(uses, node.attr, calls.get(id(node)), place)
    return uses


def _read_use(uses: TgUses, name: str, call: ast.Call | None, place: Place) -> None:
    """`call`: None where the function itself is handed on, so that its arguments are not known."""
    if (kind := _READS.get(name)) is ReadKind.THIS:
        uses.reads += (PythonRead(kind, "", place),)
    elif kind is ReadKind.LANDING_ZONE:
        uses.reads += (PythonRead(kind, _first(call, "name"), place, _zone(uses, call, place)),)
    elif kind is not None:
        uses.reads += (PythonRead(kind, _first(call, "name"), place),)
    elif name == "var" and uses.variables is not None:
        variable = _first(call, "name")
        uses.variables = None if variable is None else uses.variables | {variable}


def _argument(call: ast.Call | None, keyword: str) -> ast.expr | None:
    if call is None:
        return None
    return call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == keyword), None)


def _first(call: ast.Call | None, keyword: str) -> str | None:
    """The text that the call is given first, or by the name of that parameter."""
    return literal_text(_argument(call, keyword))


def _query(call: ast.Call | None, place: Place, names: Collection[str]) -> PythonQuery:
    text = _argument(call, "query")
    at = Place(place.file, text.lineno, text.col_offset + 1) if text is not None else place
    if (written := literal_text(text)) is not None:
        return PythonQuery(written, at)
    return PythonQuery(filled_text(text, names), at, has_values=True)


def _zone(uses: TgUses, call: ast.Call | None, place: Place) -> ZoneSettings | None:
    options: dict[str, Any] = {}
    for keyword in call.keywords if call is not None else ():
        if keyword.arg == "name":
            continue
        try:
            options[keyword.arg or "**"] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, SyntaxError, RecursionError):
            message = f"landing_zone: {keyword.arg or '**'} is computed, and files are found before the code runs"
            fix = "write its value as it is, or in [landing.<zone>] of tidegate.toml"
            uses.problems.append(Problem("InvalidSetting", message, place, suggestion=fix))
            return None
    try:
        return zone_settings(**options)
    except (ValueError, TypeError) as error:
        message = str(error).replace("zone_settings()", "landing_zone")
        uses.problems.append(Problem("InvalidSetting", message, place))
        return None
