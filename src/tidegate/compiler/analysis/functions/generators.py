"""Functions that give rows: explode() and its kin, and the table functions of FROM."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.expressions.typed import Typed
from tidegate.compiler.analysis.functions.function import GENERATOR, UNSURE, Function, FunctionCall, of
from tidegate.compiler.analysis.functions.result_rules import listed
from tidegate.datatypes import ANY, BIGINT, BOOLEAN, INT, STRING, VARIANT, VOID, Column, DataType

__all__ = ["GENERATORS", "OUTPUTS"]

Output = Callable[[FunctionCall], tuple[Column, ...] | None]


def _exploded(outer: bool, position: bool) -> Output:
    def columns(call: FunctionCall) -> tuple[Column, ...] | None:
        kind = call.type(0)
        nullable = True if outer else None
        found: tuple[Column, ...]
        if kind.kind == "array":
            found = (Column("col", kind.args[0], nullable),)
        elif kind.kind == "map":
            found = (Column("key", kind.args[0], outer), Column("value", kind.args[1], nullable))
        else:
            return None
        return (Column("pos", INT, outer), *found) if position else found

    return columns


def _inlined(call: FunctionCall) -> tuple[Column, ...] | None:
    kind = call.type(0)
    element: DataType = kind.args[0] if kind.kind == "array" else ANY
    if element.kind != "struct":
        if element.kind != "?":
            call.refuse(f"{call.shown} takes an array of structs, not {kind}")
        return None
    nullable = True if call.name == "inline_outer" else None
    return tuple(Column(name, field, nullable) for name, field in element.args)


def _stacked(call: FunctionCall) -> tuple[Column, ...] | None:
    count: Any = call.nodes[0] if call.nodes else None
    if type(count) is not exp.Literal or count.is_string or not count.this.isdecimal() or int(count.this) == 0:
        return None
    values = call.args[1:]
    width = -(-len(values) // int(count.this))
    return tuple(Column(f"col{place}", _stacked_type(values[place::width], call), True) for place in range(width))


def _stacked_type(below: list[Typed], call: FunctionCall) -> DataType:
    """What is below each other has one type; only NULLs are cast."""
    types = {value.type for value in below if value.type.kind != "void"}
    if len(types) < 2:
        return types.pop() if types else VOID
    if all(kind.known for kind in types):
        call.refuse(f"stack puts values of different types into one column: {listed(sorted(types, key=str))}")
    return ANY


def _json_fields(call: FunctionCall) -> tuple[Column, ...] | None:
    if any(type(node) is exp.Star for node in call.nodes):
        return None
    return tuple(Column(f"c{place}", STRING, True) for place in range(len(call.args) - 1))


def _fixed(*columns: Column) -> Output:
    return lambda call: columns


def _variant_parts(outer: bool) -> Output:
    return _fixed(Column("pos", INT, outer), Column("key", STRING, True), Column("value", VARIANT, outer))


_COLLATIONS = """
CATALOG SCHEMA NAME LANGUAGE? COUNTRY? ACCENT_SENSITIVITY CASE_SENSITIVITY PAD_ATTRIBUTE ICU_VERSION?
"""


OUTPUTS: dict[str, Output] = {
    "explode": _exploded(outer=False, position=False),
    "explode_outer": _exploded(outer=True, position=False),
    "posexplode": _exploded(outer=False, position=True),
    "posexplode_outer": _exploded(outer=True, position=True),
    "inline": _inlined,
    "inline_outer": _inlined,
    "stack": _stacked,
    "json_tuple": _json_fields,
    "variant_explode": _variant_parts(outer=False),
    "variant_explode_outer": _variant_parts(outer=True),
    "collations": _fixed(*(Column(name.rstrip("?"), STRING, "?" in name) for name in _COLLATIONS.split())),
    "range": _fixed(Column("id", BIGINT, False)),
    "sql_keywords": _fixed(Column("keyword", STRING, False), Column("reserved", BOOLEAN, False)),
}


def _alone(call: FunctionCall) -> DataType:
    """As a value: its only column."""
    output = OUTPUTS.get(call.name)
    columns: Any = output(call) if output is not None else None
    return columns[0].type if columns is not None and len(columns) == 1 else ANY


GENERATORS: list[Function] = [
    *of("explode explode_outer posexplode posexplode_outer", _alone, 1, 1, UNSURE, GENERATOR, takes="c"),
    *of("inline inline_outer", _alone, 1, 1, UNSURE, GENERATOR, takes="a"),
    *of("stack", _alone, 2, None, UNSURE, GENERATOR),
    *of("json_tuple", _alone, 2, None, UNSURE, GENERATOR, takes="T"),
    *of("variant_explode variant_explode_outer", _alone, 1, 1, UNSURE, GENERATOR, takes="v"),
    *of("range", ANY, 1, 4, UNSURE, GENERATOR),
    *of("collations python_worker_logs sql_keywords", ANY, 0, 0, UNSURE, GENERATOR),
]
