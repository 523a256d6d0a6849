"""Errors for names that are unknown, ambiguous, or no field of a struct, with suggestions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidegate.compiler.analysis.attributes import Attribute, FromItem
from tidegate.datatypes import DataType
from tidegate.names import nearest
from tidegate.problems import did_you_mean

if TYPE_CHECKING:
    from tidegate.compiler.analysis.scoping import QueryScope

__all__ = ["report_ambiguous", "report_field", "report_unknown"]

_SHOWN = 8


def report_field(scope: QueryScope, kind: DataType, part: Any, parts: list[Any]) -> None:
    name = str(part.this)
    holder = kind.args[0] if kind.kind == "array" else kind
    if holder.kind != "struct":
        message = f"'{_before(parts, part)}' has no field '{name}': it is {kind}, not a struct"
        scope.report("UnknownField", message, part)
        return
    fields = [field for field, _ in holder.args]
    hint = did_you_mean(nearest(name, fields)) or f"it has {_listed(fields)}"
    scope.report("UnknownField", f"'{_before(parts, part)}' has no field '{name}'", part, hint)


def report_ambiguous(scope: QueryScope, names: tuple[str, ...], candidates: list[Attribute], node: Any) -> None:
    labels = list(dict.fromkeys(a.item.label for a in candidates if a.item and a.item.label))
    name = names[-1]
    if len(labels) > 1:
        who = f"{', '.join(labels[:-1])} and {labels[-1]} have it"
        hint = f"write {' or '.join(f'{label}.{name}' for label in labels)}"
    else:
        who = f"{labels[0] if labels else 'the query here'} has it {len(candidates)} times"
        hint = "give the columns different names where they are selected"
    scope.report("AmbiguousColumn", f"ambiguous column '{'.'.join(names)}': {who}", node, hint)


def report_unknown(scope: QueryScope, names: tuple[str, ...], node: Any) -> None:
    items = list(dict.fromkeys(_items(scope)))
    if len(names) > 1:
        _report_qualified(scope, names, items, node)
        return
    labels = [item.label for item in items if item.qualifier] or [item.label for item in items if item.label]
    if not items:
        where = "the query reads no table here"
    elif len(labels) == 1:
        where = f"{labels[0]} has no such column"
    elif labels:
        where = f"none of {', '.join(labels)} has it"
    else:
        where = "the query in FROM has no such column"
    only = _what_it_has(scope, items[0]) if len(items) == 1 else None
    scope.report("UnknownColumn", f"unknown column '{names[0]}': {where}", node, _meant(scope, names[0]) or only)


def _report_qualified(scope: QueryScope, names: tuple[str, ...], items: list[FromItem], node: Any) -> None:
    written = ".".join(names)
    for length in range(min(len(names) - 1, 3), 0, -1):
        prefix = tuple(part.lower() for part in names[:length])
        own = next((item for item in items if item.qualifier[-length:] == prefix), None)
        if own is not None:
            near = nearest(names[length], _columns_of(scope, own))
            hint = did_you_mean(tuple(".".join((*names[:length], column)) for column in near))
            message = f"unknown column '{written}': {own.label} has no such column"
            scope.report("UnknownColumn", message, node, hint or _what_it_has(scope, own))
            return
    holders = [i.label for i in items if i.label and names[-1].lower() in map(str.lower, _columns_of(scope, i))]
    near = nearest(names[0], holders) or tuple(holders[:3])
    hint = did_you_mean(tuple(f"{label}.{names[-1]}" for label in near))
    message = f"unknown column '{written}': there is no table or column '{names[0]}' here"
    scope.report("UnknownColumn", message, node, hint)


def _meant(scope: QueryScope, name: str) -> str | None:
    """Similar column names, qualified where several tables have them."""
    holders: dict[str, list[Attribute]] = {}
    place: QueryScope | None = scope
    while place is not None:
        for attribute in (a for frame in place.frames for a in frame.attributes if not a.hidden):
            known = holders.setdefault(attribute.name, [])
            if all(attribute.identity != other.identity for other in known):
                known.append(attribute)
        place = place.outer
    names: list[str] = []
    for near in nearest(name, (own for own in holders if own)):
        owners = holders[near]
        labels = [a.item.label for a in owners if a.item and a.item.label]
        names += [near] if len(owners) == 1 or not labels else [f"{label}.{near}" for label in labels]
    return did_you_mean(tuple(names[:3]))


def _items(scope: QueryScope) -> Iterator[FromItem]:
    place: QueryScope | None = scope
    while place is not None:
        for frame in place.frames:
            yield from frame.items
        place = place.outer


def _columns_of(scope: QueryScope, item: FromItem) -> list[str]:
    place: QueryScope | None = scope
    names: list[str] = []
    while place is not None:
        names += [a.name for frame in place.frames for a in frame.all_attributes() if a.item is item and a.name]
        place = place.outer
    return names


def _what_it_has(scope: QueryScope, item: FromItem) -> str | None:
    names = _columns_of(scope, item)
    return f"it has {_listed(names)}" if names else None


def _before(parts: list[Any], part: Any) -> str:
    return ".".join(str(p.this) for p in parts[: next(i for i, p in enumerate(parts) if p is part)])


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
