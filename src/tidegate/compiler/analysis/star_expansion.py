"""The columns that `*`, `t.*` and `s.*` stand for."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import EXPRESSION, Attribute, Frame, Lineage, Unknown, add_origins
from tidegate.compiler.analysis.scoping import QueryScope
from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.datatypes import DataType, struct
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["expanded", "is_star"]


def is_star(node: Any) -> bool:
    return type(node) is exp.Star or (type(node) is exp.Column and type(node.this) is exp.Star)


def expanded(node: Any, frame: Frame, scope: QueryScope) -> tuple[list[Attribute], Unknown | None]:
    """The columns in order, and whether there may be others."""
    if type(node) is exp.Star:
        star = node
        attributes, items = frame.attributes, frame.items
    else:
        star = node.this
        qualifier = tuple(part.name.lower() for part in node.parts[:-1])
        items = [item for item in frame.items if item.qualifier[-len(qualifier) :] == qualifier]
        if not items:
            return _fields(node, star, scope)
        attributes = frame.of_item(qualifier)
    unknown = [item for item in items if item.unknown is not None]
    for item in unknown:
        if item.is_source and not any(attribute.item is item for attribute in attributes):
            scope.report(
                "UnknownStar",
                f"the columns of {item.label} are not known, so neither are those of this *",
                node,
                "name the columns",
                DiagnosticSeverity.WARNING,
            )
    shown = [attribute.shown() for attribute in attributes]
    open_end = (unknown[0].unknown if len(unknown) == 1 else Unknown()) if unknown else None
    return _without(shown, star, open_end, scope), _certain(star, open_end)


def _certain(star: Any, unknown: Unknown | None) -> Unknown | None:
    """Spark knows no REPLACE and RENAME; what they would give is not guessed."""
    return Unknown() if star.args.get("replace") or star.args.get("rename") else unknown


def _fields(node: Any, star: Any, scope: QueryScope) -> tuple[list[Attribute], Unknown | None]:
    """`s.*` of a struct."""
    found = scope.resolve_parts(node.parts[:-1], node)
    kind = found.typed.type
    if found.attribute is None or not kind.known:
        return [], Unknown()
    if kind.kind != "struct":
        name = ".".join(part.name for part in node.parts[:-1])
        scope.report("UnknownField", f"'{name}.*' needs a struct or a table; '{name}' is {kind}", node)
        return [], Unknown()
    lineage: Lineage = {}
    add_origins(lineage, found.attribute.lineage, EXPRESSION)
    nullable = True if found.typed.nullable else None
    fresh = scope.work.fresh
    attributes = [Attribute(name, inner, nullable, lineage, next(fresh)) for name, inner in kind.args]
    return _without(attributes, star, None, scope), _certain(star, None)


def _without(attributes: list[Attribute], star: Any, unknown: Unknown | None, scope: QueryScope) -> list[Attribute]:
    """EXCEPT takes columns away, or fields of them."""
    for node in star.args.get("except_") or ():
        parts = [part.name for part in node.parts] if type(node) is exp.Column else [node.name]
        found, used = Frame(attributes).find(tuple(parts), scope.work.fresh)
        if not found:
            if unknown is None and all(attribute.name for attribute in attributes):
                hint = did_you_mean(nearest(parts[-1], (attribute.name for attribute in attributes)))
                scope.report("UnknownColumn", f"unknown column '{'.'.join(parts)}' in EXCEPT", node, hint)
            continue
        identities = {attribute.identity for attribute in found}
        if used == len(parts):
            attributes = [attribute for attribute in attributes if attribute.identity not in identities]
        else:
            fields = tuple(part.lower() for part in parts[used:])
            attributes = [_with_type(a, _less(a.type, fields)) if a.identity in identities else a for a in attributes]
    return attributes


def _with_type(attribute: Attribute, kind: DataType) -> Attribute:
    return Attribute(attribute.name, kind, attribute.nullable, attribute.lineage, attribute.identity, attribute.item)


def _less(kind: DataType, fields: tuple[str, ...]) -> DataType:
    if kind.kind != "struct":
        return kind
    if len(fields) == 1:
        return struct((name, inner) for name, inner in kind.args if name.lower() != fields[0])
    return struct((name, _less(inner, fields[1:]) if name.lower() == fields[0] else inner) for name, inner in kind.args)
