"""The columns that a place in a query can see: which table each is of, and which columns outside it comes from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

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
"""How a value comes from (table, column), as an index into KINDS."""


def add_origin(into: Lineage, origin: _Origin, kind: int) -> None:
    """What a value is made of goes before what decides it; of several ways, the least plain is told."""
    known = into.get(origin)
    if known is None or known == CONDITION or known < kind < CONDITION:
        into[origin] = kind


def add_origins(into: Lineage, lineage: Lineage, step: int) -> None:
    """Adds a value's origins, one step further: a path is as plain as its least plain step."""
    for origin, kind in lineage.items():
        add_origin(into, origin, kind if kind > step else step)


class Unknown(NamedTuple):
    """There may be other columns. With a `key` they are, by the same names, those of that table."""

    key: str | None = None


class FromItem:
    """Something that FROM names. `qualifier`: the parts that its columns may be qualified by, lower case.

    `is_vague`: it is not known what one of its columns is called.
    """

    __slots__ = ("is_source", "is_vague", "label", "qualifier", "unknown")

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


class Attribute:
    """One column in sight. Two with the same `identity` are the same column, however often it is selected.

    Not frozen: an outer join further on makes columns nullable that are already in sight, and a USING hides some.
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
        """The same without the rule that only its table's name leads to it."""
        if not self.hidden:
            return self
        return Attribute(self.name, self.type, self.nullable, self.lineage, self.identity, self.item)

    def named(self, name: str) -> Attribute:
        if name == self.name:
            return self
        return Attribute(name, self.type, self.nullable, self.lineage, self.identity, self.item)


class Frame:
    """Columns in order, with an index by name. Hidden ones can be reached only with their table's name."""

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
        """Everything of `other` to the right of what is here."""
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
        """With the hidden ones."""
        return (attribute for attributes in self.named.values() for attribute in attributes)

    def unknown_items(self) -> list[FromItem]:
        """Those that may have other columns than are known."""
        return [item for item in self.items if item.unknown is not None]

    def doubtful_items(self) -> list[FromItem]:
        """Those that may have a column of a name that is not known here."""
        return [item for item in self.items if item.unknown is not None or item.is_vague]

    def of_item(self, qualifier: tuple[str, ...]) -> list[Attribute]:
        """The columns of the items so qualified: hidden ones first, as Spark has it."""
        length = len(qualifier)
        hidden = [a for a in self.all_attributes() if a.hidden and a.item and a.item.qualifier[-length:] == qualifier]
        return hidden + [a for a in self.attributes if a.item and a.item.qualifier[-length:] == qualifier]

    def find(self, parts: tuple[str, ...], new_ids: Iterable[int]) -> tuple[list[Attribute], int]:
        """The columns that a name may mean, and how many of its parts that takes; the rest are fields of it.

        The longest qualifier is tried first. A name qualified by a table of which not everything is known is taken for
        a column of it.
        """
        if len(parts) == 1:
            found = self.named.get(parts[0].lower())
            if found is None:
                return [], 1
            if len(found) == 1 and not found[0].hidden:
                return found, 1
            return _distinct([a for a in found if not a.hidden]), 1
        folded = tuple(part.lower() for part in parts)
        for hidden in (False, True):
            found, used = self._find_qualified(folded, hidden)
            if found:
                return _distinct(found), used
        for length in range(min(len(parts) - 1, 3), 0, -1):
            for item in self.items:
                doubtful = item.unknown is not None or item.is_vague
                if doubtful and item.qualifier[-length:] == folded[:length]:
                    return [self.assume(parts[length], item, new_ids)], length + 1
        return [], 1

    def _find_qualified(self, folded: tuple[str, ...], hidden: bool) -> tuple[list[Attribute], int]:
        for length in range(min(len(folded) - 1, 3), 0, -1):
            prefix = folded[:length]
            found = [
                attribute
                for attribute in self.named.get(folded[length], ())
                if attribute.hidden is hidden and attribute.item and attribute.item.qualifier[-length:] == prefix
            ]
            if found:
                return found, length + 1
        return ([] if hidden else [a for a in self.named.get(folded[0], ()) if not a.hidden]), 1

    def assume(self, name: str, item: FromItem, new_ids: Iterable[int]) -> Attribute:
        """A column that `item` must have if the query is right."""
        key = item.unknown.key if item.unknown else None
        lineage: Lineage = {} if key is None else {(key, name): IDENTITY}
        attribute = Attribute(name, ANY, None, lineage, next(iter(new_ids)), item)
        self.index(attribute)
        return attribute


def _distinct(attributes: list[Attribute]) -> list[Attribute]:
    if len(attributes) < 2:
        return attributes
    return list({attribute.identity: attribute for attribute in reversed(attributes)}.values())[::-1]
