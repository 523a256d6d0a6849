"""By which columns the rows of a result can be found and replaced, and whether they identify its rows.

Columns K of a block can be such a region if its rows with K = k depend only on joined rows with K = k: K is made of
what a GROUP BY groups by, and of what every window is partitioned by.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.sql_text import key_of
from tidegate.planner.deltas.blocks import Base, Block, BlockItem, JoinLink, LiteralRows, Relation, SetOperation, Value

__all__ = [
    "by_values",
    "candidates",
    "commutes",
    "is_unique",
    "only_inexact",
    "owner_of",
    "touchable",
    "what_forbids",
    "why_untouchable",
]

_INEXACT = re.compile("float|double|map|variant")


def commutes(block: Block, value: Value) -> bool:
    """Whether choosing joined rows by this value chooses rows of the result by it."""
    return value.flaw is None and all(_is_one_for(block, value, keys) for keys in _required(block))


def only_inexact(block: Block, value: Value) -> bool:
    """Whether nothing but the type of what it is made of keeps it from choosing rows of the result."""
    made = value.flaw is None and all(_made_of(value.tree, keys) for keys in _required(block))
    return made and not commutes(block, value)


def _is_one_for(block: Block, value: Value, keys: frozenset[str]) -> bool:
    """Whether rows with the same `keys` have the same value."""
    return value.key in keys or (_made_of(value.tree, keys) and _are_exact(block, value))


def _are_exact(block: Block, value: Value) -> bool:
    """Whether its columns have no two values that are equal and yet not the same, as 0.0 and -0.0 are as text."""
    types = (_column_type(block.items[i].relation, column) for i, column in value.columns)
    return all(found is not None and not _INEXACT.search(found) for found in types)


def _required(block: Block) -> Iterator[frozenset[str]]:
    if block.group is not None:
        yield block.group
    for window in block.windows:
        yield window.partition


def _made_of(tree: Any, keys: frozenset[str]) -> bool:
    if key_of(tree) in keys:
        return True
    if isinstance(tree, exp.Column | exp.Query | exp.Star):
        return False
    return all(_made_of(child, keys) for child in tree.iter_expressions())


def what_forbids(block: Block, name: str, value: Value) -> str:
    """Why its rows cannot be found by this output."""
    if value.flaw is not None:
        return f"the column {name}, which is {value.flaw}"
    if block.group is not None and not _is_one_for(block, value, block.group):
        return f"GROUP BY without {name}"
    for window in block.windows:
        if not _is_one_for(block, value, window.partition):
            return f"{window.text} not partitioned by {name}"
    return f"{name} of a subquery"


def touchable(relation: Relation, column: str) -> bool:
    """Whether the values of this column that a change touches can be found."""
    if not relation.changed or isinstance(relation, Base | LiteralRows):
        return True
    if relation.obstacle is not None:
        return False
    place = _place(relation, column)
    if isinstance(relation, SetOperation):
        return all(touchable(side, side.columns[place]) for side in (relation.left, relation.right))
    value = relation.outputs[place].value
    return commutes(relation, value) and all(touchable(relation.items[i].relation, name) for i, name in value.columns)


def why_untouchable(relation: Relation, column: str) -> str:
    """Why `touchable` is False."""
    if isinstance(relation, Block | SetOperation) and relation.obstacle is not None:
        return relation.obstacle
    if isinstance(relation, SetOperation):
        place = _place(relation, column)
        sides = (relation.left, relation.right)
        return next(why_untouchable(s, s.columns[place]) for s in sides if not touchable(s, s.columns[place]))
    if isinstance(relation, Block):
        output = relation.outputs[_place(relation, column)]
        if not commutes(relation, output.value):
            return what_forbids(relation, output.name, output.value)
        for i, name in sorted(output.value.columns):
            if not touchable(relation.items[i].relation, name):
                return why_untouchable(relation.items[i].relation, name)
    return f"the column {column} of a subquery"


def _place(relation: Relation, column: str) -> int:
    return [name.lower() for name in relation.columns].index(column.lower())


def owner_of(block: Block, values: list[Value]) -> int | None:
    """The item whose rows decide these values, and which every joined row has."""
    owners = frozenset().union(*(value.items for value in values))
    if len(owners) != 1:
        return None
    (owner,) = owners
    return None if block.items[owner].nullable else owner


def candidates(relation: Relation) -> list[tuple[int, ...]]:
    """Regions that follow from the query itself, as positions of its columns, the best first."""
    found: list[tuple[int, ...]] = []
    if isinstance(relation, Base):
        found = [_places(relation, names) for names in relation.facts.unique]
    elif isinstance(relation, SetOperation):
        for side in (relation.left, relation.right):
            found += candidates(side)
        if relation.distinct:
            found.append(tuple(range(len(relation.columns))))
        found = [tuple(p for p in region if _both_vary(relation, p)) for region in found]
    elif isinstance(relation, Block):
        found = _of_block(relation)
    return list(dict.fromkeys(region for region in found if region))


def _of_block(block: Block) -> list[tuple[int, ...]]:
    fits = [
        place
        for place, output in enumerate(block.outputs)
        if output.value.columns
        and commutes(block, output.value)
        and all(touchable(block.items[i].relation, name) for i, name in output.value.columns)
    ]
    found: list[tuple[int, ...]] = []
    if block.group is None:
        for i, item in sorted(enumerate(block.items), key=lambda pair: pair[1].nullable):
            if item.is_joined:
                found += _carried(block, i, item)
    if block.group is not None or block.windows or block.distinct:
        found.append(tuple(fits))
        # A region of one item's columns is wider, and may be found where that of several cannot.
        for i in range(len(block.items)):
            found.append(tuple(p for p in fits if block.outputs[p].value.items == {i}))
    return [region for region in found if set(region) <= set(fits)]


def by_values(relation: Relation) -> Iterator[tuple[int, ...]]:
    """Regions of rows that nothing identifies: those with the same values in all columns, or in those of one item.

    They may be many for one changed row, so these regions are the last to try.
    """
    low = [name.lower() for name in relation.columns]
    fits = [place for place, name in enumerate(low) if low.count(name) == 1 and _is_found_by_value(relation, place)]
    yield tuple(fits)
    if isinstance(relation, Block):
        for i in range(len(relation.items)):
            yield tuple(place for place in fits if relation.outputs[place].value.items == {i})


def _is_found_by_value(relation: Relation, place: int) -> bool:
    """Whether the column varies, rows can be grouped by it, and the values that a change touches can be found."""
    match relation:
        case Base():
            kind = relation.facts.types.get(relation.columns[place].lower())
            return kind is not None and re.search("map|variant|{", kind) is None
        case Block() if relation.obstacle is None:
            output = relation.outputs[place]
            comparable = (
                not output.is_unnamed and output.type.known and not output.type.contains("map", "variant", "interval")
            )
            return comparable and bool(output.value.columns) and touchable(relation, output.name)
        case SetOperation() if relation.obstacle is None:
            return all(_is_found_by_value(side, place) for side in (relation.left, relation.right))
    return False


def _carried(block: Block, i: int, item: BlockItem) -> Iterator[tuple[int, ...]]:
    """Regions of an item whose columns the block outputs unchanged."""
    given = {output.value.plain: place for place, output in reversed(list(enumerate(block.outputs)))}
    for region in candidates(item.relation):
        places = [given.get((i, item.relation.columns[p].lower())) for p in region]
        if None not in places:
            yield tuple(sorted(place for place in places if place is not None))


def _both_vary(relation: SetOperation, place: int) -> bool:
    return touchable(relation, relation.columns[place])


def _places(relation: Relation, names: frozenset[str]) -> tuple[int, ...]:
    low = {name.lower() for name in names}
    return tuple(place for place, name in enumerate(relation.columns) if name.lower() in low)


def is_unique(relation: Relation, places: frozenset[int]) -> bool:
    """Whether no two rows have the same values there. False where that is not certain."""
    if isinstance(relation, Base):
        names = {relation.columns[p].lower() for p in places}
        return any({name.lower() for name in key} <= names for key in relation.facts.unique)
    if isinstance(relation, SetOperation):
        whole = relation.distinct and len(places) == len(relation.columns)
        return whole or (relation.keeps_left and _as_on_the_left(relation, places) and is_unique(relation.left, places))
    if isinstance(relation, LiteralRows) or relation.generates or (relation.obstacle and relation.group is None):
        return False
    values = [relation.outputs[p].value for p in places]
    if relation.group is not None:
        return relation.obstacle is None and relation.group <= {value.key for value in values}
    if relation.distinct and len(places) == len(relation.outputs):
        return True
    return not relation.laterals and _all_determined(relation, {value.plain for value in values})


def _as_on_the_left(relation: SetOperation, places: frozenset[int]) -> bool:
    """Whether values are not cast: that may make two of them one."""
    return all(_column_type(relation, relation.columns[place].lower()) is not None for place in places)


def _as_it_is(block: Block, link: JoinLink) -> bool:
    """Whether two values of the child are never equal to one of the parent: a cast may make two of them one."""
    child, parent = _type_of(block, link.child_value), _type_of(block, link.parent_value)
    return child is not None and child == parent


def _type_of(block: Block, value: Value) -> str | None:
    if value.plain is None:
        return None
    relation, column = block.items[value.plain[0]].relation, value.plain[1].lower()
    return _column_type(relation, column)


def _column_type(relation: Relation, column: str) -> str | None:
    if isinstance(relation, Base):
        return relation.facts.types.get(column)
    names = [name.lower() for name in relation.columns]
    if isinstance(relation, SetOperation) and column in names:
        place = names.index(column)
        sides = {_column_type(side, side.columns[place].lower()) for side in (relation.left, relation.right)}
        return sides.pop() if len(sides) == 1 else None
    return _type_of(relation, relation.outputs[names.index(column)].value) if isinstance(relation, Block) else None


def _all_determined(block: Block, given: set[tuple[int, str] | None]) -> bool:
    """Each item has at most one row for the given columns, or for the rows of items of which that is known.

    No row at all, which NULL stands for, and a row that has NULL there do not both occur for the same others.
    """
    joined = {i for i, item in enumerate(block.items) if item.is_joined}
    known: set[int] = set()
    while known < joined:
        for i in joined - known:
            item = block.items[i]
            links = [link for link in block.links if link.child == i and link.parent in known]
            linked = {link.child_value.plain[1] for link in links if link.child_value.plain and _as_it_is(block, link)}
            own = {pair[1] for pair in given if pair is not None and pair[0] == i}
            if is_unique(item.relation, frozenset(_places(item.relation, frozenset(linked | own)))):
                known.add(i)
                break
        else:
            return False
    return bool(joined)
