"""Whether a query gives the same values, to the last bit, each time it is computed over the same rows.

A sum of floating numbers depends on the order in which they are added, and the row that a window puts first on the
order of equal ones. Where rows are found, or answers compared, by what was computed another time, that counts.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions.lookup import is_aggregate
from tidegate.compiler.analysis.scoping import NOT_FOUND, AnalysisContext
from tidegate.datatypes import DataType

__all__ = ["gives_same_again", "may_be_constant"]

_BY_ORDER = (exp.Window, exp.Limit, exp.Offset, exp.Lambda, exp.TableSample)
_ADDED_UP = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Distinct, exp.Case, exp.If),
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Coalesce, exp.Cast, exp.DataType, exp.DataTypeParam),
    *(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.And, exp.Or, exp.Not, exp.Is, exp.Between, exp.In),
)
"""What makes no floating number of exact ones."""


def gives_same_again(tree: Any, names: AnalysisContext) -> bool:
    return all(_is_exact(node, names) for node in tree.walk())


def may_be_constant(query: Any, names: AnalysisContext) -> bool:
    """Whether its one value can be compared with the one before, and does not change with every row of a table."""
    moving = query.find(exp.Count, exp.Sum, exp.Avg) is not None and query.find(exp.Where, exp.Having) is None
    return not moving and gives_same_again(query, names)


def _is_exact(node: Any, names: AnalysisContext) -> bool:
    if isinstance(node, _BY_ORDER):
        return False
    if isinstance(node, exp.Select):
        result = names.results.get(id(node))
        return result is not None and all(_has_one_form(attribute.type) for attribute in result.attributes)
    if isinstance(node, exp.Column):
        resolved = names.columns.get(id(node), NOT_FOUND)
        return isinstance(node.this, exp.Star) or _has_one_form(resolved.typed.type)
    return not is_aggregate(node) or _is_exact_aggregate(node, names)


def _has_one_form(kind: DataType) -> bool:
    return kind.known and not kind.contains("float", "double", "map", "variant", "interval")


def _is_exact_aggregate(node: Any, names: AnalysisContext) -> bool:
    if isinstance(node, exp.Count | exp.Min | exp.Max | exp.Filter):
        return True
    if isinstance(node, exp.Avg):
        return isinstance(node.this, exp.Column) and _kind_of(node.this, names) == "decimal"
    return isinstance(node, exp.Sum) and all(_adds_up(part) for part in node.this.walk())


def _kind_of(column: Any, names: AnalysisContext) -> str:
    return names.columns.get(id(column), NOT_FOUND).typed.type.kind


def _adds_up(node: Any) -> bool:
    if isinstance(node, exp.Cast):
        return node.to.this not in (exp.DType.FLOAT, exp.DType.DOUBLE)
    if isinstance(node, exp.Literal):
        return node.is_string or "e" not in node.name.lower()
    return isinstance(node, _ADDED_UP)
