"""A YAML text as nodes that know their place, with typed reading that collects what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tidegate.names import nearest
from tidegate.problems import Place, Problem, did_you_mean

__all__ = ["Entry", "Keys", "YamlDocument"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A value of a mapping: its node, and where its key stands."""

    node: Any
    place: Place


Keys = Mapping[str, Entry]


class YamlDocument:
    """One file being read; nothing that is wrong stops it. Raises yaml.YAMLError where the text is no YAML."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._loader = yaml.SafeLoader(text)
        self._mappings: dict[int, Keys] = {}
        self.root = self._loader.get_single_node()

    def report(self, place: Place, message: str, suggestion: str | None = None) -> None:
        self.problems.append(Problem("InvalidContract", message, place, suggestion=suggestion))

    def place(self, node: Any) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def check_keys(self, found: Keys, known: Collection[str]) -> None:
        for key, entry in found.items():
            if key not in known:
                suggestion = did_you_mean(nearest(key, known, 1)) or "what is not in the standard is a customProperty"
                self.report(entry.place, f"unknown key '{key}'", suggestion)

    def items(self, found: Keys, key: str) -> list[Keys]:
        """The mappings of a list; whatever else stands there is reported."""
        if key not in found:
            return []
        node = found[key].node
        if not isinstance(node, yaml.SequenceNode):
            self.report(found[key].place, f"'{key}' must be a list")
            return []
        items = []
        for item in node.value:
            if isinstance(item, yaml.MappingNode):
                items.append(self.mapping(item))
            else:
                self.report(self.place(item), f"each item of '{key}' must hold keys and values")
        return items

    def mapping(self, node: Any) -> Keys:
        if id(node) in self._mappings:
            return self._mappings[id(node)]
        own: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in own:
                self.report(self.place(key), f"'{key.value}' is set twice")
            own.add(str(key.value))
        try:
            self._loader.flatten_mapping(node)
        except yaml.MarkedYAMLError as error:
            self.report(self.place(node), f"'<<' cannot be followed: {error.problem}")
        found = {str(key.value): Entry(value, self.place(key)) for key, value in node.value}
        self._mappings[id(node)] = found
        return found

    def text(self, entry: Entry, key: str) -> str | None:
        value = self.scalar(entry.node)
        if isinstance(value, str) and value.strip():
            return value.strip()
        self.report(entry.place, f"'{key}' must be text{_shown(value)}", _quoted(entry.node, value))
        return None

    def boolean(self, entry: Entry, key: str) -> bool | None:
        value = self.scalar(entry.node)
        if isinstance(value, bool):
            return value
        self.report(entry.place, f"'{key}' must be true or false{_shown(value)}")
        return None

    def scalar(self, node: Any) -> Any:
        """A plain value as YAML understands it; None for a list or a mapping."""
        if not isinstance(node, yaml.ScalarNode):
            return None
        try:
            return self._loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return node.value


def _shown(value: Any) -> str:
    return "" if value is None else f", not {str(value).lower() if isinstance(value, bool) else repr(value)}"


def _quoted(node: Any, value: Any) -> str | None:
    """YAML takes words such as `no` and `on` for something else."""
    is_word = isinstance(node, yaml.ScalarNode) and node.value and not isinstance(value, str)
    return f"write '{node.value}' in quotes" if is_word else None
