"""The values of a region whose rows a change can touch, as SQL over the images of changed tables.

For a table they are the values in BEFORE and AFTER. For joined items they are found from one item, the root. If the
region's values come from it alone: those of its own changed rows, and those of its rows that lead, by equations, to
something touched in another item. Along the way only the present state is needed: of the changed items that made a
difference for an unchanged row of the root, take one nearest to it; those between are as they were. If the values come
from several items, or from one that may be NULL, the affected rows of the root are joined as they were and as they are,
and both give values. Conditions that are left out only make the set larger, which is never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tidegate.compiler.sql.script import Script, span_of_table
from tidegate.compiler.sql.sql_text import (
    CannotRewriteError,
    Edit,
    condition,
    expression_sql,
    indented,
    name_text,
    operand,
    union,
    values_sql,
)
from tidegate.names import TableName
from tidegate.planner.deltas.blocks import (
    Base,
    Block,
    BlockItem,
    Join,
    JoinLink,
    LiteralRows,
    Relation,
    SetOperation,
    Value,
)
from tidegate.planner.deltas.candidate_regions import commutes, owner_of, touchable, what_forbids, why_untouchable
from tidegate.planner.deltas.delta_query import DeltaGuard, Image, ImageRead

__all__ = ["Images", "TouchedKeysQuery", "alias_columns", "comparison", "own_conditions", "replaced_table", "tree_from"]


class Images:
    """The names of the images of tables, and which of them were used."""

    def __init__(self, tables: Sequence[TableName]) -> None:
        self._names: dict[TableName, str] = {}
        for table in tables:
            same = [other for other in tables if other.name.lower() == table.name.lower()]
            in_layer = [other for other in same if other.layer.lower() == table.layer.lower()]
            parts = table[2:] if len(same) == 1 else table[1:] if len(in_layer) == 1 else table
            name, taken = "_".join(parts), {other.lower() for other in self._names.values()}
            while name.lower() in taken:
                name += "_"
            self._names[table] = name
        self._reads: dict[str, ImageRead] = {}

    def name(self, table: TableName, image: Image) -> str:
        name = f"__{self._names[table]}_{image}"
        self._reads.setdefault(name, ImageRead(name, table, image))
        return name_text(name)

    def reads(self, *texts: str) -> tuple[ImageRead, ...]:
        """The images that the texts name."""
        return tuple(
            read for name, read in sorted(self._reads.items()) if any(name_text(name) in text for text in texts)
        )


def comparison(one: str, other: str, null_safe: bool = True) -> str:
    return f"{one} {'<=>' if null_safe else '='} {other}"


def tree_from(block: Block, roots: Sequence[int], usable: Any = None) -> dict[int, list[JoinLink]]:
    """For each item that can be reached, its links to the item nearer to a root, nearest items first."""
    found: dict[int, list[JoinLink]] = {root: [] for root in roots}
    waiting = list(roots)
    while waiting:
        parent = waiting.pop(0)
        for link in block.links:
            if link.parent == parent and link.child not in found:
                links = [
                    other
                    for other in block.links
                    if other.parent == parent and other.child == link.child and (usable is None or usable(other))
                ]
                if links:
                    found[link.child] = links
                    if block.items[link.child].is_joined:
                        waiting.append(link.child)
    return found


class TouchedKeysQuery:
    """`widened`: some values belong to rows besides the changed ones of their table."""

    def __init__(self, script: Script, images: Images, fixes: Mapping[int, Edit]) -> None:
        self.script = script
        self.images = images
        self.fixes = fixes
        self.widened = False
        self.once: set[str] = set()
        """The SELECTs that give no value twice."""
        self.constants: dict[str, DeltaGuard] = {}
        """What holds while an answer is a constant."""

    def relation(self, relation: Relation, places: Sequence[int], names: Sequence[str]) -> list[str]:
        """SELECTs that together give the touched values of these columns, under these names."""
        if not relation.changed:
            return []
        if isinstance(relation, SetOperation):
            if relation.obstacle:
                raise CannotRewriteError(relation.obstacle)
            return [*self.relation(relation.left, places, names), *self.relation(relation.right, places, names)]
        if not isinstance(relation, Block):
            raise TypeError(relation)
        if relation.obstacle is not None:
            raise CannotRewriteError(relation.obstacle)
        outputs = [relation.outputs[place] for place in places]
        for output in outputs:
            if not commutes(relation, output.value):
                raise CannotRewriteError(what_forbids(relation, output.name, output.value))
        return self.core(relation, [output.value for output in outputs], names)

    def core(self, block: Block, values: list[Value], names: Sequence[str]) -> list[str]:
        """The same for values of a block's joined rows."""
        if not any(item.changed for item in block.items):
            return []
        if block.core_obstacle is not None:
            raise CannotRewriteError(block.core_obstacle)
        chosen = _select_list(values, names)
        if not any(value.columns for value in values):
            return [f"SELECT {chosen}"]
        owner = owner_of(block, values)
        if owner is None:
            return self._by_pivot(block, values, chosen)
        constants = dict(self.constants)
        try:
            return self._by_owner(block, owner, values, names)
        except CannotRewriteError as refused:
            self.constants = constants
            return self._by_pivot(block, values, chosen, refused)

    def _by_owner(self, block: Block, owner: int, values: list[Value], names: Sequence[str]) -> list[str]:
        item = block.items[owner]
        selects = self._item(block, owner, values, names)
        tree = tree_from(block, [owner], lambda link: self._can_touch(block, link))
        for i, other in enumerate(block.items):
            if other.changed and i != owner and (way := self._way_or_constant(block, tree, i, owner)):
                source, conditions = way
                selects.append(
                    _lines(
                        f"SELECT {_select_list(values, names)}",
                        f"FROM {self.text(item)}",
                        f"LEFT SEMI JOIN {source}",
                        f"  ON {conditions}",
                        *_where(_local(block, owner)),
                    )
                )
        return selects

    def _by_pivot(
        self, block: Block, values: list[Value], chosen: str, refused: CannotRewriteError | None = None
    ) -> list[str]:
        for pivot, item in enumerate(block.items):
            if item.is_joined and not item.nullable:
                constants = dict(self.constants)
                try:
                    return self._by_this_pivot(block, pivot, values, chosen)
                except CannotRewriteError as other:
                    self.constants = constants
                    refused = refused or other
        raise refused or CannotRewriteError("an outer join")

    def _by_this_pivot(self, block: Block, pivot: int, values: list[Value], chosen: str) -> list[str]:
        item = block.items[pivot]
        selects: list[str] = []
        tree = tree_from(block, [pivot], lambda link: self._can_touch(block, link))
        owners = frozenset().union(*(value.items for value in values))
        if pivot not in owners and not owners <= tree.keys():
            # Each of its rows would touch all of theirs.
            raise CannotRewriteError(_no_way(item))
        if item.changed and isinstance(item.relation, Base):
            for image, then in ((Image.BEFORE, True), (Image.AFTER, False)):
                name = self.images.name(item.relation.table, image)
                selects.append(self._joined(block, pivot, _named(name, item), values, chosen, then))
        elif item.changed:
            self.widened = True
            if found := self._of_pivot(block, pivot, values):
                selects += self._both(block, pivot, *found, values, chosen)
        for i, other in enumerate(block.items):
            if other.changed and i != pivot and (way := self._way_or_constant(block, tree, i, pivot)):
                # Those rows of the pivot are joined with all their rows of the other, changed or not.
                self.widened = True
                source, conditions = way
                selects += self._both(block, pivot, source, conditions, values, chosen)
        return selects

    def _both(
        self, block: Block, pivot: int, source: str, conditions: str, values: list[Value], chosen: str
    ) -> list[str]:
        """The pivot's rows that lead to the source, joined as everything was and as it is."""
        item = block.items[pivot]
        selects = []
        for then in (True, False):
            part = f"SELECT *\nFROM {self.text(item, then)}\nLEFT SEMI JOIN {source}\n  ON {conditions}"
            text = f"(\n{indented(part)}\n) AS {name_text(item.name)}"
            selects.append(self._joined(block, pivot, text, values, chosen, then))
        return selects

    def _of_pivot(self, block: Block, pivot: int, values: list[Value]) -> tuple[str, str] | None:
        """The touched values of a pivot that is a query itself, in the columns that matter here; None without any."""
        item = block.items[pivot]
        used = {column for value in values for i, column in value.columns if i == pivot}
        for link in block.links:
            used |= {column for i, column in link.parent_value.columns if link.parent == pivot}
        columns = sorted(column for column in used if touchable(item.relation, column))
        if not columns:
            raise CannotRewriteError(f"{item.name} has no column that identifies its changes")
        selects = self._columns(item, columns)
        if not selects:
            return None
        alias = f"__{item.name}"
        conditions = (
            comparison(f"{name_text(item.name)}.{name_text(c)}", f"{name_text(alias)}.{name_text(c)}", True)
            for c in columns
        )
        return f"(\n{indented(union(selects))}\n) AS {name_text(alias)}", "\n  AND ".join(conditions)

    def _joined(self, block: Block, pivot: int, text: str, values: list[Value], chosen: str, then: bool) -> str:
        """The joined rows that have the region's values; joins that only add or remove rows are left out."""
        needed = _needed(block, pivot, values)
        clauses: list[str] = []
        conditions: list[str] = []
        for i in sorted(needed):
            item = block.items[i]
            source = text if i == pivot else self.text(item, then)
            on = [condition(value.tree) for value in item.on]
            if not clauses:
                clauses.append(f"FROM {source}")
                conditions += on
            elif on:
                clauses += [f"{item.join} {source}", "  ON " + "\n  AND ".join(on)]
            elif item.join is Join.INNER:
                clauses.append(f"CROSS JOIN {source}")
            else:
                clauses += [f"{item.join} {source}", "  ON TRUE"]
        conditions += [condition(value.tree) for value in block.where if value.flaw is None and value.items <= needed]
        return _lines(f"SELECT {chosen}", *clauses, *_where(conditions))

    def _way_or_constant(
        self, block: Block, tree: Mapping[int, list[JoinLink]], i: int, root: int
    ) -> tuple[str, str] | None:
        """None also where the item is a constant, unless its guard finds out that it is not."""
        item = block.items[i]
        try:
            return self._way(block, tree, i, root)
        except CannotRewriteError:
            if item.constant is None:
                raise
        span = self.script.span(item.constant)
        now = self.script.render(self.fixes, *span)
        then = self.script.render({**self.fixes, **self._as_they_were(item.relation)}, *span)
        sides = ((now, then), (then, now))
        parts = (f"(\n  SELECT * FROM {one} AS one\n  EXCEPT\n  SELECT * FROM {two} AS two\n)" for one, two in sides)
        sql = "\nUNION ALL\n".join(f"SELECT 1 AS differs\nFROM {part} AS unlike" for part in parts)
        self.constants[sql] = DeltaGuard(sql, "the answer of a subquery changed")
        return None

    def _way(self, block: Block, tree: Mapping[int, list[JoinLink]], i: int, root: int) -> tuple[str, str] | None:
        """From what is touched in item `i` to the root: a relation, and the conditions between it and the root. None
        where nothing is, because what changed there is a constant."""
        if i not in tree:
            raise CannotRewriteError(self._why_no_way(block, tree, i))
        links = tree[i]
        names = [_column_name(link.child_value, n) for n, link in enumerate(links)]
        if len(set(names)) < len(names):
            names = [f"__{n}" for n in range(len(names))]
        item = block.items[i]
        values = [link.child_value for link in links]
        if item.links_only and isinstance(item.relation, Block):
            selects = self.core(item.relation, values, names)
        else:
            selects = self._item(block, i, values, names)
        if not selects:
            return None
        alias = name_text(item.name)
        source = f"(\n{indented(union(selects))}\n) AS {alias}"
        conditions = "\n  AND ".join(
            comparison(operand(link.parent_value.tree), f"{alias}.{name_text(name)}", link.null_safe)
            for link, name in zip(links, names, strict=True)
        )
        while (at := links[0].parent) != root:
            item, links = block.items[at], tree[at]
            part = _lines(f"SELECT *\nFROM {self.text(item)}", f"LEFT SEMI JOIN {source}", f"  ON {conditions}")
            source = f"(\n{indented(part)}\n) AS {name_text(item.name)}"
            conditions = "\n  AND ".join(
                comparison(operand(link.parent_value.tree), operand(link.child_value.tree), link.null_safe)
                for link in links
            )
        return source, conditions

    def _why_no_way(self, block: Block, tree: Mapping[int, list[JoinLink]], i: int) -> str:
        item = block.items[i]
        for link in block.links:
            if link.child == i and link.parent in tree:
                for relation, column in _read_by(item, link):
                    if not touchable(relation, column):
                        linked = "a subquery linked" if item.description else f"a join to {item.name}"
                        by = "" if column.startswith("__") else f" by {column}"
                        return f"{linked}{by}: {why_untouchable(relation, column)}"
        return _no_way(item)

    def _can_touch(self, block: Block, link: JoinLink) -> bool:
        item = block.items[link.child]
        return not item.changed or all(touchable(relation, column) for relation, column in _read_by(item, link))

    def _item(self, block: Block, i: int, values: list[Value], names: Sequence[str]) -> list[str]:
        """The touched values of expressions over one item."""
        item = block.items[i]
        if not item.changed:
            return []
        chosen = _select_list(values, names)
        if isinstance(item.relation, Base):
            return self._images(item, item.relation, values, chosen, _local(block, i))
        columns = sorted({column for value in values for _, column in value.columns})
        for column in columns:
            if not touchable(item.relation, column):
                raise CannotRewriteError(why_untouchable(item.relation, column))
        plain = [value.plain[1] for value in values if value.plain is not None]
        if len(plain) == len(values):
            return self._columns(item, plain, names)
        # Not DISTINCT: of 0.0 and -0.0 it keeps one, and what is made of them may differ.
        inner = "\nUNION ALL\n".join(dict.fromkeys(self._columns(item, columns)))
        if not inner:
            return []
        return [f"SELECT {chosen}\nFROM (\n{indented(inner)}\n) AS {name_text(item.name)}"]

    def _columns(self, item: BlockItem, columns: Sequence[str], names: Sequence[str] | None = None) -> list[str]:
        low = [name.lower() for name in item.relation.columns]
        places = [low.index(column) for column in columns]
        return self.relation(item.relation, places, names or columns)

    def _images(self, item: BlockItem, base: Base, values: list[Value], chosen: str, local: list[str]) -> list[str]:
        keyed = {name.lower() for name in base.facts.keyed_by or ()}
        used = {column for value in values for _, column in value.columns}
        if base.facts.keyed_by is not None and used <= keyed and all(value.plain for value in values):
            # A row may no longer meet the conditions: without BEFORE only its key finds it.
            select = _lines(f"SELECT {chosen}", f"FROM {_named(self.images.name(base.table, Image.AFTER), item)}")
            if any({name.lower() for name in key} <= used for key in base.facts.unique):
                self.once.add(select)
            return [select]
        return [
            _lines(f"SELECT {chosen}", f"FROM {_named(self.images.name(base.table, image), item)}", *_where(local))
            for image in (Image.BEFORE, Image.AFTER)
        ]

    def text(self, item: BlockItem, then: bool = False) -> str:
        """The relation of an item, as it is or as it was, under its name."""
        if isinstance(item.relation, Base):
            if then and item.changed:
                return _named(self.images.name(item.relation.table, Image.THEN), item)
            return _named(item.relation.table.quoted, item)
        if isinstance(item.relation, LiteralRows):
            return values_sql(item.node)
        start, end = self.script.span(item.node)
        edits = dict(self.fixes)
        if then:
            edits |= self._as_they_were(item.relation)
        return _named(self.script.render(edits, start, end), item) + alias_columns(item.node)

    def _as_they_were(self, relation: Relation) -> dict[int, Edit]:
        edits: dict[int, Edit] = {}
        match relation:
            case Base() if relation.changed:
                edits |= replaced_table(relation, self.images, Image.THEN)
            case Block():
                for item in relation.items:
                    edits |= self._as_they_were(item.relation)
            case SetOperation():
                edits |= self._as_they_were(relation.left) | self._as_they_were(relation.right)
        return edits


