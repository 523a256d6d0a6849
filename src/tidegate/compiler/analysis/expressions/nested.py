"""Structs, arrays and maps: their constructors, fields, elements and values."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.coercion import common_type_of
from tidegate.compiler.analysis.expressions.typed import (
    UNKNOWN,
    ExpressionScope,
    Rule,
    Typed,
    field_type,
    mismatch,
    type_of,
)
from tidegate.datatypes import ANY, DataType, array, map_of, struct
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["NESTED", "field_of"]

_SHOWN = 8


def _struct(node: Any, scope: ExpressionScope) -> Typed:
    """struct(…), named_struct(…) and (a, b)."""
    fields: list[tuple[str, DataType]] = []
    known = True
    named = _is_named_struct(node)
    for place, item in enumerate(node.expressions, 1):
        name, value = _named(item, place)
        if not named and name == f"col{place}":
            name = _own_name(value, place)
        kind = type_of(value, scope).type
        known = known and bool(name) and not value.is_star
        fields.append((name, kind))
    return Typed(struct(fields) if known else ANY, False)


def _is_named_struct(node: Any) -> bool:
    """The parser has one class for both functions; only the length of the name shows which it was."""
    meta = node.meta
    return "start" in meta and meta["end"] - meta["start"] + 1 >= len("named_struct")


def _named(item: Any, place: int) -> tuple[str, Any]:
    if type(item) is exp.PropertyEQ:
        return str(item.this.name), item.expression
    if type(item) is exp.Alias:
        return str(item.alias), item.this
    return f"col{place}", item


def _own_name(node: Any, place: int) -> str:
    if type(node) in (exp.Column, exp.Identifier):
        return str(node.name)
    if type(node) is exp.Dot and type(node.expression) is exp.Identifier:
        return str(node.expression.name)
    return f"col{place}"


def _array(node: Any, scope: ExpressionScope) -> Typed:
    elements = [type_of(item, scope).type for item in node.expressions]
    kind = common_type_of(elements)
    if kind is None:
        types = ", ".join(dict.fromkeys(map(str, elements)))
        return mismatch(node, scope, f"the elements of the array have no common type: {types}")
    if any(type(item) is exp.Star for item in node.expressions):
        return UNKNOWN
    return Typed(array(kind), False)


def _map(node: Any, scope: ExpressionScope) -> Typed:
    kinds = []
    for what in ("keys", "values"):
        entries = [type_of(item, scope).type for item in node.args[what].expressions]
        kind = common_type_of(entries)
        if kind is None:
            types = ", ".join(dict.fromkeys(map(str, entries)))
            return mismatch(node, scope, f"the {what} of the map have no common type: {types}")
        kinds.append(kind)
    return Typed(map_of(kinds[0], kinds[1]), False)


def _dot(node: Any, scope: ExpressionScope) -> Typed:
    root = node
    while type(root) is exp.Dot:
        if type(root.expression) is not exp.Identifier:
            return _qualified_call(node, scope)
        root = root.this
    if type(root) is exp.Column:
        return scope.column(node)
    base = type_of(node.this, scope)
    name = str(node.expression.name)
    field = field_of(base, name)
    if field is not None:
        return field
    holder = base.type.args[0] if base.type.kind == "array" else base.type
    if holder.kind != "struct":
        scope.report("UnknownField", f"{base.type} has no field '{name}': it is not a struct", node.expression)
        return UNKNOWN
    _report_field(name, holder, node.expression, scope)
    return UNKNOWN


def _report_field(name: str, holder: DataType, node: Any, scope: ExpressionScope) -> None:
    fields = [field for field, _ in holder.args]
    hint = did_you_mean(nearest(name, fields)) or f"it has {', '.join(fields[:_SHOWN])}"
    scope.report("UnknownField", f"the struct has no field '{name}'", node, hint)


def _qualified_call(node: Any, scope: ExpressionScope) -> Typed:
    """`schema.function(…)`: a user-defined function."""
    call = node.expression
    if isinstance(call, exp.Func):
        for child in call.iter_expressions():
            type_of(child, scope)
    return UNKNOWN


def field_of(base: Typed, name: str) -> Typed | None:
    """A field of a struct, of each struct in an array, or the value of a map; None where there is none."""
    kind = base.type
    if kind.kind == "?":
        return UNKNOWN
    inner = field_type(kind, name)
    if inner is None:
        return None
    if kind.kind == "map":
        return Typed(inner, True)
    if kind.kind == "array":
        return UNKNOWN if inner.kind == "?" else Typed(inner, base.nullable)
    return Typed(inner, base.nullable or None)


def _bracket(node: Any, scope: ExpressionScope) -> Typed:
    base = type_of(node.this, scope)
    keys = node.expressions
    key_types = [type_of(key, scope) for key in keys]
    kind = base.type
    if node.args.get("offset"):
        return _element_at(base)
    if kind.kind == "?" or len(keys) != 1:
        return UNKNOWN
    key = keys[0]
    if kind.kind in ("struct", "array") and type(key) is exp.Literal and key.is_string:
        field = field_of(base, key.this)
        if field is not None:
            return field
        if kind.kind == "struct":
            _report_field(key.this, kind, key, scope)
            return UNKNOWN
    if kind.kind == "array":
        if not (key_types[0].type.is_integral or key_types[0].type.kind in ("?", "void")):
            mismatch(key, scope, f"an array is indexed by a whole number, not by {key_types[0].type}")
        return Typed(kind.args[0], base.nullable or None)
    if kind.kind == "map":
        return Typed(kind.args[1], True)
    if kind.kind == "struct":
        return UNKNOWN
    return mismatch(node, scope, f"{kind} cannot be indexed with []")


def _element_at(base: Typed) -> Typed:
    kind = base.type
    if kind.kind == "array":
        return Typed(kind.args[0], base.nullable or None)
    return Typed(kind.args[1], True) if kind.kind == "map" else UNKNOWN


NESTED: dict[type, Rule] = {
    exp.Array: _array,
    exp.Bracket: _bracket,
    exp.Dot: _dot,
    exp.Struct: _struct,
    exp.Tuple: _struct,
    exp.VarMap: _map,
}
