"""The type and nullability of an expression: the dispatch to its rule, and the types of literals and casts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from tidegate.compiler.analysis.coercion import CALENDAR_INTERVAL, cast_may_give_null, interval_of
from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VARIANT,
    VOID,
    DataType,
    array,
    decimal,
    map_of,
    struct,
)

if TYPE_CHECKING:
    from tidegate.compiler.analysis.query_tokens import WrittenCall

__all__ = [
    "RULES",
    "UNKNOWN",
    "ExpressionScope",
    "Rule",
    "Typed",
    "all_null",
    "any_null",
    "any_nullable",
    "cast_nullable",
    "declared_type",
    "field_type",
    "interval_type",
    "is_typed_literal",
    "literal_type",
    "mismatch",
    "number_type",
    "type_of",
    "whole_digits",
]


@dataclass(frozen=True, slots=True)
class Typed:
    """The type of an expression and whether it may be NULL (None: not known)."""

    type: DataType = ANY
    nullable: bool | None = None


UNKNOWN = Typed()


class ExpressionScope(Protocol):
    """What an expression may refer to at its place in a query."""

    def column(self, node: Any) -> Typed:
        """An `exp.Column`, or an `exp.Dot` over one; reports what it cannot find."""
        ...

    def subquery(self, node: Any) -> Typed:
        """The value of a scalar subquery (`exp.Subquery`, `exp.Select`, a set operation): its first column."""
        ...

    def width(self, node: Any) -> int | None:
        """How many columns a subquery has; None where that is not known."""
        ...

    def written(self, node: Any) -> WrittenCall | None:
        """The call as the query text has it; None for a node that is not written as a call."""
        ...

    def report(
        self,
        code: str,
        message: str,
        node: Any,
        suggestion: str | None = None,
        severity: DiagnosticSeverity = DiagnosticSeverity.ERROR,
    ) -> None:
        """`node`: the place; its first name or literal with a position is marked."""
        ...


Rule = Callable[[Any, ExpressionScope], Typed]

RULES: dict[type, Rule] = {}
"""The rule for each class of node, filled by `expression_types`."""


def type_of(node: Any, scope: ExpressionScope) -> Typed:
    """`node` None: a missing argument, which is reported elsewhere."""
    if node is None:
        return UNKNOWN
    rule = RULES.get(type(node))
    return rule(node, scope) if rule is not None else _unruled(node, scope)


def _unruled(node: Any, scope: ExpressionScope) -> Typed:
    """A node without a rule is unknown; its children are still checked."""
    if isinstance(node, exp.Query):
        return scope.subquery(node)
    if isinstance(node, exp.Func):
        return RULES[exp.Func](node, scope)
    for child in node.iter_expressions():
        type_of(child, scope)
    return UNKNOWN


def mismatch(node: Any, scope: ExpressionScope, message: str, suggestion: str | None = None) -> Typed:
    scope.report("TypeMismatch", message, node, suggestion)
    return UNKNOWN


_LARGEST_INT = 2**31 - 1
_LARGEST_BIGINT = 2**63 - 1
_SHORT = 9
"""Every number of this many digits is an int."""

_WHOLE = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})


def literal_type(node: Any) -> DataType:
    return STRING if node.args["is_string"] else number_type(node.this)


def number_type(text: str, negative: bool = False) -> DataType:
    """1 is an int, 3000000000 a bigint, 1.50 a decimal(3,2), 1e3 a double."""
    if text.isdecimal():
        if len(text) <= _SHORT:
            return INT
        value = int(text) - negative
        if value <= _LARGEST_INT:
            return INT
        if value <= _LARGEST_BIGINT:
            return BIGINT
        return decimal(len(str(value)), 0) if len(str(value)) <= 38 else ANY
    if "e" in text or "E" in text:
        return DOUBLE
    whole, _, part = text.partition(".")
    if not (whole + part).isdecimal():
        return ANY
    digits = len((whole + part).lstrip("0")) or 1
    precision = max(digits, len(part))
    return decimal(precision, len(part)) if precision <= 38 else ANY


def is_typed_literal(node: Any) -> bool:
    """A cast that is how the parser writes a literal: `1L`, `2.5D`, `DATE '2026-01-01'`."""
    inner = node.this
    if type(inner) is not exp.Literal:
        return False
    if type(node) is exp.Cast:
        return bool(inner.args["is_string"]) and not node.meta.get("start")
    if node.args.get("safe") or "safe" in node.args:
        return False
    meta = inner.meta
    if not meta:
        return bool(inner.args["is_string"])
    # The token of `1L` is longer than its number.
    return not inner.args["is_string"] and meta["end"] - meta["start"] + 1 > len(inner.this)


def whole_digits(node: Any) -> int:
    """How many digits a whole number written in the query has; 0 for anything else."""
    what = type(node)
    while what is exp.Paren:
        node = node.this
        what = type(node)
    if what is exp.Neg:
        node = node.this
        what = type(node)
    if what is exp.TryCast and node.to.this in _WHOLE and is_typed_literal(node):
        node = node.this
        what = type(node)
    if what is not exp.Literal or node.args["is_string"] or not node.this.isdecimal():
        return 0
    return len(node.this.lstrip("0")) or 1


def interval_type(node: Any) -> DataType:
    """INTERVAL '1' DAY, INTERVAL '1-2' YEAR TO MONTH, INTERVAL '1 day 2 hours'."""
    unit = node.args.get("unit")
    if unit is None:
        return _units_in_text(node.this)
    inner = node.this
    if type(inner) is exp.Neg:
        inner = inner.this
    if type(inner) is not exp.Literal:
        return ANY
    if type(unit) is exp.IntervalSpan:
        return interval_of(unit.this.name, unit.expression.name) or ANY
    return interval_of(unit.name) or ANY


def _units_in_text(node: Any) -> DataType:
    if type(node) is not exp.Literal or not node.is_string:
        return ANY
    units = [word for word in node.this.lower().removeprefix("interval ").split() if word.isalpha()]
    return (interval_of(units[0], units[-1]) or ANY) if units else ANY


_SIMPLE: dict[Any, DataType] = {
    exp.DType.BIGINT: BIGINT,
    exp.DType.BINARY: BINARY,
    exp.DType.BOOLEAN: BOOLEAN,
    exp.DType.CHAR: STRING,
    exp.DType.DATE: DATE,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.FLOAT: FLOAT,
    exp.DType.INT: INT,
    exp.DType.INTERVAL: CALENDAR_INTERVAL,
    exp.DType.NULL: VOID,
    exp.DType.SMALLINT: SMALLINT,
    exp.DType.TEXT: STRING,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPLTZ: TIMESTAMP,
    exp.DType.TIMESTAMPNTZ: TIMESTAMP_NTZ,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.TINYINT: TINYINT,
    exp.DType.VARBINARY: BINARY,
    exp.DType.VARCHAR: STRING,
    exp.DType.VARIANT: VARIANT,
}


def declared_type(node: Any) -> DataType:
    """ANY for types that are not supported here: collations, TIME, geometries."""
    kind = node.this
    if node.args.get("collate"):
        return ANY
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple
    inner = node.args.get("expressions") or []
    if kind == exp.DType.DECIMAL:
        return _decimal(inner)
    if kind == exp.DType.ARRAY and len(inner) == 1:
        return array(declared_type(inner[0]))
    if kind == exp.DType.MAP and len(inner) == 2:
        return map_of(declared_type(inner[0]), declared_type(inner[1]))
    if kind == exp.DType.STRUCT:
        return _struct(inner)
    if type(kind) is exp.Interval:
        return _interval(kind.args.get("unit"))
    return ANY


def _decimal(params: list[Any]) -> DataType:
    numbers = [param.name for param in params]
    if not all(number.isdecimal() for number in numbers) or len(numbers) > 2:
        return ANY
    precision, scale = (*map(int, numbers), 0)[:2] if numbers else (10, 0)
    return decimal(precision, scale) if 0 < precision <= 38 and scale <= precision else ANY


def _struct(fields: list[Any]) -> DataType:
    if not all(type(field) is exp.ColumnDef for field in fields):
        return ANY
    return struct((field.name, declared_type(field.args["kind"])) for field in fields)


def _interval(unit: Any) -> DataType:
    if type(unit) is exp.IntervalSpan:
        return interval_of(unit.this.name, unit.expression.name) or ANY
    return (interval_of(unit.name) or ANY) if unit is not None else CALENDAR_INTERVAL


def field_type(kind: DataType, name: str) -> DataType | None:
    """The type of a field, of a map's value, or of a field in an array of structs; None where there is none."""
    match kind.kind:
        case "struct":
            return kind.field(name)
        case "map":
            value: DataType = kind.args[1]
            return value
        case "array":
            element: DataType = kind.args[0]
            if element.kind == "?":
                return ANY
            inner = element.field(name) if element.kind == "struct" else None
            return None if inner is None else array(inner)
        case _:
            return None


def any_nullable(flags: Iterable[bool | None]) -> bool | None:
    """Whether one of several values may be NULL; None where that is not certain."""
    distinct = set(flags)
    return True if True in distinct else None if None in distinct else False


def any_null(values: Sequence[Typed], target: DataType) -> bool | None:
    """Whether one of several values may be NULL once each is cast to a common type."""
    return any_nullable(cast_nullable(value, target) for value in values)


def all_null(values: Sequence[Typed], target: DataType) -> bool | None:
    """Whether all of several values may be NULL once each is cast to a common type."""
    flags = {cast_nullable(value, target) for value in values}
    return False if False in flags else None if None in flags else True


def cast_nullable(source: Typed, target: DataType, safe: bool = False) -> bool | None:
    """Whether a cast may give NULL; None where that is not certain."""
    if source.nullable or source.nullable is None:
        return source.nullable
    if safe:
        return None
    return None if source.type.kind == "?" or target.kind == "?" else cast_may_give_null(source.type, target)
