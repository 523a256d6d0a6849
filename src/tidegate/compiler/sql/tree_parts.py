"""What an expression of a query holds, without the queries inside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.functions import is_aggregate, is_generator

__all__ = ["aggregates", "generates", "own_nodes"]


def own_nodes(tree: Any, kind: Any) -> Iterator[Any]:
    """Nodes of a kind, without those of queries inside."""
    if tree is None:
        return
    for node in tree.walk(prune=lambda node: isinstance(node, exp.Query)):
        if isinstance(node, kind):
            yield node


def aggregates(tree: Any) -> bool:
    """Outside of windows, of which it may be an argument."""
    if isinstance(tree, exp.Query):
        return False
    if isinstance(tree, exp.Window):
        inner = tree.this
        return any(aggregates(child) for child in inner.iter_expressions()) or any(
            aggregates(child) for key, child in tree.args.items() if key != "this" and isinstance(child, exp.Expr)
        )
    if is_aggregate(tree):
        return True
    return any(aggregates(child) for child in tree.iter_expressions())


def generates(tree: Any) -> bool:
    return any(is_generator(node) for node in own_nodes(tree, exp.Expr))
