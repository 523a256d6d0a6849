"""Functions of arrays, maps and structs, those with lambdas among them."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from tidegate.compiler.analysis.coercion import common_type, same_shape, strict_common_type_of, tightest_common_type
from tidegate.compiler.analysis.expressions.typed import Typed
from tidegate.compiler.analysis.functions.function import (
    ALWAYS,
    IF_FIRST,
    IF_FIRST_TWO,
    UNSURE,
    Function,
    FunctionCall,
    define,
)
from tidegate.compiler.analysis.functions.result_rules import common, element
from tidegate.datatypes import ANY, BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, STRING, VOID, DataType, array, map_of, struct

__all__ = ["COLLECTIONS"]


def _element(kind: DataType) -> DataType:
    return kind.args[0] if kind.kind == "array" else ANY


def _key(kind: DataType) -> DataType:
    return kind.args[0] if kind.kind == "map" else ANY


def _value(kind: DataType) -> DataType:
    return kind.args[1] if kind.kind == "map" else ANY


def _with_element(index: int) -> Callable[[FunctionCall], DataType | Typed]:
    """An array that gains an element."""

    def rule(call: FunctionCall) -> DataType | Typed:
        kind = call.type(0)
        if kind.kind != "array":
            return ANY
        merged = tightest_common_type(kind.args[0], call.type(index))
        if merged is None:
            return call.report_mismatch(f"{call.written_name} cannot put {call.type(index)} into {kind}")
        return array(merged)

    return rule


def _overlapping(call: FunctionCall) -> DataType | Typed:
    result = _both(call)
    return result if isinstance(result, Typed) else BOOLEAN


def _array(call: FunctionCall) -> DataType:
    """The array itself."""
    kind = call.type(0)
    return array(VOID) if kind.kind == "void" else kind


def _loosely(element: DataType, other: DataType) -> DataType:
    """Some functions of arrays take a float beside a whole number as a float."""
    merged = tightest_common_type(element, other)
    if merged is None:
        return ANY
    return FLOAT if merged == DOUBLE and "double" not in (element.kind, other.kind) else merged


def _inserted(call: FunctionCall) -> DataType:
    kind = call.type(0)
    return array(_loosely(kind.args[0], call.type(2))) if kind.kind == "array" else ANY


def _without_element(call: FunctionCall) -> DataType:
    kind = call.type(0)
    return array(_loosely(kind.args[0], call.type(1))) if kind.kind == "array" else ANY


def _both(call: FunctionCall) -> DataType | Typed:
    """Two arrays put together."""
    a, b = call.type(0), call.type(1)
    if a.kind != "array" or b.kind != "array":
        return ANY
    merged = tightest_common_type(a, b)
    return (
        merged
        if merged is not None
        else call.report_mismatch(f"{call.written_name} does not take {a} and {b} together")
    )


def _repeated(call: FunctionCall) -> Typed:
    """Only how often decides whether there is an array."""
    often = call.args[1].nullable if len(call.args) > 1 else None
    return Typed(array(call.type(0)), often)


def _flat(call: FunctionCall) -> DataType:
    inner = _element(call.type(0))
    return inner if inner.kind == "array" else ANY


def _entries(call: FunctionCall) -> DataType:
    kind = call.type(0)
    if kind.kind != "map":
        return ANY
    return array(struct((("key", kind.args[0]), ("value", kind.args[1]))))


def _from_entries(call: FunctionCall) -> DataType:
    inner = _element(call.type(0))
    if inner.kind != "struct" or len(inner.args) != 2:
        return ANY
    return map_of(inner.args[0][1], inner.args[1][1])


def _from_arrays(call: FunctionCall) -> DataType:
    keys, values = call.type(0), call.type(1)
    if keys.kind != "array" or values.kind != "array":
        return ANY
    return map_of(keys.args[0], values.args[0])


def _zipped(call: FunctionCall) -> DataType:
    """Its fields have the names of columns, and numbers where there are none."""
    fields = []
    for place, (node, arg) in enumerate(zip(call.nodes, call.args, strict=True)):
        if type(node) is exp.Star or arg.type.kind != "array":
            return ANY
        name = node.name if type(node) in (exp.Column, exp.Identifier) else str(place)
        if type(node) is exp.Dot:
            return ANY
        fields.append((name, arg.type.args[0]))
    return array(struct(fields))


def _sequence(call: FunctionCall) -> DataType:
    first, last = call.type(0), call.type(1)
    merged = common_type(first, last)
    if merged is None or merged.kind == "string":
        return ANY
    return array(merged)


def _maps_joined(call: FunctionCall) -> DataType | Typed:
    return common()(call) if call.args else map_of(STRING, STRING)


def _one(kind: DataType) -> Typed:
    return Typed(kind)


def _transformed(call: FunctionCall) -> Typed:
    inner = _element(call.type(0))
    body = call.body(1, _one(inner), Typed(INT, False))
    return Typed(array(body.type), call.args[0].nullable)


def _filtered(call: FunctionCall) -> DataType:
    call.body(1, _one(_element(call.type(0))), Typed(INT, False))
    return call.type(0)


def _contained(call: FunctionCall) -> DataType | Typed:
    kind = call.type(0)
    if kind.kind == "array" and strict_common_type_of((kind.args[0], call.type(1))) is None:
        return call.report_mismatch(f"{call.written_name} cannot look for {call.type(1)} in {kind}")
    return BOOLEAN


def _holds(call: FunctionCall) -> DataType:
    call.body(1, _one(_element(call.type(0))))
    return BOOLEAN


def _sorted(call: FunctionCall) -> DataType:
    if len(call.nodes) > 1 and type(call.nodes[1]) is exp.Lambda:
        inner = _one(_element(call.type(0)))
        call.body(1, inner, inner)
    return _array(call)


def _folded(call: FunctionCall) -> Typed:
    """aggregate(array, start, merge, finish): the start decides the type."""
    start = Typed(call.type(1))
    merged = call.body(2, start, _one(_element(call.type(0)))).type
    if not same_shape(merged, start.type) and merged.known and start.type.known:
        advice = f"cast the start to {merged}" if merged.kind not in ("void", "array", "map", "struct") else None
        return call.report_mismatch(
            f"{call.written_name} starts with {start.type}, but each step gives {merged}", advice
        )
    if len(call.nodes) < 4:
        return Typed(start.type)
    return Typed(call.body(3, start).type)


def _zipped_with(call: FunctionCall) -> DataType:
    body = call.body(2, _one(_element(call.type(0))), _one(_element(call.type(1))))
    return array(body.type)


def _map_filtered(call: FunctionCall) -> DataType:
    kind = call.type(0)
    call.body(1, Typed(_key(kind), False), _one(_value(kind)))
    return kind


def _keys_transformed(call: FunctionCall) -> DataType:
    kind = call.type(0)
    return map_of(call.body(1, Typed(_key(kind), False), _one(_value(kind))).type, _value(kind))


def _values_transformed(call: FunctionCall) -> DataType:
    kind = call.type(0)
    return map_of(_key(kind), call.body(1, Typed(_key(kind), False), _one(_value(kind))).type)


def _maps_zipped(call: FunctionCall) -> DataType:
    a, b = call.type(0), call.type(1)
    key = common_type(_key(a), _key(b)) or ANY
    body = call.body(2, Typed(key, False), Typed(_value(a), True), Typed(_value(b), True))
    return map_of(key, body.type)


def _picked(call: FunctionCall) -> Typed:
    kind = call.type(0)
    if kind.kind == "array":
        return Typed(kind.args[0], call.args[0].nullable or None)
    return Typed(_value(kind), True)


COLLECTIONS: list[Function] = [
    *define("array_append array_prepend", _with_element(1), 2, nulls=IF_FIRST, takes="a*"),
    *define("array_insert", _inserted, 3, nulls=IF_FIRST_TWO, takes="a**"),
    *define("array_compact array_distinct", _array, 1, takes="a"),
    *define("array_remove", _without_element, 2, nulls=UNSURE, takes="a*"),
    *define("array_contains", _contained, 2, nulls=UNSURE, takes="a*"),
    *define("arrays_overlap", _overlapping, 2, nulls=UNSURE, takes="a"),
    *define("array_except", _both, 2, takes="a"),
    *define("array_intersect array_union", _both, 2, takes="a"),
    *define("array_join", STRING, 2, 3, takes="aT"),
    *define("array_max array_min", element(0), 1, nulls=ALWAYS, takes="a"),
    *define("array_position", BIGINT, 2, takes="a*"),
    *define("array_repeat", _repeated, 2),
    *define("array_size", INT, 1, takes="a"),
    *define("array_sort", _sorted, 1, 2, nulls=UNSURE, takes="a*"),
    *define("shuffle sort_array", _array, 1, 2, nulls=UNSURE, takes="a*"),
    *define("arrays_zip", _zipped, 0, None, takes="a"),
    *define("cardinality size", INT, 1, takes="c"),
    *define("element_at", _picked, 2),
    *define("try_element_at get", _picked, 2),
    *define("exists", _holds, 2, nulls=UNSURE, takes="a*"),
    *define("forall", _holds, 2, nulls=UNSURE, takes="a*"),
    *define("filter", _filtered, 2, nulls=UNSURE, takes="a*"),
    *define("transform", _transformed, 2, takes="a*"),
    *define("aggregate reduce", _folded, 3, 4, takes="a*"),
    *define("zip_with", _zipped_with, 3, nulls=UNSURE, takes="aa*"),
    *define("flatten", _flat, 1, nulls=UNSURE, takes="a"),
    *define("sequence", _sequence, 2, 3),
    *define("slice", _array, 3, takes="aii"),
    *define("map_concat", _maps_joined, 0, None, takes="m"),
    *define("map_contains_key", BOOLEAN, 2, nulls=UNSURE, takes="m*"),
    *define("map_entries", _entries, 1, takes="m"),
    *define("map_filter", _map_filtered, 2, nulls=UNSURE, takes="m*"),
    *define("map_from_arrays", _from_arrays, 2, takes="a"),
    *define("map_from_entries", _from_entries, 1, nulls=UNSURE, takes="a"),
    *define("map_keys", lambda call: array(_key(call.type(0))), 1, takes="m"),
    *define("map_values", lambda call: array(_value(call.type(0))), 1, takes="m"),
    *define("map_zip_with", _maps_zipped, 3, nulls=UNSURE, takes="mm*"),
    *define("transform_keys", _keys_transformed, 2, nulls=UNSURE, takes="m*"),
    *define("transform_values", _values_transformed, 2, nulls=UNSURE, takes="m*"),
]
