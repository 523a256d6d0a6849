"""Aggregates over all rows: the one row of the result is the former one, with what changed rows add and take away.

The joined rows of a query without groups are a sum over each of its tables: what changes when tables change one after
the other is the query over the changed rows of each, with those before it as they were and those behind it as they
are. Counts and sums are added up. A least or greatest value stays unless a row that had it is gone. Where the former
row cannot tell, a guard finds it out, and all rows are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.script import Script, span_of_table
from tidegate.compiler.sql.sql_text import CannotRewriteError, Edit, indented, name_text
from tidegate.planner.deltas.block_reader import BlockReader
from tidegate.planner.deltas.blocks import WITHOUT_GROUPS, Base, Block, OutputColumn, Relation
from tidegate.planner.deltas.delta_query import OWN, DeltaGuard, DeltaQuery, DeltaStep, Image
from tidegate.planner.deltas.touched_keys import Images

__all__ = ["is_one_row", "one_row"]

_SIDES, _FRESH, _SIDE = "__sides", "__fresh", "__side"
_FORMER, _ADDED, _LATER, _REMOVED = "'former'", "'added'", "'later'", "'removed'"
"""Of what is added, at most the first part are rows of the new result: others are joined with rows as they were."""
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
    if len(set(map(id, _summed(block)))) < len(changed):
        raise CannotRewriteError(f"{WITHOUT_GROUPS}, over rows that are not each made of one changed row")
    rows_of_now = not any(base.facts.all_versions for base in changed)
    kinds = [_kind(output, len(changed) == 1 and rows_of_now) for output in block.outputs]
    names = [name_text(output.name) for output in block.outputs]
    if len({name.lower() for name in block.columns}) < len(names):
        raise CannotRewriteError("two columns with one name")
    listed = ", ".join(names)
    parts = [f"SELECT {_FORMER} AS {_SIDE}, {listed}\nFROM {OWN}"]
    for place, base in enumerate(changed):
        for side, image in ((_ADDED if rows_of_now and not place else _LATER, Image.AFTER), (_REMOVED, Image.BEFORE)):
            edits = dict(reader.values.fixes)
            for other in changed[:place]:
                edits |= _replaced(other, images, Image.THEN)
            edits |= _replaced(base, images, image)
            rows = indented(script.render(edits).strip())
            parts.append(f"SELECT {side} AS {_SIDE}, {listed}\nFROM (\n{rows}\n) AS __part")
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
        images.reads(sides),
        steps=(DeltaStep(_SIDES, sides), DeltaStep(_FRESH, fresh)),
        guards=(DeltaGuard(guard, _WHY),),
    )


def _replaced(base: Base, images: Images, image: Image) -> dict[int, Edit]:
    start, end = span_of_table(base.node)
    alias = "" if base.node.alias else f" AS {name_text(base.table.name)}"
    return {start: Edit(start, end, images.name(base.table, image) + alias)}


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


def _kind(output: OutputColumn, alone: bool) -> Any:
    """The aggregate; None for a constant. `alone`: one table changed, and all that is added are rows of the result."""
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
            if not alone:
                raise CannotRewriteError(f"{what}, a {least.key} of more than one table's rows of now")
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
        # Without any value left the sum is NULL and not 0.
        return f"({removed} AND ({value('count', _FORMER)} = 0 OR {value('count', _ADDED)} = 0))"
    if kind in (exp.Min, exp.Max):
        word, beyond = ("min", "<=") if kind is exp.Min else ("max", ">=")
        lost, kept = (f"{value(word, side)} {beyond} {value(word, _FORMER)}" for side in (_REMOVED, _ADDED))
        return f"({removed} AND ({value('count', _FORMER)} = 0 OR ({lost} AND NOT coalesce({kept}, false))))"
    return ""
