"""The events of a run with the keys of their data, from the calls that emit them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.surface.evaluate import Evaluator, Scope
from tests.surface.shape import Shape, paths
from tests.surface.source import Function, Module, Source, function_around

_EMITTERS = frozenset({"emit", "_emit"})
_NOT_OF_RUNS = "sample_event"
"""Makes events for trying hooks out."""


def event_lines(source: Source, evaluator: Evaluator) -> set[str]:
    """The name of each event alone, and one line for each key: `warning: message`."""
    found: set[str] = set()
    for names, data in _emitted(source, evaluator):
        keys = paths(evaluator.as_dictionary(data))
        found |= names | {f"{name}: {key}" for name in names for key in keys}
    return found


def _emitted(source: Source, evaluator: Evaluator) -> Iterator[tuple[frozenset[str], Shape]]:
    for word in ("emit(", "Event("):
        for module, call in source.calls(word):
            if (parts := _name_and_data(call)) is not None:
                yield from _of_call(evaluator, module, call, *parts)


def _name_and_data(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in _EMITTERS and len(call.args) == 3:
        return call.args[0], call.args[2]
    return (call.args[0], call.args[4]) if name == "Event" and len(call.args) == 5 else None


def _of_call(
    evaluator: Evaluator, module: Module, call: ast.Call, name: ast.expr, data: ast.expr
) -> Iterator[tuple[frozenset[str], Shape]]:
    function = function_around(module, call)
    if function is not None and function.name == _NOT_OF_RUNS:
        return
    parameters = [each.arg for each in function.args.args] if function else []
    if function is None or not (isinstance(name, ast.Name) and name.id in parameters):
        scope = evaluator.scope_around(module, call)
        yield evaluator.shape(name, scope).texts, evaluator.shape(data, scope)
    elif function.name not in _EMITTERS:
        yield from _of_callers(evaluator, module, function, parameters, name, data)


def _of_callers(
    evaluator: Evaluator, module: Module, function: Function, parameters: list[str], name: ast.Name, data: ast.expr
) -> Iterator[tuple[frozenset[str], Shape]]:
    """A function that passes on the name that it is given."""
    own = [each for each in parameters if each != "self"]
    for node in module.nodes:
        if not isinstance(node, ast.Call) or len(node.args) != len(own):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == function.name:
            around = evaluator.scope_around(module, node)
            given = {each: evaluator.shape(argument, around) for each, argument in zip(own, node.args, strict=True)}
            inner = Scope(module, function, given)
            yield evaluator.shape(name, inner).texts, evaluator.shape(data, inner)
