"""Columns and lineage written by hand, for tests of what is made of them."""

from __future__ import annotations

from tidegate.compiler.compiled import Edge, EdgeKind, Origin
from tidegate.datatypes import ANY, Column, Relation, parse_type

__all__ = ["edge", "relation"]


def relation(text: str, complete: bool = True) -> Relation:
    """`id bigint!, note string?, x`: never NULL, may be NULL, nothing known."""
    columns = []
    for item in filter(None, text.split(", ")):
        name, _, kind = item.partition(" ")
        nullable = {"!": False, "?": True}.get(kind[-1:])
        columns.append(Column(name, parse_type(kind.rstrip("!?")) or ANY, nullable))
    return Relation(tuple(columns), complete)


def edge(column: str, origin: str, kind: EdgeKind = EdgeKind.IDENTITY) -> Edge:
    """`origin` is `silver.orders.id` or `landing:orders.id`."""
    name, _, of = origin.rpartition(".")
    return Edge(column, Origin(name if ":" in name else f"shop.{name}", of), kind)
