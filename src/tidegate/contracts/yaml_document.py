"""A YAML file as plain values, and the place of each of them in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from tidegate.problems import Place, Problem, not_yaml

__all__ = ["Path", "YamlDocument", "path_text", "read_yaml"]

Path = tuple[str | int, ...]
"""Keys and positions from the root of the document to a value."""

_MOST_NODES = 1_000_000
"""A few lines of anchors can stand for more values than fit in memory."""


def path_text(path: Path) -> str:
    """`schema[0].properties[2].name`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


class _Loader(yaml.SafeLoader):
    """Leaves dates as they are written: contracts hold them as text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(slots=True)
class YamlDocument:
    file: str
    value: Any
    """Mappings have text as keys; what refers to itself is None."""
    problems: tuple[Problem, ...]
    """Keys that are set twice and aliases that cannot be followed."""
    root: Any
    """The parser's node, from which places are found."""

    def place(self, path: Path) -> Place:
        """Of the key, or of the item of a list; of the nearest value around it where nothing has this path."""
        node, mark = self.root, self.root.start_mark if self.root is not None else None
        for step in path:
            if isinstance(node, yaml.MappingNode):
                entries = [entry for entry in node.value if entry[0].value == str(step)]
                if not entries:
                    break
                mark, node = entries[-1][0].start_mark, entries[-1][1]
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                mark = node.start_mark
            else:
                break
        return Place(self.file, mark.line + 1, mark.column + 1) if mark is not None and path else Place(self.file)

    def written(self, path: Path) -> str | None:
        """A scalar as the file writes it; None for a list or a mapping."""
        node = self.root
        for step in path:
            if isinstance(node, yaml.MappingNode):
                node = next((value for key, value in reversed(node.value) if key.value == str(step)), None)
            else:
                node = node.value[step] if isinstance(node, yaml.SequenceNode) and isinstance(step, int) else None
        return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def read_yaml(text: str, file: str) -> tuple[YamlDocument | None, tuple[Problem, ...]]:
    """None where the text is no YAML at all."""
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        reader = _Reader(loader, file)
        value = None if root is None else reader.value(root)
        if reader.size(root) > _MOST_NODES:
            raise ValueError(f"its aliases stand for more than {_MOST_NODES:,} values")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return None, (not_yaml(error, file),)
    return YamlDocument(file, value, tuple(reader.problems), root), ()


class _Reader:
    """One file being read. A node that several aliases name is read once."""

    def __init__(self, loader: _Loader, file: str) -> None:
        self.loader, self.file = loader, file
        self.problems: list[Problem] = []
        self._values: dict[int, Any] = {}
        self._open: set[int] = set()
        self._sizes: dict[int, int] = {}

    def report(self, node: Any, message: str) -> None:
        place = Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)
        self.problems.append(Problem("InvalidContract", message, place))

    def value(self, node: Any) -> Any:
        key = id(node)
        if key in self._open:
            self.report(node, "an alias refers to the value that it is part of")
            return None
        if key not in self._values:
            self._open.add(key)
            self._values[key] = self._read(node)
            self._open.discard(key)
        return self._values[key]

    def _read(self, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item) for item in node.value]
        try:
            return self.loader.construct_object(node)
        except (yaml.YAMLError, ValueError):
            return node.value

    def _mapping(self, node: Any) -> dict[str, Any]:
        own: set[str] = set()
        for key, _ in node.value:
            if str(key.value) in own:
                self.report(key, f"'{key.value}' is set twice")
            own.add(str(key.value))
        try:
            self.loader.flatten_mapping(node)
        except yaml.MarkedYAMLError as error:
            self.report(node, f"'<<' cannot be followed: {error.problem}")
        return {str(key.value): self.value(value) for key, value in node.value}

    def size(self, node: Any) -> int:
        """Values that the node stands for, with those behind its aliases."""
        if node is None or id(node) in self._open:
            return 0
        if id(node) not in self._sizes:
            self._open.add(id(node))
            children = (
                [node for pair in node.value for node in pair] if isinstance(node, yaml.MappingNode) else node.value
            )
            self._sizes[id(node)] = 1 + (0 if isinstance(children, str) else sum(map(self.size, children)))
            self._open.discard(id(node))
        return self._sizes[id(node)]
