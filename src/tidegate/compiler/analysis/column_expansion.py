"""The columns that `*`, `t.*` and `s.*` stand for, and those that PIVOT and UNPIVOT make."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from tidegate.compiler.analysis.attributes import (
    AGGREGATION,
    CAST,
    CONDITION,
    EXPRESSION,
    IDENTITY,
    Attribute,
    Frame,
    FromItem,
    Lineage,
    Unknown,
    add_origin,
    add_origins,
)
from tidegate.compiler.analysis.coercion import common_type
from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.typed import any_nullable
from tidegate.compiler.analysis.generated_names import generated_name
from tidegate.compiler.analysis.scoping import QueryScope
from tidegate.compiler.analysis.tracing import trace
from tidegate.compiler.compiled import DiagnosticSeverity
from tidegate.datatypes import ANY, STRING, DataType, struct
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["expand_star", "pivot_columns"]


def expand_star(node: Any, frame: Frame, scope: QueryScope) -> tuple[list[Attribute], Unknown | None]:
    """The columns of a star in order, and whether there may be others."""
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
    visible = [attribute.unhidden() for attribute in attributes]
    open_end = (unknown[0].unknown if len(unknown) == 1 else Unknown()) if unknown else None
    return _without(visible, star, open_end, scope), _certain(star, open_end)


def _certain(star: Any, unknown: Unknown | None) -> Unknown | None:
    """Spark has no * REPLACE and * RENAME, so their columns are unknown."""
    return Unknown() if star.args.get("replace") or star.args.get("rename") else unknown


def _fields(node: Any, star: Any, scope: QueryScope) -> tuple[list[Attribute], Unknown | None]:
    """`s.*` of a struct."""
    resolved = scope.resolve_parts(node.parts[:-1], node)
    kind = resolved.typed.type
    if resolved.attribute is None or not kind.known:
        return [], Unknown()
    if kind.kind != "struct":
        name = ".".join(part.name for part in node.parts[:-1])
        scope.report("UnknownField", f"'{name}.*' needs a struct or a table; '{name}' is {kind}", node)
        return [], Unknown()
    lineage: Lineage = {}
    add_origins(lineage, resolved.attribute.lineage, EXPRESSION)
    nullable = True if resolved.typed.nullable else None
    new_ids = scope.context.new_ids
    attributes = [Attribute(name, inner, nullable, lineage, next(new_ids)) for name, inner in kind.args]
    return _without(attributes, star, None, scope), _certain(star, None)


def _without(attributes: list[Attribute], star: Any, unknown: Unknown | None, scope: QueryScope) -> list[Attribute]:
    """The columns without those, or those fields of structs, that EXCEPT names."""
    for node in star.args.get("except_") or ():
        parts = [part.name for part in node.parts] if type(node) is exp.Column else [node.name]
        matches, used = Frame(attributes).find(tuple(parts), scope.context.new_ids)
        if not matches:
            if unknown is None and all(attribute.name for attribute in attributes):
                hint = did_you_mean(nearest(parts[-1], (attribute.name for attribute in attributes)))
                scope.report("UnknownColumn", f"unknown column '{'.'.join(parts)}' in EXCEPT", node, hint)
            continue
        identities = {attribute.identity for attribute in matches}
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


def pivot_columns(frame: Frame, pivot: Any, scope: QueryScope, conditions: set[tuple[str, str]]) -> Frame:
    """The columns after a PIVOT or UNPIVOT of `frame`."""
    fields: list[Any] = pivot.args.get("fields") or []
    if len(fields) != 1 or type(fields[0]) is not exp.In:
        return Frame((), [FromItem("", (), Unknown())])
    inner = scope.with_frames(frame)
    if pivot.args.get("unpivot"):
        return _unpivoted(frame, pivot, fields[0], inner)
    lineages = []
    used: set[int] = set()
    for node in pivot.expressions:
        lineage: Lineage = {}
        trace(node, inner, lineage, AGGREGATION)
        lineages.append(lineage)
        used |= _identities(node, inner)
    decides: Lineage = {}
    trace(fields[0].this, inner, decides, CONDITION)
    used |= _identities(fields[0].this, inner)
    unused = [a for a in frame.attributes if a.identity not in used]
    for attribute in unused:
        conditions.update(attribute.lineage)
    conditions.update(decides)
    item = FromItem("", (), _unknown(frame))
    attributes = list(unused)
    types = [type_of(node, inner).type for node in pivot.expressions]
    names = [node.alias or generated_name(node, inner) for node in pivot.expressions]
    for value in fields[0].expressions:
        label = value.alias or _text(value)
        for name, kind, lineage in zip(names, types, lineages, strict=True):
            whole = label if len(names) == 1 else f"{label}_{name}" if label and name else ""
            both = dict(lineage)
            for origin in decides:
                add_origin(both, origin, CONDITION)
            attributes.append(Attribute(whole, kind, True, both, next(scope.context.new_ids), item))
            item.is_vague = item.is_vague or not whole
    return Frame(attributes, [*(i for i in frame.items if i.unknown is None), item])


def _unpivoted(frame: Frame, pivot: Any, field: Any, scope: QueryScope) -> Frame:
    """A column with the names of the unpivoted columns, and one or more with their values, in place of them."""
    names = [n.name for e in pivot.expressions for n in (e.expressions if type(e) is exp.Tuple else [e])]
    rows = [_columns(value.this if type(value) is exp.PivotAlias else value) for value in field.expressions]
    used = {identity for row in rows for node in row for identity in _identities(node, scope)}
    alias = pivot.alias
    item = FromItem(alias, (alias.lower(),) if alias else (), _unknown(frame))
    new_ids = scope.context.new_ids
    attributes = [a for a in frame.attributes if a.identity not in used]
    if alias:
        attributes = [Attribute(a.name, a.type, a.nullable, a.lineage, a.identity, item) for a in attributes]
    attributes.append(Attribute(field.this.name, STRING, False, {}, next(new_ids), item))
    for position, name in enumerate(names):
        values = [scope.resolve(row[position]) for row in rows if position < len(row)]
        kind = _one_type([value.typed.type for value in values])
        nullable = any_nullable(value.typed.nullable for value in values)
        lineage: Lineage = {}
        for value in values:
            if value.attribute is not None:
                add_origins(lineage, value.attribute.lineage, IDENTITY if value.typed.type == kind else CAST)
        attributes.append(Attribute(name, kind, nullable, lineage, next(new_ids), item))
    return Frame(attributes, [item] if alias else [*(i for i in frame.items if i.unknown is None), item])


def _one_type(types: list[DataType]) -> DataType:
    first = types[0] if types else ANY
    for other in types[1:]:
        if other == first:
            continue
        first = (common_type(first, other) or ANY) if first.is_numeric and other.is_numeric else ANY
    return first


def _columns(value: Any) -> list[Any]:
    return list(value.expressions) if type(value) is exp.Tuple else [value]


def _identities(node: Any, scope: QueryScope) -> set[int]:
    attributes = (scope.resolve(column).attribute for column in node.find_all(exp.Column))
    return {attribute.identity for attribute in attributes if attribute is not None}


def _unknown(frame: Frame) -> Unknown | None:
    unknown = frame.unknown_items()
    return (unknown[0].unknown if len(unknown) == 1 else Unknown()) if unknown else None


def _text(value: Any) -> str:
    """The name of the column for a pivoted value; empty where it is not certain."""
    if type(value) is exp.Literal:
        text = str(value.this)
        return text if value.is_string or text.isdigit() else ""
    if type(value) is exp.Boolean:
        return "true" if value.this else "false"
    if type(value) is exp.Tuple:
        parts = [_text(part) for part in value.expressions]
        return "{" + ", ".join(parts) + "}" if all(parts) else ""
    return ""
