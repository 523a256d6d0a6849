"""Groups of which the result has no column: their rows are told from each other by nothing but their values.

The query over the touched groups, as they were and as they are, gives the rows to take from the table and to add to
it. Of equal rows as many stay as belong to other groups.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.sql.script import Script
from tidegate.compiler.sql.sql_text import CannotRewriteError, indented, name_text, union
from tidegate.planner.deltas.block_reader import BlockReader
from tidegate.planner.deltas.blocks import Block, Relation, Value
from tidegate.planner.deltas.candidate_regions import touchable
from tidegate.planner.deltas.delta_query import OWN, DeltaGuard, DeltaQuery, DeltaStep
from tidegate.planner.deltas.exact_values import gives_same_again
from tidegate.planner.deltas.restricted_query import JOINED_KEYS, joined_rows
from tidegate.planner.deltas.touched_keys import Images, TouchedKeysQuery, comparison

__all__ = ["unselected_groups"]

_THEN, _NOW, _FORMER = "__then", "__now", "__former"
_WHY = "the table has other rows than its query gave"


def unselected_groups(script: Script, reader: BlockReader, relation: Relation, images: Images) -> DeltaQuery | None:
    """None where the groups cannot be found, or would not come out the same again."""
    if not isinstance(relation, Block) or relation.group is None or relation.obstacle is not None:
        return None
    low = {name.lower() for name in relation.columns}
    plain = len(low) == len(relation.columns) and not any(output.is_unnamed for output in relation.outputs)
    changed = [base for base in reader.tables if base.changed]
    if not plain or relation.windows or relation.distinct or any(base.facts.lineage for base in changed):
        return None
    if not gives_same_again(script.tree, reader.values.names):
        return None
    for owner, values in _keys(relation):
        try:
            rows = joined_rows(TouchedKeysQuery(script, images, reader.values.fixes), relation, owner, values, changed)
        except CannotRewriteError:
            continue
        if rows.keys and rows.now is not None and rows.then is not None:
            return _replaced(relation.columns, union(rows.keys), rows.now, rows.then, rows.guards, images)
    return None


def _keys(block: Block) -> Iterator[tuple[int, list[Value]]]:
    """What the block groups by of one item that every joined row has."""
    for i, item in enumerate(block.items):
        values = [
            value
            for value in block.group_values
            if value.flaw is None and value.items == {i} and all(touchable(item.relation, c) for _, c in value.columns)
        ]
        if values and item.is_joined and not item.nullable:
            yield i, values


def _replaced(
    columns: tuple[str, ...], keys: str, now: str, then: str, constants: tuple[DeltaGuard, ...], images: Images
) -> DeltaQuery:
    names = [name_text(name) for name in columns]
    listed = ", ".join(names)
    touched = f"SELECT {listed}\nFROM {_THEN}\nUNION\nSELECT {listed}\nFROM {_NOW}"
    same = "\n  AND ".join(comparison(f"o.{name}", f"d.{name}") for name in names)
    chosen = ", ".join(f"o.{name}" for name in names)
    former = f"SELECT {chosen}\nFROM {OWN} AS o\nLEFT SEMI JOIN (\n{indented(touched)}\n) AS d\n  ON {same}"
    steps = (
        DeltaStep(JOINED_KEYS, keys),
        DeltaStep(_THEN, f"SELECT {listed}\nFROM (\n{indented(then)}\n) AS result"),
        DeltaStep(_NOW, f"SELECT {listed}\nFROM (\n{indented(now)}\n) AS result"),
        DeltaStep(_FORMER, former),
    )
    added = f"SELECT {listed}\nFROM {_FORMER}\nUNION ALL\nSELECT {listed}\nFROM {_NOW}"
    removed = f"SELECT {listed}\nFROM {_THEN}"
    result = f"SELECT {listed}\nFROM (\n{indented(added)}\n) AS added\nEXCEPT ALL\n{removed}"
    strange = DeltaGuard(f"{removed}\nEXCEPT ALL\nSELECT {listed}\nFROM {_FORMER}", _WHY)
    reads = images.reads(*(step.sql for step in steps), *(guard.sql for guard in constants))
    return DeltaQuery(columns, False, touched, result, reads, steps=steps, guards=(*constants, strange))
