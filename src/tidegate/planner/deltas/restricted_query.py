"""The query for just the touched keys: the same text, its tables reduced where they are read.

Reducing an item to rows that can count for a chosen row changes nothing in what is made of the chosen rows. So the item
that has the region's columns is reduced by the touched keys, and each item that is linked to a reduced one, by that.
Where this alone does not choose exactly the touched keys, the result is compared with them once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.script import span_of_table
from tidegate.compiler.sql.sql_text import CannotRewriteError, Edit, indented, name_text, operand
from tidegate.planner.deltas.blocks import Base, Block, BlockItem, LiteralRows, Relation, SetOperation, Value
from tidegate.planner.deltas.candidate_regions import commutes, owner_of
from tidegate.planner.deltas.delta_query import LINEAGE, TOUCHED, DeltaGuard, Image
from tidegate.planner.deltas.touched_keys import TouchedKeysQuery, alias_columns, comparison, replaced_table, tree_from

__all__ = ["JOINED_KEYS", "JoinedRows", "Restrictor", "joined_rows"]

JOINED_KEYS = "__keys"
"""The relation of the touched keys of `joined_rows`."""


@dataclass(frozen=True, slots=True)
class _MatchColumn:
    """One column of what a relation is reduced by: an expression over the item `name`, or a column of TOUCHED."""

    value: Value | None
    column: str = ""

    def text(self, alias: str, name: str) -> str:
        if self.value is None:
            return f"{alias}.{name_text(self.column)}"
        if alias == name_text(name):
            return operand(self.value.tree)
        return operand(_renamed(self.value.tree, name, alias))


@dataclass(frozen=True, slots=True)
class _Reduction:
    """What a relation is reduced by: `text` under `name`."""

    text: str
    name: str
    touched: bool = False


@dataclass(frozen=True, slots=True)
class JoinedRows:
    """The joined rows of a block with touched values of one item. `now`, `then`: None where they cannot be reduced."""

    keys: list[str]
    """Queries for JOINED_KEYS; empty where nothing is touched."""

    now: str | None
    then: str | None
    guards: tuple[DeltaGuard, ...]


class Restrictor:
    """Collects the edits of one query's text. `only`: the one table read that has changes, if there is just one.

    `keys`: the relation of the touched keys. `then`: the reads of changed tables, if the query is to be as it was.
    """

    def __init__(
        self, toucher: TouchedKeysQuery, only: Base | None, keys: str = TOUCHED, then: Sequence[Base] = ()
    ) -> None:
        self.toucher = toucher
        self.script = toucher.script
        self.edits: dict[int, Edit] = dict(toucher.fixes)
        self.only = only
        self.keys = keys
        self.then = bool(then)
        for base in then:
            self.edits |= replaced_table(base, toucher.images, Image.THEN)

    def joined(self, block: Block, owner: int, values: Sequence[Value], names: Sequence[str]) -> str | None:
        """The query over the joined rows with these values, of one item, among the keys, under these names."""
        by = _Reduction(self.keys, self.keys, touched=True)
        item = block.items[owner]
        pairs = [(value, _MatchColumn(None, name), True) for value, name in zip(values, names, strict=True)]
        if not self._core(block, pairs, by)[1]:
            if item.node is None or isinstance(item.relation, Base | LiteralRows):
                return None
            self._choose(item, pairs)
        return self.script.render(self.edits).strip()

    def _choose(self, item: BlockItem, pairs: list[tuple[Value, _MatchColumn, bool]]) -> None:
        """Keep exactly the rows of a subquery that match."""
        start, end = self.script.span(item.node)
        name, keys = name_text(item.name), name_text(self.keys)
        rows = f"{self.script.render(self.edits, start, end)} AS {name}{alias_columns(item.node)}"
        conditions = "\n  AND ".join(
            comparison(operand(value.tree), side.text(keys, self.keys)) for value, side, _ in pairs
        )
        text = f"(\n  SELECT *\n  FROM {indented(rows).strip()}\n  LEFT SEMI JOIN {keys}\n    ON {conditions}\n)"
        self.edits = {at: edit for at, edit in self.edits.items() if not start <= edit.start < end}
        self.edits[start] = Edit(start, end, text)

    def result(self, relation: Relation, places: Sequence[int], region: Sequence[str]) -> str:
        by = _Reduction(self.keys, self.keys, touched=True)
        pairs = [(place, _MatchColumn(None, name), True) for place, name in zip(places, region, strict=True)]
        exact = self._relation(relation, pairs, by)[1]
        text = self.script.render(self.edits).strip()
        if exact:
            return text
        conditions = "\n  AND ".join(
            comparison(f"__result.{name_text(name)}", f"{TOUCHED}.{name_text(name)}") for name in region
        )
        return f"SELECT *\nFROM (\n{indented(text)}\n) AS __result\nLEFT SEMI JOIN {TOUCHED}\n  ON {conditions}"

    def _relation(
        self, relation: Relation, pairs: list[tuple[int, _MatchColumn, bool]], by: _Reduction
    ) -> tuple[bool, bool]:
        """Whether anything was reduced, and whether exactly to the rows that match."""
        match relation:
            case SetOperation() if relation.obstacle is None:
                # Types of the sides may differ, so that what is equal here need not be equal there.
                only, self.only = self.only, None
                left, _ = self._relation(relation.left, pairs, by)
                right, _ = self._relation(relation.right, pairs, by)
                self.only = only
                return left and right, False
            case Block() if relation.obstacle is None:
                values = [(relation.outputs[place].value, side, null_safe) for place, side, null_safe in pairs]
                fit = [pair for pair in values if commutes(relation, pair[0])]
                reduced, exact = self._core(relation, fit, by)
                return reduced, exact and len(fit) == len(values)
        return False, False

    def _core(self, block: Block, pairs: list[tuple[Value, _MatchColumn, bool]], by: _Reduction) -> tuple[bool, bool]:
        if block.core_obstacle is not None or not pairs:
            return False, False
        values = [value for value, _, _ in pairs]
        owner = owner_of(block, values)
        reduced: list[int] = []
        exact = False
        if owner is not None:
            done, exact = self._item(block.items[owner], owner, pairs, by)
            reduced += [owner] if done else []
        else:
            for i in sorted({i for value in values for i in value.items}):
                own = [pair for pair in pairs if pair[0].items == {i}]
                if own and not block.items[i].nullable and self._item(block.items[i], i, own, by)[0]:
                    reduced.append(i)
        if reduced:
            self._spread(block, reduced)
        return bool(reduced), exact

    def _spread(self, block: Block, reduced: list[int]) -> None:
        """Each item that is linked to a reduced one keeps only rows that match it."""
        tree = tree_from(block, reduced)
        done = set(reduced)
        for i, links in tree.items():
            if i in done or links[0].parent not in done:
                continue
            item, parent = block.items[i], block.items[links[0].parent]
            by = _Reduction(self._reduced_text(parent), parent.name)
            pairs = [(link.child_value, _MatchColumn(link.parent_value), link.null_safe) for link in links]
            try:
                if item.links_only and isinstance(item.relation, Block):
                    changed = self._core(item.relation, pairs, by)[0]
                else:
                    changed = self._item(item, i, pairs, by)[0]
            except CannotRewriteError:
                continue
            if changed and item.is_joined:
                done.add(i)

    def _item(
        self, item: BlockItem, i: int, pairs: list[tuple[Value, _MatchColumn, bool]], by: _Reduction
    ) -> tuple[bool, bool]:
        if isinstance(item.relation, Base):
            self._table(item, item.relation, pairs, by)
            return True, True
        if isinstance(item.relation, LiteralRows):
            return False, False
        low = [name.lower() for name in item.relation.columns]
        plain = [
            (low.index(value.plain[1]), side, null_safe) for value, side, null_safe in pairs if value.plain is not None
        ]
        reduced, exact = self._relation(item.relation, plain, by)
        return reduced, exact and len(plain) == len(pairs)

    def _table(
        self, item: BlockItem, base: Base, pairs: list[tuple[Value, _MatchColumn, bool]], by: _Reduction
    ) -> None:
        start, end = span_of_table(base.node)
        named = "" if base.node.alias else f" AS {name_text(item.name)}"
        if by.touched and self.only is base and _has_key(base, pairs) and not base.facts.lineage:
            image = Image.BEFORE if self.then else Image.AFTER
            self.edits[start] = Edit(start, end, self.toucher.images.name(base.table, image) + named)
            return
        alias = by.name if by.name.lower() != item.name.lower() else f"__{by.name}"
        alias = name_text(alias)
        conditions = "\n    AND ".join(
            comparison(operand(value.tree), side.text(alias, by.name), null_safe) for value, side, null_safe in pairs
        )
        columns = ", ".join(("*", *LINEAGE)) if base.facts.lineage else "*"
        was = self.then and base.changed
        table = self.toucher.images.name(base.table, Image.THEN) if was else base.table.quoted
        source = by.text if by.touched else f"{by.text} AS {alias}"
        text = (
            f"(\n  SELECT {columns}\n  FROM {table} AS {name_text(item.name)}\n"
            f"  LEFT SEMI JOIN {indented(source).strip()}\n    ON {conditions}\n)"
        )
        self.edits[start] = Edit(start, end, indented(text, self._indent(start)).lstrip() + named)

    def _indent(self, start: int) -> str:
        """The indentation of the line of a table."""
        line = self.script.text[self.script.text.rfind("\n", 0, start) + 1 : start]
        return line[: len(line) - len(line.lstrip())]

    def _reduced_text(self, item: BlockItem) -> str:
        """The text of a reduced item, without its name."""
        if isinstance(item.relation, Base):
            start, _ = span_of_table(item.relation.node)
            text = self.edits[start].text
            return text if item.relation.node.alias else text.rsplit(" AS ", 1)[0]
        text = self.script.render(self.edits, *self.script.span(item.node))
        columns = alias_columns(item.node)
        return f"(SELECT * FROM {text} AS {name_text(item.name)}{columns})" if columns else text


def _has_key(base: Base, pairs: Sequence[tuple[Value, _MatchColumn, bool]]) -> bool:
    columns = {value.plain[1] for value, _, null_safe in pairs if value.plain is not None and null_safe}
    return any({name.lower() for name in key} <= columns for key in base.facts.unique)


def _renamed(tree: Any, name: str, alias: str) -> Any:
    def other(node: Any) -> Any:
        if isinstance(node, exp.Column) and node.table.lower() == name.lower():
            return exp.column(node.this.copy(), table=exp.to_identifier(alias.strip("`")))
        return node

    return tree.copy().transform(other)


def joined_rows(
    toucher: TouchedKeysQuery, block: Block, owner: int, values: list[Value], changed: Sequence[Base]
) -> JoinedRows:
    """Raises CannotRewriteError. `changed`: the reads of changed tables."""
    names = [f"k{n}" for n in range(len(values))]
    keys = toucher.core(block, values, names)
    only = changed[0] if len(changed) == 1 and not toucher.widened else None
    now, then = (
        Restrictor(toucher, only, JOINED_KEYS, reads).joined(block, owner, values, names) for reads in ((), changed)
    )
    return JoinedRows(keys, now, then, tuple(toucher.constants.values()))
