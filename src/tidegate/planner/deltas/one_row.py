"""Aggregates over all rows: the one row of the result is the former one, with what changed rows add and take away.

Where each joined row is made of one row of every changed table, that is the query over the changed rows of each, with
the tables before it as they were and those behind it as they are, as if they had changed one after the other. Otherwise
it is the query over the joined rows with touched keys of one of its items, as they are and as they were. Counts and
sums are added up. A least or greatest value stays unless a row that had it is gone. Where the former row cannot tell,
a guard finds it out, and all rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.script import Script
from tidegate.compiler.sql.sql_text import CannotRewriteError, indented, name_text, union
from tidegate.planner.deltas.block_reader import BlockReader
from tidegate.planner.deltas.blocks import WITHOUT_GROUPS, Base, Block, OutputColumn, Relation
from tidegate.planner.deltas.candidate_regions import by_values, candidates
from tidegate.planner.deltas.delta_query import OWN, DeltaGuard, DeltaQuery, DeltaStep, Image
from tidegate.planner.deltas.exact_values import gives_same_again
from tidegate.planner.deltas.name_scopes import value_of_column
from tidegate.planner.deltas.restricted_query import JOINED_KEYS, joined_rows
from tidegate.planner.deltas.touched_keys import Images, TouchedKeysQuery, replaced_table

__all__ = ["is_one_row", "one_row"]

_SIDES, _FRESH, _SIDE = "__sides", "__fresh", "__side"
_FORMER, _ADDED, _LATER, _REMOVED = "'former'", "'added'", "'later'", "'removed'"
"""What is added later is joined with rows as they were, so it need not be among the rows of now."""
_ORDERED = ("boolean", "date", "decimal", "string", "timestamp", "timestamp_ntz")
_WHY = "the former result does not tell the new one"


def is_one_row(relation: Relation) -> bool:
    return isinstance(relation, Block) and relation.obstacle == WITHOUT_GROUPS


def one_row(script: Script, reader: BlockReader, block: Block, images: Images) -> DeltaQuery:
    """Raises CannotRewriteError where changed rows do not give the new result."""
    select = script.tree
    while isinstance(select, exp.Subquery):
        select = select.this
    if select.args.get("having"):
        raise CannotRewriteError(f"HAVING of {WITHOUT_GROUPS}")
    changed = [base for base in reader.tables if base.changed]
    if any(base.facts.lineage for base in changed):
        raise CannotRewriteError(WITHOUT_GROUPS)
    names = [name_text(output.name) for output in block.outputs]
    if len({name.lower() for name in block.columns}) < len(names):
        raise CannotRewriteError("two columns with one name")
    row_by_row = len(set(map(id, _summed(block)))) == len(changed)
    kinds = [_kind(output) for output in block.outputs]
    of_now = len(changed) == 1 and not changed[0].facts.all_versions
    if row_by_row and (of_now or {exp.Min, exp.Max}.isdisjoint(kinds)):
        found = _Parts(tuple(_one_after_the_other(script, reader, changed, images)))
    else:
        found = _by_keys(script, reader, block, changed, images)
    listed = ", ".join(names)
    parts = [f"SELECT {_FORMER} AS {_SIDE}, {listed}\nFROM {OWN}"]
    parts += [f"SELECT {side} AS {_SIDE}, {listed}\nFROM (\n{indented(rows)}\n) AS __part" for side, rows in found.rows]
    sides = "\nUNION ALL\n".join(parts)
    fresh_values = (
        _typed(_fresh(kind, name), output) for kind, name, output in zip(kinds, names, block.outputs, strict=True)
    )
    columns = ",\n  ".join(f"{value} AS {name}" for value, name in zip(fresh_values, names, strict=True))
    fresh = f"SELECT\n  {columns}\nFROM {_SIDES}"
    doubts = [doubt for kind, name in zip(kinds, names, strict=True) if (doubt := _doubt(kind, name))]
    conditions = "\n  OR ".join([f"count_if({_SIDE} = {_FORMER}) <> 1", *doubts])
    guard = f"SELECT 1 AS doubt\nFROM {_SIDES}\nHAVING {conditions}"
    touched = f"SELECT {listed}\nFROM {OWN}\nUNION\nSELECT {listed}\nFROM {_FRESH}"
    return DeltaQuery(
        tuple(block.columns),
        True,
        touched,
        f"SELECT {listed}\nFROM {_FRESH}",
        images.reads(sides, *(step.sql for step in found.steps), *(guard.sql for guard in found.guards)),
        steps=(*found.steps, DeltaStep(_SIDES, sides), DeltaStep(_FRESH, fresh)),
        guards=(*found.guards, DeltaGuard(guard, _WHY)),
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """What is added and removed: (side, query) pairs, and what they need."""

    rows: tuple[tuple[str, str], ...]
    steps: tuple[DeltaStep, ...] = ()
    guards: tuple[DeltaGuard, ...] = ()


def _one_after_the_other(
    script: Script, reader: BlockReader, changed: Sequence[Base], images: Images
) -> Iterator[tuple[str, str]]:
    for place, base in enumerate(changed):
        of_now = not place and not base.facts.all_versions
        for side, image in ((_ADDED if of_now else _LATER, Image.AFTER), (_REMOVED, Image.BEFORE)):
            edits = dict(reader.values.fixes)
            for other in changed[:place]:
                edits |= replaced_table(other, images, Image.THEN)
            yield side, script.render({**edits, **replaced_table(base, images, image)}).strip()


def _by_keys(script: Script, reader: BlockReader, block: Block, changed: Sequence[Base], images: Images) -> _Parts:
    """The joined rows with touched keys of one item, as they are and as they were."""
    if not gives_same_again(script.tree, reader.values.names):
        raise CannotRewriteError(f"{WITHOUT_GROUPS}, over what may come out otherwise from the same rows")
    for i, columns in _keys(block):
        values = [value_of_column(block.items[i], i, column) for column in columns]
        try:
            rows = joined_rows(TouchedKeysQuery(script, images, reader.values.fixes), block, i, values, changed)
        except CannotRewriteError:
            continue
        if not rows.keys:
            return _Parts((), guards=rows.guards)
        if rows.now is not None and rows.then is not None:
            steps = (DeltaStep(JOINED_KEYS, union(rows.keys)),)
            return _Parts(((_ADDED, rows.now), (_REMOVED, rows.then)), steps, rows.guards)
    raise CannotRewriteError(f"{WITHOUT_GROUPS}, whose joined rows have no key by which they are found")


def _keys(block: Block) -> Iterator[tuple[int, list[str]]]:
    """Columns of items that every joined row has, the most selective first."""
    for i, item in sorted(enumerate(block.items), key=lambda pair: not pair[1].changed):
        if item.is_joined and not item.nullable:
            for region in dict.fromkeys((*candidates(item.relation), *by_values(item.relation))):
                if region:
                    yield i, [item.relation.columns[place] for place in region]


def _summed(block: Block) -> Iterator[Base]:
    """The changed tables of which each row makes its own rows of the block, whatever other rows there are."""
    for item in block.items:
        if not item.changed or not item.is_joined or item.nullable:
            continue
        if isinstance(item.relation, Base):
            yield item.relation
        elif isinstance(item.relation, Block) and _is_row_by_row(item.relation):
            yield from _summed(item.relation)


def _is_row_by_row(block: Block) -> bool:
    combined = block.group is not None or block.windows or block.distinct
    return block.obstacle is None and not combined


def _kind(output: OutputColumn) -> Any:
    """The aggregate; None for a constant."""
    tree = output.value.tree
    if output.is_unnamed:
        raise CannotRewriteError("a column without a name")
    kind, what = output.type.kind, f"{output.name} of {WITHOUT_GROUPS}"
    ordered = output.type.is_integral or kind in _ORDERED
    if output.value.flaw is None and not output.value.columns and ordered:
        return None
    aggregate = tree.this if isinstance(tree, exp.Filter) else tree
    if isinstance(aggregate.this, exp.Distinct) or output.value.flaw != "an aggregate":
        raise CannotRewriteError(f"{what}, which is no plain count, sum, min or max")
    if isinstance(aggregate, exp.Count):
        return exp.Count
    if isinstance(aggregate, exp.Sum) and (output.type.is_integral or kind == "decimal"):
        return exp.Sum
    for least in (exp.Min, exp.Max):
        if isinstance(aggregate, least) and not aggregate.expressions and ordered:
            return least
    if isinstance(aggregate, exp.Sum | exp.Min | exp.Max):
        raise CannotRewriteError(f"{what}, whose type is {output.type}")
    raise CannotRewriteError(f"{what}, which is no plain count, sum, min or max")


def _typed(value: str, output: OutputColumn) -> str:
    """A sum of decimals has more digits than they have."""
    return f"CAST({value} AS {output.type.sql})" if output.type.kind == "decimal" else value


def _fresh(kind: Any, name: str) -> str:
    if kind in (exp.Count, exp.Sum):
        return f"sum(CASE WHEN {_SIDE} = {_REMOVED} THEN -{name} ELSE {name} END)"
    return f"{'max' if kind is exp.Max else 'min'}({name}) FILTER (WHERE {_SIDE} <> {_REMOVED})"


def _doubt(kind: Any, name: str) -> str:
    """A condition under which the column of the new row is not known."""

    def value(function: str, side: str) -> str:
        return f"{function}({name}) FILTER (WHERE {_SIDE} = {side})"

    removed = f"{value('count', _REMOVED)} > 0"
    if kind is exp.Count:
        return f"{_fresh(kind, name)} < 0"
    if kind is exp.Sum:
        # Without any value left the sum is NULL and not 0; without ANSI mode it may be NULL because it was too large.
        former, added = (f"{value('count', side)} = 0" for side in (_FORMER, _ADDED))
        return f"({former} AND NOT {added}) OR ({removed} AND ({former} OR {added}))"
    if kind in (exp.Min, exp.Max):
        word, beyond = ("min", "<=") if kind is exp.Min else ("max", ">=")
        lost, kept = (f"{value(word, side)} {beyond} {value(word, _FORMER)}" for side in (_REMOVED, _ADDED))
        return f"({removed} AND ({value('count', _FORMER)} = 0 OR ({lost} AND NOT coalesce({kept}, false))))"
    return ""
