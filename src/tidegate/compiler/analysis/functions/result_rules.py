"""Ways in which the type of a function's result follows from its arguments."""

from __future__ import annotations

from collections.abc import Callable

from tidegate.compiler.analysis.arithmetic import arithmetic_type, concatenated_type, negated_type
from tidegate.compiler.analysis.coercion import common_type_of, is_orderable, strict_common_type_of
from tidegate.compiler.analysis.expressions.typed import Typed, all_null
from tidegate.compiler.analysis.functions.function import FunctionCall
from tidegate.datatypes import ANY, BINARY, DOUBLE, STRING, DataType, array, parse_type

__all__ = [
    "bytes_or_text",
    "coalesced",
    "common",
    "concatenation",
    "declared_schema",
    "element",
    "extreme",
    "list_of",
    "listed",
    "nth",
    "number",
    "operator",
    "same_number",
]


def nth(index: int) -> Callable[[FunctionCall], DataType]:
    """The type of an argument."""
    return lambda call: call.type(index)


def list_of(index: int) -> Callable[[FunctionCall], DataType]:
    return lambda call: array(call.type(index))


def element(index: int) -> Callable[[FunctionCall], DataType]:
    """The type inside an array."""

    def rule(call: FunctionCall) -> DataType:
        kind = call.type(index)
        element: DataType = kind.args[0] if kind.kind == "array" else ANY
        return element

    return rule


def listed(types: list[DataType]) -> str:
    return ", ".join(dict.fromkeys(str(kind) for kind in types))


def common(start: int = 0) -> Callable[[FunctionCall], DataType | Typed]:
    """The type that all arguments from `start` on become."""

    def rule(call: FunctionCall) -> DataType | Typed:
        types = call.types(start)
        merged = common_type_of(types)
        if merged is not None:
            return merged
        return call.report_mismatch(f"the arguments of {call.written_name} have no common type: {listed(types)}")

    return rule


def coalesced(call: FunctionCall) -> Typed:
    """The first that is not NULL: nullable only if all are."""
    result = common()(call)
    return result if isinstance(result, Typed) else Typed(result, all_null(call.args, result))


def extreme(call: FunctionCall) -> DataType | Typed:
    """greatest() and least(): nullable only if all arguments are."""
    types = call.types()
    merged = strict_common_type_of(types)
    if merged is None or not is_orderable(merged):
        return call.report_mismatch(f"the arguments of {call.written_name} cannot be compared: {listed(types)}")
    return Typed(merged, all_null(call.args, merged))


def concatenation(call: FunctionCall) -> DataType | Typed:
    types = call.types()
    merged = concatenated_type(types)
    if merged is None:
        return call.report_mismatch(f"these types cannot be concatenated: {listed(types)}")
    return merged


def operator(symbol: str) -> Callable[[FunctionCall], DataType | Typed]:
    """Functions that are an operator by another name."""

    def rule(call: FunctionCall) -> DataType | Typed:
        a, b = call.type(0), call.type(1)
        result = arithmetic_type(symbol, a, b, (call.digits(0), call.digits(1)))
        if result is None:
            return call.report_mismatch(f"{call.written_name} does not take {a} and {b}")
        return result

    return rule


def same_number(call: FunctionCall) -> DataType | Typed:
    """The type of the argument, text being read as a double."""
    kind = negated_type(call.type(0))
    if kind is None:
        return call.report_mismatch(f"{call.written_name} does not take {call.type(0)}")
    return kind


def number(kind: DataType) -> DataType:
    """What a number is where text is read as one."""
    return DOUBLE if kind.kind in ("string", "void") else kind


def bytes_or_text(*indexes: int) -> Callable[[FunctionCall], DataType]:
    """Binary where all these arguments are, else text."""

    def rule(call: FunctionCall) -> DataType:
        kinds = [call.type(index) for index in indexes if index < len(call.args)]
        if all(kind == BINARY for kind in kinds):
            return BINARY
        return ANY if any(kind.kind == "?" for kind in kinds) else STRING

    return rule


def declared_schema(index: int) -> Callable[[FunctionCall], DataType]:
    """The type that an argument names as text: `int`, or `a INT, b STRING`."""

    def rule(call: FunctionCall) -> DataType:
        text = call.text(index)
        if text is None:
            return ANY
        return parse_type(text) or parse_type(f"struct<{text}>") or ANY

    return rule
