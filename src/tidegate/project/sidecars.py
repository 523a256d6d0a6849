"""Settings files beside models: `orders.toml`, `orders.yaml`, `config.yaml`, `_defaults.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from tidegate.config.lines import line_of
from tidegate.problems import Place, Problem, not_toml
from tidegate.project.settings import Entry

__all__ = ["entries_of", "read_settings_file"]


def read_settings_file(text: str, file: str) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """One entry per key at the top of the file."""
    return _read_toml(text, file) if file.lower().endswith(".toml") else _read_yaml(text, file)


def entries_of(table: Mapping[str, Any], text: str, file: str, path: tuple[str, ...] = ()) -> tuple[Entry, ...]:
    """The entries of a TOML table that was read already, `path` being where it is in the text."""
    return tuple(Entry(key, value, Place(file, line_of(text, (*path, key)))) for key, value in table.items())


def _read_toml(text: str, file: str) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    try:
        return entries_of(tomllib.loads(text), text, file), ()
    except tomllib.TOMLDecodeError as error:
        return (), (not_toml(error, text, file),)


def _read_yaml(text: str, file: str) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    import yaml  # a tenth of the time that a small project takes to compile, and few have such files

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        return (), (Problem("UnreadableFile", f"not valid YAML: {error.problem or error.context}", place),)
    except (yaml.YAMLError, ValueError) as error:
        return (), (Problem("UnreadableFile", f"not valid YAML: {error}".splitlines()[0], Place(file)),)
    if root is None:
        return (), ()
    if not isinstance(root, yaml.MappingNode):
        message = "a settings file must hold keys and values, as in 'unique_key: order_id'"
        return (), (Problem("UnreadableFile", message, Place(file, root.start_mark.line + 1)),)
    entries: dict[str, Entry] = {}
    problems = []
    for node, _ in root.value:
        key = str(node.value)
        place = Place(file, node.start_mark.line + 1, node.start_mark.column + 1)
        if key in entries:
            problems.append(Problem("RepeatedSetting", f"'{key}' is set twice in this file", place))
        elif key in values:
            entries[key] = Entry(key, values[key], place)
        else:
            problems.append(Problem("UnknownSetting", f"'{key}' is not the name of a setting", place))
    return tuple(entries.values()), tuple(problems)