def replaced_table(base: Base, images: Images, image: Image) -> dict[int, Edit]:
    """The edit by which an image is read in place of a table."""
    start, end = span_of_table(base.node)
    alias = "" if base.node.alias else f" AS {name_text(base.table.name)}"
    return {start: Edit(start, end, images.name(base.table, image) + alias)}


def alias_columns(node: Any) -> str:
    """The new names for columns behind an item's name, with their parentheses."""
    alias = node.args.get("alias")
    columns = [name_text(column.name) for column in (alias.args.get("columns") if alias else None) or ()]
    return f"({', '.join(columns)})" if columns else ""


def _named(text: str, item: BlockItem) -> str:
    return f"{text} AS {name_text(item.name)}"


def _select_list(values: Sequence[Value], names: Sequence[str]) -> str:
    parts = []
    for value, name in zip(values, names, strict=True):
        text = expression_sql(value.tree)
        same = value.plain is not None and value.tree.name == name
        parts.append(text if same else f"{text} AS {name_text(name)}")
    return ", ".join(parts)


def _column_name(value: Value, n: int) -> str:
    return str(value.tree.name) if value.plain is not None else f"__{n}"


def _local(block: Block, i: int) -> list[str]:
    conditions = []
    for value in own_conditions(block, i):
        try:
            conditions.append(condition(value.tree))
        except CannotRewriteError:
            continue
    return conditions


