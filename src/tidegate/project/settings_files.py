"""Settings files beside models (`orders.toml`, `orders.yaml`, `config.yaml`, `_defaults.toml`) as entries, or as a tree
of values with their places."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tidegate.config.toml_lines import line_of
from tidegate.problems import Place, Problem, not_toml, not_yaml

__all__ = ["SettingEntry", "SourceNode", "entries_of", "read_settings_file", "read_tree"]


@dataclass(frozen=True, slots=True)
class SourceNode:
    value: Any
    """A dict of nodes, a list of nodes, or a plain value."""

    place: Place
    """Of the key, where there is one."""

    text: str = ""
    """A plain value as it is written."""

    twice: tuple[tuple[str, Place], ...] = ()
    """Keys that a mapping has more than once."""


@dataclass(frozen=True, slots=True)
class SettingEntry:
    """A setting as written: in a directive, a settings file or [defaults]."""

    key: str
    value: Any
    place: Place

    node: SourceNode | None = None
    """The value with the place of each part, where that is known."""

    in_header: bool = False
    """It is a directive."""


def read_tree(text: str, file: str) -> SourceNode | Problem:
    """The whole file; an empty one is a mapping without keys."""
    return _read_toml(text, file) if file.lower().endswith(".toml") else _read_yaml(text, file)


def _read_toml(text: str, file: str) -> SourceNode | Problem:
    try:
        # A number retains its digits, so that 10.10 stays the same decimal.
        values = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        return not_toml(error, text, file)
    return _Toml(text, file, values).tree()


class _Toml:
    """Places are searched in the text: the parser does not return them. A key of several rows is at the first."""

    def __init__(self, text: str, file: str, values: dict[str, Any]) -> None:
        self._file = file
        self._values = values
        self._lines = text.split("\n")
        self._places: dict[tuple[int, int, tuple[str, ...]], Place] = {}

    def tree(self) -> SourceNode:
        root = {}
        for key, value in self._values.items():
            items = value if isinstance(value, list) else ()
            heads = self._heads(key) if items else []
            if items and len(heads) == len(items):
                ends = [*heads[1:], len(self._lines)]
                nodes = [
                    self._node(item, head, end, (key,)) for item, head, end in zip(items, heads, ends, strict=True)
                ]
                root[key] = SourceNode(nodes, Place(self._file, heads[0] + 1))
            else:
                root[key] = self._node(value, 0, len(self._lines), (key,))
        return SourceNode(root, Place(self._file))

    def _heads(self, key: str) -> list[int]:
        pattern = re.compile(rf"\s*\[\[\s*[\"']?{re.escape(key)}[\"']?\s*\]\]")
        return [number for number, line in enumerate(self._lines) if pattern.match(line)]

    def _node(self, value: Any, first: int, end: int, path: tuple[str, ...]) -> SourceNode:
        place = self._place(first, end, path)
        if isinstance(value, dict):
            return SourceNode({key: self._node(item, first, end, (*path, key)) for key, item in value.items()}, place)
        if isinstance(value, list):
            return SourceNode([self._node(item, first, end, path) for item in value], place)
        return SourceNode(value, place, str(value).lower() if isinstance(value, bool) else str(value))

    def _place(self, first: int, end: int, path: tuple[str, ...]) -> Place:
        place = self._places.get((first, end, path))
        if place is None:
            place = self._places[first, end, path] = self._find(first, end, path)
        return place

    def _find(self, first: int, end: int, path: tuple[str, ...]) -> Place:
        lines = self._lines[first:end]
        at = line_of("\n".join(lines), path) - 1
        key = re.escape(path[-1])
        in_header = re.compile(rf"\s*\[.*?(?P<key>[\"']?\b{key}\b)")
        assigned = re.compile(rf"(?:^|[\s{{,.])(?P<key>[\"']?{key}[\"']?)\s*=")
        if match := in_header.match(lines[at]):
            return Place(self._file, first + at + 1, match.start("key") + 1 if len(path) > 1 else 1)
        for number in range(at, len(lines)):
            if match := assigned.search(lines[number]):
                return Place(self._file, first + number + 1, match.start("key") + 1)
        return Place(self._file, first + at + 1)


def _read_yaml(text: str, file: str) -> SourceNode | Problem:
    import yaml  # few projects have such files, and it takes time to load

    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return SourceNode({}, Place(file)) if root is None else _Yaml(loader, file).node(root)
    except yaml.YAMLError as error:
        return not_yaml(error, file)
    except RecursionError:
        return Problem("UnreadableFile", "a value holds itself, or the file is nested too deeply", Place(file))


class _Yaml:
    def __init__(self, loader: Any, file: str) -> None:
        self._loader = loader
        self._file = file

    def node(self, node: Any, place: Place | None = None) -> SourceNode:
        import yaml

        place = place or self._place(node)
        if isinstance(node, yaml.SequenceNode):
            return SourceNode([self.node(item) for item in node.value], place)
        if isinstance(node, yaml.MappingNode):
            twice = tuple(self._twice(node))
            self._loader.flatten_mapping(node)
            return SourceNode(
                {str(key.value): self.node(item, self._place(key)) for key, item in node.value}, place, twice=twice
            )
        return SourceNode(self._plain(node), place, str(node.value))

    def _plain(self, node: Any) -> Any:
        import yaml

        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return node.value

    def _twice(self, node: Any) -> Iterator[tuple[str, Place]]:
        keys = set()
        for key, _ in node.value:
            if key.value in keys:
                yield str(key.value), self._place(key)
            keys.add(key.value)

    def _place(self, node: Any) -> Place:
        return Place(self._file, node.start_mark.line + 1, node.start_mark.column + 1)


def read_settings_file(text: str, file: str) -> tuple[tuple[SettingEntry, ...], tuple[Problem, ...]]:
    """One entry per key at the top of the file."""
    return _entries_of_toml(text, file) if file.lower().endswith(".toml") else _entries_of_yaml(text, file)


def entries_of(table: Mapping[str, Any], text: str, file: str, path: tuple[str, ...] = ()) -> tuple[SettingEntry, ...]:
    """The entries of a TOML table that was read already, `path` being where it is in the text."""
    return tuple(SettingEntry(key, value, Place(file, line_of(text, (*path, key)))) for key, value in table.items())


def _entries_of_toml(text: str, file: str) -> tuple[tuple[SettingEntry, ...], tuple[Problem, ...]]:
    try:
        return entries_of(tomllib.loads(text), text, file), ()
    except tomllib.TOMLDecodeError as error:
        return (), (not_toml(error, text, file),)


def _entries_of_yaml(text: str, file: str) -> tuple[tuple[SettingEntry, ...], tuple[Problem, ...]]:
    import yaml  # a tenth of the time that a small project takes to compile, and few have such files

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        values = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        return (), (not_yaml(error, file),)
    if root is None:
        return (), ()
    if not isinstance(root, yaml.MappingNode):
        message = "a settings file must hold keys and values, as in 'unique_key: order_id'"
        return (), (Problem("UnreadableFile", message, Place(file, root.start_mark.line + 1)),)
    entries: dict[str, SettingEntry] = {}
    problems = []
    for node, _ in root.value:
        key = str(node.value)
        place = Place(file, node.start_mark.line + 1, node.start_mark.column + 1)
        if key in entries:
            problems.append(Problem("RepeatedSetting", f"'{key}' is set twice in this file", place))
        elif key in values:
            entries[key] = SettingEntry(key, values[key], place)
        else:
            problems.append(Problem("UnknownSetting", f"'{key}' is not the name of a setting", place))
    return tuple(entries.values()), tuple(problems)
