"""Values inside JSON text, exactly as they were delivered.

Spark's JSON functions read numbers as doubles where they give text: 1.10 becomes 1.1, and long ones lose digits. So
each number is made a string with a mark before it is parsed, and loses both after. The mark's own character gets a
letter behind it meanwhile, so no text is taken for a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tidegate.datatypes import STRING, DataType, array, struct
from tidegate.names import literal, quote

__all__ = ["CORRUPT", "JsonPaths", "exact_json", "group_paths", "json_shape", "map_leaves", "parsed_json", "unmarked"]

_MARK = "\ue0f1"
"""From Unicode's private use area."""

_BACKSLASH_U = literal("\\u")
CORRUPT = "__tidegate_corrupt"
_IS_ARRAY, _IS_OBJECT = literal(r"^\s*\["), literal(r"^\s*\{")
_NUMBER = literal(
    r'(?s)\G((?:[^"\d\-]++|-(?!\d)|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+)'
    r"(-?(?:0|[1-9]\d*+)(?:\.\d++)?+(?:[eE][+\-]?\d++)?+)(?![\w.+\-])"
)
"""What precedes the next number, strings included, and the number. Possessive, so that long texts take no stack; from
where the last match ended, so that they take no time."""
_MARKED = literal(f'$1"{_MARK}$2"')
_UNMARKED = literal(f'"{_MARK}([-0-9][^"]*+)"|^{_MARK}(?=[-0-9])')
_OWN = f"{_MARK}s"
"""The mark's character in a delivered text."""
_OWN_ESCAPED, _OWN_AFTER = literal(r"(?<!\\)((?:\\\\)*+)\\u[eE]0[fF]1"), literal(f"$1{_OWN}")


def exact_json(text: str) -> str:
    """JSON text with its numbers as marked strings."""
    raw = f"replace({text}, '{_MARK}', '{_OWN}')"
    escaped = f"regexp_replace({raw}, {_OWN_ESCAPED}, {_OWN_AFTER})"
    own = f"CASE WHEN contains({text}, {_BACKSLASH_U}) THEN {escaped} ELSE {raw} END"
    return f"regexp_replace({own}, {_NUMBER}, {_MARKED})"


def unmarked(text: str) -> str:
    """A text out of `exact_json`, as it was delivered; numbers inside nested JSON too."""
    numbers = f"regexp_replace({text}, {_UNMARKED}, '$1')"
    return f"CASE WHEN contains({text}, '{_MARK}') THEN replace({numbers}, '{_OWN}', '{_MARK}') ELSE {text} END"


def json_shape(kind: DataType) -> DataType:
    """The same type with text in place of every scalar."""
    if kind.kind == "map":
        return DataType("map", (STRING, json_shape(kind.args[1])))
    return kind.map_parts(json_shape) if kind.is_nested else STRING


def parsed_json(text: str, kind: DataType) -> str:
    """JSON text as the shape of a nested type; NULL where the text is no such JSON.

    A struct gets one more field, which is not NULL where the JSON has another form inside.
    """
    shape, opening = json_shape(kind), _IS_ARRAY if kind.kind == "array" else _IS_OBJECT
    if shape.kind == "struct":
        shape = struct((*shape.args, (CORRUPT, STRING)))
    return (
        f"CASE WHEN {text} RLIKE {opening} AND try_parse_json({text}) IS NOT NULL "
        f"THEN {_from_json(exact_json(text), shape)} END"
    )


def _from_json(text: str, shape: DataType) -> str:
    return f"from_json({text}, {literal(shape.sql)}, map('columnNameOfCorruptRecord', '{CORRUPT}'))"


def map_leaves(value: str, kind: DataType, leaf: Callable[[str, DataType], str], depth: int = 0) -> str:
    """The nested value with each scalar inside it changed, keys of maps included."""
    name = f"__v{depth}"
    match kind.kind:
        case "array":
            return f"transform({value}, {name} -> {map_leaves(name, kind.args[0], leaf, depth + 1)})"
        case "struct":
            fields = ", ".join(
                f"{literal(own)}, {map_leaves(f'{value}.{quote(own)}', part, leaf, depth)}" for own, part in kind.args
            )
            return f"CASE WHEN {value} IS NOT NULL THEN named_struct({fields}) END"
        case "map":
            keys = f"transform(map_keys({value}), {name} -> {leaf(name, kind.args[0])})"
            values = f"transform(map_values({value}), {name} -> {map_leaves(name, kind.args[1], leaf, depth + 1)})"
            return f"map_from_arrays({keys}, {values})"
        case _:
            return leaf(value, kind)


@dataclass(slots=True)
class _Node:
    steps: dict[str, _Node] = field(default_factory=dict)
    is_leaf: bool = False

    def shape(self) -> DataType:
        if self.is_leaf:
            return STRING
        if all(step.isdecimal() for step in self.steps):
            return array(next(iter(self.steps.values())).shape())
        return struct((name, node.shape()) for name, node in self.steps.items())

    def accepts(self, path: Sequence[str]) -> bool:
        if not path:
            return not self.steps
        if self.is_leaf:
            return False
        step, names = path[0], list(self.steps)
        if names and (step.isdecimal() or names[0].isdecimal()):
            return step == names[0] and self.steps[step].accepts(path[1:])
        if step in self.steps:
            return self.steps[step].accepts(path[1:])
        return step.lower() not in map(str.lower, names)

    def add(self, path: Sequence[str]) -> None:
        if path:
            self.steps.setdefault(path[0], _Node()).add(path[1:])
        else:
            self.is_leaf = True


@dataclass(slots=True)
class JsonPaths:
    """Paths into the JSON text of one column of bronze that one parse answers."""

    source: str
    root: _Node = field(default_factory=_Node)

    @property
    def _is_array(self) -> bool:
        return self.root.shape().kind == "array"

    def parsed(self, text: str) -> str:
        shape = self.root.shape()
        return _from_json(exact_json(text), shape if self._is_array else struct((*shape.args, (CORRUPT, STRING))))

    def is_lost(self, parsed: str, text: str) -> str:
        """The condition that the paths cannot be followed, because the text is no JSON or of another form."""
        if self._is_array:
            return f"{text} IS NOT NULL AND ({parsed} IS NULL OR NOT {text} RLIKE {_IS_ARRAY})"
        return f"{text} IS NOT NULL AND ({parsed} IS NULL OR {parsed}.{CORRUPT} IS NOT NULL)"

    def answers(self, path: Sequence[str]) -> bool:
        node: _Node | None = self.root
        for step in path:
            node = node.steps.get(step) if node else None
        return node is not None and node.is_leaf

    def value(self, parsed: str, path: Sequence[str]) -> str:
        for step in path:
            parsed = f"get({parsed}, {int(step)})" if step.isdecimal() else f"{parsed}.{quote(step)}"
        return unmarked(parsed)


def group_paths(paths: Sequence[tuple[str, ...]]) -> list[JsonPaths]:
    """As few parses as answer all paths; the first step of each is the column of bronze."""
    groups: list[JsonPaths] = []
    for source, *steps in paths:
        group = next((g for g in groups if g.source == source and g.root.accepts(steps)), None)
        if group is None:
            groups.append(group := JsonPaths(source))
        group.root.add(steps)
    return groups