def own_conditions(block: Block, i: int) -> Iterator[Value]:
    """Conditions on a row of the item alone, without which it does not count."""
    item = block.items[i]
    own = [] if item.nullable or not item.is_joined else list(block.where)
    if item.join in (Join.INNER, Join.LEFT, Join.SEMI, Join.ANTI):
        own += item.on
    return (value for value in own if value.flaw is None and value.items == {i})


def _needed(block: Block, pivot: int, values: Sequence[Value]) -> frozenset[int]:
    joined = frozenset(i for i, item in enumerate(block.items) if item.is_joined)
    flips = [i for i in joined if block.items[i].join is Join.RIGHT]
    if flips:
        # What a semi join leaves out before it decides which rows are joined with NULL.
        for i, item in enumerate(block.items[: max(flips)]):
            if i not in joined:
                raise CannotRewriteError(f"RIGHT JOIN after {item.join}")
        needed = joined
    else:
        needed = frozenset({0, pivot}).union(*(value.items for value in values))
        while True:
            more = needed.union(*(value.items for i in needed for value in block.items[i].on))
            if more == needed:
                break
            needed = more
    for i in needed:
        for value in block.items[i].on:
            if value.flaw is not None:
                raise CannotRewriteError(f"{value.flaw} in the condition of a join")
    return needed


def _read_by(item: BlockItem, link: JoinLink) -> Iterator[tuple[Relation, str]]:
    """The columns that a link reads of its child, each with what it is a column of."""
    for i, column in sorted(link.child_value.columns):
        if item.links_only and isinstance(item.relation, Block):
            yield item.relation.items[i].relation, column
        else:
            yield item.relation, column


def _no_way(item: BlockItem) -> str:
    return item.description or f"a join to {item.name} without an equation"


def _where(conditions: Sequence[str]) -> list[str]:
    return ["WHERE " + "\n  AND ".join(conditions)] if conditions else []


def _lines(*lines: str) -> str:
    return "\n".join(lines)
