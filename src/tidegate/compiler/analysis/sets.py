"""UNION, INTERSECT and EXCEPT: names from the left, types that both sides can have."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import CAST, IDENTITY, Attribute, Lineage, Unknown, add_origins
from tidegate.compiler.analysis.coercion import widened
from tidegate.compiler.analysis.scoping import Result, Work
from tidegate.datatypes import ANY, DataType

__all__ = ["combined", "counted_columns", "is_comparable_in_rows"]


def combined(node: Any, left: Result, right: Result, work: Work) -> Result:
    word = _word(node)
    conditions = left.conditions | right.conditions
    known = left.unknown is None and right.unknown is None
    if node.args.get("by_name"):
        return Result(left.attributes, left.nodes, left.unknown or Unknown(), conditions)
    if known and len(left.attributes) != len(right.attributes):
        message = f"{word} of {counted_columns(len(left.attributes))} with {counted_columns(len(right.attributes))}"
        hint = "select the same number of columns on both sides"
        work.report("SetOperationColumns", message, right.nodes[0] if right.nodes else node.expression, hint)
        return Result(left.attributes, left.nodes, None, conditions)
    attributes = []
    for position, one in enumerate(left.attributes):
        other = right.attributes[position] if position < len(right.attributes) else None
        attributes.append(_column(node, word, one, other, right, position, work, known))
    # Rows that are equal on both sides, or twice, are told apart by all columns.
    if _compares(node):
        for one in (*left.attributes, *right.attributes):
            conditions.update(one.lineage)
    unknown = None if known else Unknown()
    return Result(attributes, left.nodes, unknown, conditions)


def _column(
    node: Any, word: str, one: Attribute, other: Attribute | None, right: Result, position: int, work: Work, known: bool
) -> Attribute:
    kind = widened(one.type, other.type) if known and other is not None else ANY
    if kind is None and other is not None:
        what = f"'{one.name}'" if one.name else f"column {position + 1}"
        message = f"{word}: {what} is {one.type} on the left and {other.type} on the right"
        work.report("SetOperationColumns", message, right.nodes[position], "cast one of them to the other's type")
    kind = kind or ANY
    if _has_map(kind) and _compares(node):
        message = f"{word} compares rows, and '{one.name}' is {kind}: maps cannot be compared"
        hint = "use UNION ALL" if isinstance(node, exp.Union) else "leave the column out"
        work.report("SetOperationColumns", message, right.nodes[position], hint)
    lineage: Lineage = {}
    add_origins(lineage, one.lineage, _step(one, kind))
    nullable = one.nullable
    if other is None:
        nullable = None
    elif isinstance(node, exp.Union):
        add_origins(lineage, other.lineage, _step(other, kind))
        nullable = True if one.nullable or other.nullable else _if_both_known(one, other, False)
    elif isinstance(node, exp.Intersect):
        nullable = False if one.nullable is False or other.nullable is False else _if_both_known(one, other, True)
    if nullable is False and other is not None and not (_stays(one, kind) and _stays(other, kind)):
        nullable = None
    return Attribute(one.name, kind, nullable, lineage, next(work.fresh), one.item)


def _compares(node: Any) -> bool:
    return not isinstance(node, exp.Union) or bool(node.args.get("distinct"))


def is_comparable_in_rows(kind: DataType) -> bool:
    """Whether rows with such a column can be told apart; what is not known can."""
    return kind.kind != "variant" and not _has_map(kind)


def _has_map(kind: DataType) -> bool:
    if kind.kind == "struct":
        return any(_has_map(inner) for _, inner in kind.args)
    return kind.kind == "map" or (kind.kind == "array" and _has_map(kind.args[0]))


def _step(one: Attribute, kind: DataType) -> int:
    return CAST if kind.known and one.type.known and kind != one.type else IDENTITY


def _stays(one: Attribute, kind: DataType) -> bool:
    """Casting it gives no nulls that were not there."""
    return one.type == kind or (one.type.is_numeric and kind.is_numeric)


def _if_both_known(one: Attribute, other: Attribute, value: bool) -> bool | None:
    return None if one.nullable is None or other.nullable is None else value


def _word(node: Any) -> str:
    return type(node).__name__.upper()


def counted_columns(number: int) -> str:
    return f"{number} column" if number == 1 else f"{number} columns"
