"""The columns visible at a place in a query, with their tables and their lineage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tidegate.compiler.analysis.expressions.typed import field_type
from tidegate.compiler.compiled import EdgeKind
from tidegate.datatypes import ANY, DataType

__all__ = [
    "AGGREGATION",
    "CAST",
    "CONDITION",
    "EXPRESSION",
    "IDENTITY",
    "KINDS",
    "WINDOW",
    "Attribute",
    "Frame",
    "FromItem",
    "Lineage",
    "Unknown",
    "add_origin",
    "add_origins",
]

KINDS = tuple(EdgeKind)
IDENTITY, CAST, EXPRESSION, AGGREGATION, WINDOW, CONDITION = range(6)

_Origin = tuple[str, str]
Lineage = dict[_Origin, int]
"""(table, column) → how a value comes from it, as an index into KINDS."""


def add_origin(into: Lineage, origin: _Origin, kind: int) -> None:
    """A condition gives way to any other kind; of the others the least direct is kept."""
    before = into.get(origin)
    if before is None or before == CONDITION or before < kind < CONDITION:
        into[origin] = kind


def add_origins(into: Lineage, lineage: Lineage, step: int) -> None:
    """Add the origins of a value after one more step: a path is as direct as its least direct step."""
    for origin, kind in lineage.items():
        add_origin(into, origin, kind if kind > step else step)


class Unknown(NamedTuple):
    """Marks that there may be other columns; with a `key` they are columns of that table, by the same names."""

    key: str | None = None


class FromItem:
    """A table, subquery or function in FROM.

    `label`: its name in messages.
    `qualifier`: the parts that its columns may be qualified by, in lower case.
    `unknown`: it may have other columns.
    `is_source`: it is a table whose unknown columns are reported.
    `is_vague`: the name of one of its columns is not known.
    `is_untyped`: its columns are known only by the names after its alias.
    `node`: its node in the tree.
    """

    __slots__ = ("is_source", "is_untyped", "is_vague", "label", "node", "qualifier", "unknown")

    def __init__(
        self,
        label: str,
        qualifier: tuple[str, ...],
        unknown: Unknown | None,
        is_source: bool = False,
        is_vague: bool = False,
    ) -> None:
        self.label = label
        self.qualifier = qualifier
        self.unknown = unknown
        self.is_source = is_source
        self.is_vague = is_vague
        self.is_untyped = False
        self.node: Any = None


class Attribute:
    """One visible column. Two with the same `identity` are the same column, however often it is selected.

    Not frozen: a later outer join makes columns nullable, and USING hides some.
    """

    __slots__ = ("folded", "hidden", "identity", "item", "lineage", "name", "nullable", "type")

    def __init__(
        self,
        name: str,
        type: DataType,
        nullable: bool | None,
        lineage: Lineage,
        identity: int,
        item: FromItem | None = None,
    ) -> None:
        self.name = name
        self.folded = name.lower()
        self.type = type
        self.nullable = nullable
        self.lineage = lineage
        self.identity = identity
        self.item = item
        self.hidden = False

    def unhidden(self) -> Attribute:
        """The same column, reachable without the name of its table."""
        if not self.hidden:
            return self
        return Attribute(self.name, self.type, self.nullable, self.lineage, self.identity, self.item)

    def named(self, name: str) -> Attribute:
        if name == self.name:
            return self
        return Attribute(name, self.type, self.nullable, self.lineage, self.identity, self.item)


class Frame:
    """Columns in order, with an index by name. A hidden column needs the name of its table."""

    __slots__ = ("attributes", "items", "named")

    def __init__(self, attributes: Iterable[Attribute] = (), items: Iterable[FromItem] = ()) -> None:
        self.attributes: list[Attribute] = []
        self.items: list[FromItem] = list(items)
        self.named: dict[str, list[Attribute]] = {}
        for attribute in attributes:
            self.add(attribute)

    def add(self, attribute: Attribute) -> None:
        self.attributes.append(attribute)
        self.index(attribute)

    def index(self, attribute: Attribute) -> None:
        known = self.named.get(attribute.folded)
        if known is None:
            self.named[attribute.folded] = [attribute]
        else:
            known.append(attribute)

    def take(self, other: Frame) -> None:
        """Append all columns and items of `other`."""
        self.attributes += other.attributes
        self.items += other.items
        for name, attributes in other.named.items():
            known = self.named.get(name)
            if known is None:
                self.named[name] = attributes
            else:
                self.named[name] = known + attributes

    def copy(self) -> Frame:
        copied = Frame()
        copied.attributes = self.attributes.copy()
        copied.items = self.items.copy()
        copied.named = {name: attributes.copy() for name, attributes in self.named.items()}
        return copied

    def all_attributes(self) -> Iterable[Attribute]:
        """Hidden columns included."""
        return (attribute for attributes in self.named.values() for attribute in attributes)

    def unknown_items(self) -> list[FromItem]:
        """Items that may have columns that are not known."""
        return [item for item in self.items if item.unknown is not None]

    def doubtful_items(self) -> list[FromItem]:
        """Items that may have a column whose name is not known."""
        return [item for item in self.items if item.unknown is not None or item.is_vague]

    def of_item(self, qualifier: tuple[str, ...]) -> list[Attribute]:
        """The columns of the items with this qualifier, hidden ones first as in Spark."""
        length = len(qualifier)
        hidden = [a for a in self.all_attributes() if a.hidden and a.item and a.item.qualifier[-length:] == qualifier]
        return hidden + [a for a in self.attributes if a.item and a.item.qualifier[-length:] == qualifier]

    def find(self, parts: tuple[str, ...], new_ids: Iterable[int]) -> tuple[list[Attribute], int]:
        """The columns that a name may mean, and how many of its parts that takes; the rest are fields.

        The longest qualifier is tried first. A name qualified by a table with unknown columns is assumed to be one of
        them, unless a column can have it as a field.
        """
        if len(parts) == 1:
            matches = self.named.get(parts[0].lower())
            if matches is None:
                return [], 1
            if len(matches) == 1 and not matches[0].hidden:
                return matches, 1
            return _distinct([a for a in matches if not a.hidden]), 1
        folded = tuple(part.lower() for part in parts)
        doubtful = self._doubtful(folded)
        for hidden in (False, True):
            matches, used = self._find_qualified(folded, hidden)
            if matches and (doubtful is None or used > 1 or any(_may_have(folded[1], a) for a in matches)):
                return _distinct(matches), used
        if doubtful is not None:
            item, length = doubtful
            return [self.assume(parts[length], item, new_ids)], length + 1
        return [], 1

    def _doubtful(self, folded: tuple[str, ...]) -> tuple[FromItem, int] | None:
        """The table with unknown columns that qualifies the name, and the length of the qualifier."""
        for length in range(min(len(folded) - 1, 3), 0, -1):
            for item in self.doubtful_items():
                if item.qualifier[-length:] == folded[:length]:
                    return item, length
        return None

    def _find_qualified(self, folded: tuple[str, ...], hidden: bool) -> tuple[list[Attribute], int]:
        for length in range(min(len(folded) - 1, 3), 0, -1):
            prefix = folded[:length]
            matches = [
                attribute
                for attribute in self.named.get(folded[length], ())
                if attribute.hidden is hidden and attribute.item and attribute.item.qualifier[-length:] == prefix
            ]
            if matches:
                return matches, length + 1
        return ([] if hidden else [a for a in self.named.get(folded[0], ()) if not a.hidden]), 1

    def assume(self, name: str, item: FromItem, new_ids: Iterable[int]) -> Attribute:
        """Add a column that `item` must have if the query is valid."""
        key = item.unknown.key if item.unknown else None
        lineage: Lineage = {} if key is None else {(key, name): IDENTITY}
        attribute = Attribute(name, ANY, None, lineage, next(iter(new_ids)), item)
        self.index(attribute)
        return attribute


def _may_have(field: str, attribute: Attribute) -> bool:
    if attribute.type.kind in ("?", "variant", "void"):
        return attribute.item is None or not attribute.item.is_untyped
    return field_type(attribute.type, field) is not None


def _distinct(attributes: list[Attribute]) -> list[Attribute]:
    if len(attributes) < 2:
        return attributes
    return list({attribute.identity: attribute for attribute in reversed(attributes)}.values())[::-1]
