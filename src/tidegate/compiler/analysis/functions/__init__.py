"""The functions of Spark as data: what each gives, how many arguments it takes, whether it aggregates."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions.classes import CLASSES
from tidegate.compiler.analysis.functions.generators import OUTPUTS
from tidegate.compiler.analysis.functions.registry import FUNCTIONS, NAMES
from tidegate.compiler.analysis.functions.values import AGGREGATE, GENERATOR, Function
from tidegate.compiler.analysis.values import Scope
from tidegate.datatypes import Column

__all__ = [
    "AROUND",
    "FUNCTIONS",
    "NAMES",
    "Function",
    "function_of",
    "generator_columns",
    "is_aggregate",
    "is_generator",
]

AROUND = frozenset({exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup})
"""What may stand around a function in a window or a group."""

_AGGREGATE_CLASSES = frozenset(cls for cls, (name, _) in CLASSES.items() if FUNCTIONS[name].kind is AGGREGATE)
_GENERATOR_CLASSES = frozenset(cls for cls, (name, _) in CLASSES.items() if FUNCTIONS[name].kind is GENERATOR)


def function_of(node: Any) -> Function | None:
    """The function of Spark that a node calls, if it is one."""
    if type(node) is exp.Anonymous:
        return FUNCTIONS.get(node.name.lower())
    known = CLASSES.get(type(node))
    return FUNCTIONS[known[0]] if known is not None else None


def is_aggregate(node: Any) -> bool:
    """A call of an aggregate function, `any(x)` among them."""
    what = type(node)
    if what is exp.Anonymous:
        function = FUNCTIONS.get(node.name.lower())
        return function is not None and function.kind is AGGREGATE
    return what in _AGGREGATE_CLASSES or (what is exp.Any and type(node.parent) not in (exp.Like, exp.ILike))


def is_generator(node: Any) -> bool:
    """A call of a function that gives rows."""
    what = type(node)
    if what is exp.Anonymous:
        function = FUNCTIONS.get(node.name.lower())
        return function is not None and function.kind is GENERATOR
    return what in _GENERATOR_CLASSES


def generator_columns(node: Any, scope: Scope) -> tuple[Column, ...] | None:
    """What a generator, or a table function in FROM, gives; None where it is none or that is not known."""
    # Types of expressions stand on this package.
    from tidegate.compiler.analysis.typing import call_of

    function = function_of(node)
    output = OUTPUTS.get(function.name) if function is not None else None
    if output is None:
        return None
    call = call_of(node, scope)
    return output(call) if call is not None and function is not None and function.accepts(call) else None
