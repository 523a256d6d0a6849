"""Every function of Spark by name: what a node of the tree calls, and which functions do more than compute."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions.collections import COLLECTIONS
from tidegate.compiler.analysis.functions.function import AGGREGATE, GENERATOR, Function
from tidegate.compiler.analysis.functions.general import GENERAL
from tidegate.compiler.analysis.functions.numbers import NUMBERS
from tidegate.compiler.analysis.functions.parser_classes import CLASSES
from tidegate.compiler.analysis.functions.row_functions import AGGREGATES, GENERATORS
from tidegate.compiler.analysis.functions.text_functions import DOCUMENTS, TEXT
from tidegate.compiler.analysis.functions.times import TIMES

__all__ = [
    "AROUND",
    "FUNCTIONS",
    "NAMES",
    "READS_FILES",
    "REFUSED",
    "RUNS_CODE",
    "WITH_OPTIONS",
    "Function",
    "function_of",
    "is_aggregate",
    "is_generator",
]


FUNCTIONS: dict[str, Function] = {
    function.name: function
    for group in (AGGREGATES, COLLECTIONS, DOCUMENTS, GENERAL, GENERATORS, NUMBERS, TEXT, TIMES)
    for function in group
}

_SYNTAX = """
and array between boolean case cast date dateadd double extract float identifier if in int map named_struct not or
string struct timestamp when
"""

NAMES = frozenset([*FUNCTIONS, *_SYNTAX.split()])
"""Function names of Spark, those included that are syntax to the parser."""


RUNS_CODE: dict[str, str] = {
    "java_method": "it calls any method of the JVM",
    "reflect": "it calls any method of the JVM",
    "try_reflect": "it calls any method of the JVM",
}
"""Only `[spark] allow_code` opens these, and to models alone."""

READS_FILES: dict[str, str] = {
    "from_avro": "its options may name a file to be read",
    "from_protobuf": "it reads a file of descriptors",
    "python_worker_logs": "it reads the logs of other queries",
    "schema_of_avro": "its options may name a file to be read",
    "to_avro": "it belongs to a module that reads files",
    "to_protobuf": "it reads a file of descriptors",
}
"""A project may declare these in `[spark] functions`."""

REFUSED: dict[str, str] = {**RUNS_CODE, **READS_FILES}

WITH_OPTIONS: dict[str, str] = {
    "from_xml": "rowvalidationxsdpath",
    "schema_of_xml": "rowvalidationxsdpath",
}
"""Functions with an option that names a file. Their options must be literals, so that the option can be checked."""


AROUND = frozenset({exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup})
"""Nodes that may wrap a function in a window or an aggregate."""

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
