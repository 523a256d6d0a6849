"""What is known of a value without running the program: its keys, its items, its class, its constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.surface.source import Definition, Function, Module


@dataclass(frozen=True, eq=False)
class Callee:
    """A function or lambda. `bound`: what its first parameter is; `scope`: the names around it."""

    module: Module
    node: Function | ast.Lambda
    bound: Shape | None = None
    scope: object | None = None


@dataclass(frozen=True, eq=False)
class Shape:
    """All that a value may be, taken together: one that is a text or a list has both `texts` and `item`."""

    keys: Mapping[str, Shape] = field(default_factory=dict)
    """Of a dictionary whose keys are known."""

    value: Shape | None = None
    """Of a dictionary whose keys are not known."""

    item: Shape | None = None
    """Of a list, or anything that can be iterated over."""

    positions: tuple[Shape, ...] = ()
    """Of a tuple."""

    instances: tuple[Definition, ...] = ()
    classes: tuple[Definition, ...] = ()
    callees: tuple[Callee, ...] = ()
    texts: frozenset[str] = frozenset()
    numbers: frozenset[int] = frozenset()

    def __or__(self, other: Shape) -> Shape:
        if other is UNKNOWN or self is other:
            return self
        if self is UNKNOWN:
            return other
        keys = {**self.keys}
        for name, shape in other.keys.items():
            keys[name] = keys[name] | shape if name in keys else shape
        same_length = len(self.positions) == len(other.positions)
        positions = tuple(a | b for a, b in zip(self.positions, other.positions, strict=True)) if same_length else ()
        return Shape(
            keys,
            _either(self.value, other.value),
            _either(self.item, other.item),
            positions or self.positions or other.positions,
            tuple(dict.fromkeys((*self.instances, *other.instances))),
            tuple(dict.fromkeys((*self.classes, *other.classes))),
            tuple(dict.fromkeys((*self.callees, *other.callees))),
            self.texts | other.texts,
            self.numbers | other.numbers,
        )

    @property
    def element(self) -> Shape:
        """What a loop over it yields: items, or keys."""
        found = self.item or UNKNOWN
        for part in self.positions:
            found |= part
        return found | text(*self.keys) if self.keys else found

    @property
    def any_value(self) -> Shape:
        found = self.value or UNKNOWN
        for part in self.keys.values():
            found |= part
        return found

    @property
    def is_vague(self) -> bool:
        """A dictionary without known keys is in it."""
        parts = [part for part in (self.item, *self.positions) if part is not None]
        return (self.value is not None and not self.keys) or any(part.is_vague for part in parts)


UNKNOWN = Shape()


def _either(first: Shape | None, second: Shape | None) -> Shape | None:
    if first is None or second is None:
        return first or second
    return first | second


def text(*values: str) -> Shape:
    return Shape(texts=frozenset(values))


def number(*values: int) -> Shape:
    return Shape(numbers=frozenset(values))


def items(of: Shape) -> Shape:
    return Shape(item=of)


def union(shapes: Iterator[Shape] | list[Shape]) -> Shape:
    found = UNKNOWN
    for shape in shapes:
        found |= shape
    return found


def paths(shape: Shape, before: str = "") -> set[str]:
    """The way to each key, as in `steps[].inputs[].table`; `*` is any key."""
    found: set[str] = set()
    for name, part in shape.keys.items():
        here = f"{before}.{name}" if before else name
        found |= {here} | paths(part, here)
    if shape.value is not None and not shape.keys:
        here = f"{before}.*" if before else "*"
        found |= {here} | paths(shape.value, here)
    for part in (*((shape.item,) if shape.item else ()), *shape.positions):
        found |= paths(part, f"{before}[]")
    return found
