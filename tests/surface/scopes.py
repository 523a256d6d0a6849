"""The names inside a function, and small questions about syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.surface.shape import Shape, items
from tests.surface.source import Function, Module


@dataclass(eq=False)
class Scope:
    """The names inside one function, or at the top of a module. `given`: what the caller passed."""

    module: Module
    node: Function | ast.Lambda | ast.Module
    given: Mapping[str, Shape] = field(default_factory=dict)
    outer: Scope | None = None
    known: dict[str, Shape] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)


def parameters_of(node: Function | ast.Lambda) -> list[ast.arg]:
    arguments = node.args
    extra = [each for each in (arguments.kwarg,) if each is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *extra]


def is_same(one: ast.expr | None, other: ast.expr) -> bool:
    return one is not None and ast.dump(one) == ast.dump(other)


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Without what stands in functions inside it, and without the variables of comprehensions."""
    pending = [*ast.iter_child_nodes(function)]
    while pending:
        node = pending.pop(0)
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(node)


def names_in(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from names_in(element)
    elif isinstance(target, ast.Starred):
        yield from names_in(target.value)


def unpack(target: ast.expr, shape: Shape, given: dict[str, Shape]) -> None:
    if isinstance(target, ast.Name):
        given[target.id] = shape
    elif isinstance(target, ast.Starred):
        unpack(target.value, items(shape.element), given)
    elif isinstance(target, ast.Tuple | ast.List):
        fits = len(shape.positions) == len(target.elts)
        for at, element in enumerate(target.elts):
            part = shape.positions[at] if fits else shape.element
            if isinstance(element, ast.Starred):
                part = shape
            unpack(element, part, given)
