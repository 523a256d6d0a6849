"""A TOML or YAML text as a tree of values that know where they stand."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tidegate.config.lines import line_of
from tidegate.problems import Place, Problem, not_toml

__all__ = ["Node", "read_tree"]


@dataclass(frozen=True, slots=True)
class Node:
    """`value`: a dict of nodes, a list of nodes, or what a plain value means; `text` is that value as it was written.

    `place` is the key's where there is one. `twice`: keys that a mapping has more than once, with where.
    """

    value: Any
    place: Place
    text: str = ""
    twice: tuple[tuple[str, Place], ...] = ()


def read_tree(text: str, file: str) -> Node | Problem:
    """The whole file; an empty one is a mapping without keys."""
    return _read_toml(text, file) if file.lower().endswith(".toml") else _read_yaml(text, file)


def _read_toml(text: str, file: str) -> Node | Problem:
    try:
        # A number keeps its digits, so that 10.10 is no other decimal.
        values = tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        return not_toml(error, text, file)
    return _Toml(text, file, values).tree()


class _Toml:
    """Places are looked for: the parser does not tell them. The same key of several rows is at the first of them."""

    def __init__(self, text: str, file: str, values: dict[str, Any]) -> None:
        self._file = file
        self._values = values
        self._lines = text.split("\n")
        self._places: dict[tuple[int, int, tuple[str, ...]], Place] = {}

    def tree(self) -> Node:
        root = {}
        for key, value in self._values.items():
            items = value if isinstance(value, list) else ()
            heads = self._heads(key) if items else []
            if items and len(heads) == len(items):
                ends = [*heads[1:], len(self._lines)]
                nodes = [
                    self._node(item, head, end, (key,)) for item, head, end in zip(items, heads, ends, strict=True)
                ]
                root[key] = Node(nodes, Place(self._file, heads[0] + 1))
            else:
                root[key] = self._node(value, 0, len(self._lines), (key,))
        return Node(root, Place(self._file))

    def _heads(self, key: str) -> list[int]:
        pattern = re.compile(rf"\s*\[\[\s*[\"']?{re.escape(key)}[\"']?\s*\]\]")
        return [number for number, line in enumerate(self._lines) if pattern.match(line)]

    def _node(self, value: Any, first: int, end: int, path: tuple[str, ...]) -> Node:
        place = self._place(first, end, path)
        if isinstance(value, dict):
            return Node({key: self._node(item, first, end, (*path, key)) for key, item in value.items()}, place)
        if isinstance(value, list):
            return Node([self._node(item, first, end, path) for item in value], place)
        return Node(value, place, str(value).lower() if isinstance(value, bool) else str(value))

    def _place(self, first: int, end: int, path: tuple[str, ...]) -> Place:
        known = self._places.get((first, end, path))
        if known is None:
            known = self._places[first, end, path] = self._find(first, end, path)
        return known

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


def _read_yaml(text: str, file: str) -> Node | Problem:
    import yaml  # few projects have such files, and it takes time to load

    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        return Node({}, Place(file)) if root is None else _Yaml(loader, file).node(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        return Problem("UnreadableFile", f"not valid YAML: {error.problem or error.context}", place)
    except yaml.YAMLError as error:
        return Problem("UnreadableFile", f"not valid YAML: {error}".splitlines()[0], Place(file))
    except RecursionError:
        return Problem("UnreadableFile", "a value holds itself, or the file is nested too deeply", Place(file))


class _Yaml:
    def __init__(self, loader: Any, file: str) -> None:
        self._loader = loader
        self._file = file

    def node(self, node: Any, place: Place | None = None) -> Node:
        import yaml

        place = place or self._place(node)
        if isinstance(node, yaml.SequenceNode):
            return Node([self.node(item) for item in node.value], place)
        if isinstance(node, yaml.MappingNode):
            twice = tuple(self._twice(node))
            self._loader.flatten_mapping(node)
            return Node(
                {str(key.value): self.node(item, self._place(key)) for key, item in node.value}, place, twice=twice
            )
        return Node(self._plain(node), place, str(node.value))

    def _plain(self, node: Any) -> Any:
        import yaml

        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return node.value

    def _twice(self, node: Any) -> Iterator[tuple[str, Place]]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                yield str(key.value), self._place(key)
            seen.add(key.value)

    def _place(self, node: Any) -> Place:
        return Place(self._file, node.start_mark.line + 1, node.start_mark.column + 1)
