"""`@tg.model(unique_key=["id"])` above a Python model → the settings that a settings file would give."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from tidegate.problems import Place, Problem
from tidegate.project.python_tree import is_tg
from tidegate.project.settings_files import SettingEntry, SourceNode

__all__ = ["settings_of_decorators"]

_SPELLINGS = {"strategy": "merge_strategy"}


def settings_of_decorators(
    tree: ast.Module, names: Collection[str], file: str
) -> tuple[tuple[SettingEntry, ...], tuple[Problem, ...]]:
    """`names`: those that hold `tg`."""
    entries: list[SettingEntry] = []
    problems: list[Problem] = []
    for function in ast.walk(tree):
        for decorator in getattr(function, "decorator_list", []):
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            if not (isinstance(call, ast.Attribute) and call.attr == "model" and is_tg(call.value, names)):
                continue
            name = getattr(function, "name", "")
            if name != "model":
                place = Place(file, decorator.lineno, decorator.col_offset + 1)
                message = f"@tg.model stands above '{name}', and a model's function is called `model`"
                problems.append(Problem("MissingModel", message, place, suggestion="rename the function to model"))
            elif isinstance(decorator, ast.Call):
                _read(decorator, file, entries, problems)
    return tuple(entries), tuple(problems)


def _read(call: ast.Call, file: str, entries: list[SettingEntry], problems: list[Problem]) -> None:
    if call.args:
        place = Place(file, call.args[0].lineno, call.args[0].col_offset + 1)
        fix = 'write @tg.model(merge_strategy="incremental")'
        problems.append(Problem("InvalidSetting", "@tg.model takes settings by their names", place, suggestion=fix))
    for keyword in call.keywords:
        place = Place(file, keyword.lineno, keyword.col_offset + 1)
        key = keyword.arg
        try:
            value = _plain(ast.literal_eval(keyword.value)) if key else None
        except (ValueError, TypeError, SyntaxError, RecursionError):
            key = None
        if key is None:
            message = f"{keyword.arg or '**'} is computed: settings are read without running the code"
            fix = "write its value as text, number, list or dict, or as a directive in the comment block at the top"
            problems.append(Problem("InvalidSetting", message, place, suggestion=fix))
            continue
        key = _SPELLINGS.get(key, key)
        entries.append(SettingEntry(key, value, place, _node(keyword.value, value, place, file)))


def _plain(value: Any) -> Any:
    """As TOML would give it."""
    if isinstance(value, tuple | set | list):
        return [_plain(item) for item in (sorted(value, key=str) if isinstance(value, set) else value)]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _node(tree: ast.expr, value: Any, place: Place, file: str) -> SourceNode:
    """The value with the place of each part."""

    def at(part: ast.expr) -> Place:
        return Place(file, part.lineno, part.col_offset + 1)

    if isinstance(value, dict) and isinstance(tree, ast.Dict):
        keys = [(key, item) for key, item in zip(tree.keys, tree.values, strict=True) if key is not None]
        nodes = {str(ast.literal_eval(key)): (key, item) for key, item in keys}
        inner = {name: _node(item, value[name], at(key), file) for name, (key, item) in nodes.items()}
        return SourceNode(inner, place)
    if isinstance(value, list) and isinstance(tree, ast.List | ast.Tuple):
        return SourceNode([_node(i, v, at(i), file) for i, v in zip(tree.elts, value, strict=True)], place)
    if isinstance(value, list):
        return SourceNode([SourceNode(item, place, str(item)) for item in value], place)
    return SourceNode(value, place, str(value).lower() if isinstance(value, bool) else str(value))
