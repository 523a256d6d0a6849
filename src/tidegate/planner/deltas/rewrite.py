"""A query over changed tables → the keys that the change can touch, and the query for just those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from sqlglot import exp

from tidegate.compiler.sql.function_calls import calls_unknown_function, first_change
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.compiler.sql.row_by_row import Obstacle, RowQuery
from tidegate.compiler.sql.scopes import is_star
from tidegate.compiler.sql.script import Script, read_script
from tidegate.compiler.sql.sql_text import CANNOT_REWRITE, CannotRewriteError, Edit, indented, name_text, union
from tidegate.lake.progress import WHOLE, Order
from tidegate.names import TableName, quote
from tidegate.planner.deltas.block_reader import BlockReader
from tidegate.planner.deltas.blocks import Block, Relation, SetOperation
from tidegate.planner.deltas.candidate_regions import (
    by_values,
    candidates,
    commutes,
    is_unique,
    only_inexact,
    touchable,
    why_untouchable,
)
from tidegate.planner.deltas.delta_query import LINEAGE, OWN, TOUCHED, DeltaQuery, DeltaRefusal, InputTable
from tidegate.planner.deltas.groupings import write_out_groupings
from tidegate.planner.deltas.one_row import is_one_row, one_row
from tidegate.planner.deltas.restricted_query import Restrictor
from tidegate.planner.deltas.touched_keys import Images, TouchedKeysQuery
from tidegate.planner.deltas.unselected_groups import unselected_groups

__all__ = ["NO_KEY", "explain", "needed_columns", "newest_rows", "read_relation", "rewrite", "unique_columns"]

NO_KEY = "no key: declare @unique_key (tracked: @group_key) with the columns by which its rows can be found"


def rewrite(
    sql: str,
    inputs: Mapping[TableName, InputTable],
    key: tuple[str, ...] = (),
    within_key: bool = False,
    holds_result: bool = False,
) -> DeltaQuery | DeltaRefusal:
    """`sql` names its tables in full. With D the touched keys, the table as it should be is: its rows whose region is
    not in D, and the result. That holds for any D that contains every region in which rows differ.

    `key`: columns by which rows of the table are found, tried first. `within_key`: no others may be used.
    `holds_result`: the table holds the rows of the result and no others, so that they can be found by their values.
    """
    try:
        return _rewrite(sql, inputs, key, within_key, holds_result)
    except CannotRewriteError as refused:
        return DeltaRefusal(refused.construct)
    except RecursionError:
        return DeltaRefusal(f"{CANNOT_REWRITE}: it is nested too deeply")


def _rewrite(
    sql: str, inputs: Mapping[TableName, InputTable], key: tuple[str, ...], within_key: bool, holds_result: bool
) -> DeltaQuery:
    _check_determinism(sql)
    script = first = read_script(sql, faithful=True)
    reader = BlockReader(script.tree, inputs)
    while (written := write_out_groupings(script, reader.values.names)) is not None:
        script = read_script(written, faithful=True)
        reader = BlockReader(script.tree, inputs)
    relation = read_relation(script, reader)
    if script is not first and len(relation.columns) < len(first.tree.selects):
        raise CannotRewriteError(CANNOT_REWRITE)  # a column was lost
    images = Images(sorted({base.table for base in reader.tables}))
    if holds_result and not within_key and isinstance(relation, Block) and is_one_row(relation) and relation.changed:
        return one_row(script, reader, relation, images)
    changed = [base for base in reader.tables if base.changed]
    refused: CannotRewriteError | None = None
    for places in _regions(relation, key, within_key, holds_result):
        names = [relation.columns[place] for place in places]
        toucher = TouchedKeysQuery(script, images, reader.values.fixes)
        try:
            selects = toucher.relation(relation, places, names)
        except CannotRewriteError as other:
            refused = refused or other
            continue
        once = len(selects) == 1 and selects[0] in toucher.once
        touched = selects[0] if once else union(selects) if selects else _nothing(script, names)
        only = changed[0] if len(changed) == 1 and not toucher.widened else None
        result = Restrictor(toucher, only).result(relation, places, names)
        unique = is_unique(relation, frozenset(places))
        guards = tuple(toucher.constants.values())
        reads = images.reads(touched, result, *toucher.constants)
        return DeltaQuery(tuple(names), unique, touched, result, reads, once, guards=guards)
    groups = unselected_groups(script, reader, relation, images) if holds_result and not within_key else None
    if groups is not None:
        return groups
    several = script is not first and isinstance(relation, SetOperation)
    why = "groupings of which no column is in the result" if several else _why_none(relation, key, within_key)
    raise refused or CannotRewriteError(why)


def read_relation(script: Script, reader: BlockReader) -> Relation:
    """Raises CannotRewriteError where the reader missed a table: its changes would go unnoticed."""
    relation = reader.relation(script.tree)
    read = {id(base.node) for base in reader.tables}
    for table in script.tree.find_all(exp.Table):
        named = isinstance(table.this, exp.Identifier) and table.find_ancestor(exp.Hint) is None
        if named and id(table) not in read:
            raise CannotRewriteError(f"{CANNOT_REWRITE}: the place where {table.name} is read")
    return relation


def _check_determinism(sql: str) -> None:
    query = parse_query(sql)
    if isinstance(query, ParsedQuery):
        found = first_change(query, {token.text.upper() for token in query.tokens})
        if found is not None:
            raise CannotRewriteError(found[0])
        if calls_unknown_function(query):
            raise CannotRewriteError("a function of which nothing is known")


def _nothing(script: Script, names: list[str]) -> str:
    """No rows, of the right types."""
    listed = ", ".join(map(name_text, names))
    return f"SELECT {listed}\nFROM (\n{indented(script.render({}))}\n) AS __result\nWHERE FALSE"


def _regions(
    relation: Relation, key: tuple[str, ...], within_key: bool, holds_result: bool
) -> Iterator[tuple[int, ...]]:
    low = [name.lower() for name in relation.columns]
    wanted = [name.lower() for name in key]
    tried: set[tuple[int, ...]] = set()
    offered: list[tuple[int, ...]] = []
    if key and all(low.count(name) == 1 for name in wanted):
        whole = tuple(low.index(name) for name in wanted)
        offered += [whole, tuple(place for place in whole if touchable(relation, relation.columns[place]))]
    for region in (*offered, *candidates(relation), *(by_values(relation) if holds_result else ())):
        fits = all(low.count(low[place]) == 1 for place in region) and not _is_constant(relation, region)
        if within_key and not {low[place] for place in region} <= set(wanted):
            fits = False
        if region and fits and region not in tried:
            tried.add(region)
            yield region


def _is_constant(relation: Relation, region: tuple[int, ...]) -> bool:
    return isinstance(relation, Block) and not any(relation.outputs[place].value.columns for place in region)


def _why_none(relation: Relation, key: tuple[str, ...], within_key: bool) -> str:
    if not isinstance(relation, Block):
        return NO_KEY
    if relation.obstacle is not None:
        return relation.obstacle
    low = {name.lower() for name in key}
    for output in relation.outputs:
        asked = within_key and output.name.lower() in low
        if (asked or (relation.group is not None and commutes(relation, output.value))) and not touchable(
            relation, output.name
        ):
            return why_untouchable(relation, output.name)
    for output in relation.outputs:
        if only_inexact(relation, output.value):
            return f"the column {output.name}, made of a key that may be a floating number"
    if relation.group is not None:
        return "a GROUP BY of which no column is in the result"
    if len({window.partition for window in relation.windows}) > 1:
        return "windows that share no column of PARTITION BY that is in the result"
    if relation.windows:
        return f"{relation.windows[0].text} with no column of its PARTITION BY in the result"
    untouchable = [output.name for output in relation.outputs if not touchable(relation, output.name)]
    if relation.outputs and len(untouchable) == len(relation.outputs):
        return why_untouchable(relation, untouchable[0])
    return NO_KEY


def needed_columns(sql: str, inputs: Mapping[TableName, InputTable]) -> Mapping[TableName, frozenset[str] | None]:
    """The columns that the query reads of each table. None: all, or it is not known."""
    try:
        script = read_script(sql, faithful=True)
        reader = BlockReader(script.tree, inputs)
        read_relation(script, reader)
    except (CannotRewriteError, RecursionError):
        return dict.fromkeys(inputs)
    if any(map(_takes_all, script.tree.find_all(exp.Star))):
        return dict.fromkeys(inputs)
    # Besides what the reader resolved, any identifier with a column's name: a rewrite need not look everywhere.
    named = {node.name.lower() for node in script.tree.find_all(exp.Identifier)}
    return {
        table: None
        if (used := reader.values.used.get(table, set())) is None
        else frozenset({*used, *(column for column in facts.columns if column.lower() in named)})
        for table, facts in inputs.items()
    }


def output_columns(sql: str, inputs: Mapping[TableName, InputTable]) -> tuple[str, ...]:
    """The columns of the result, stars expanded. Raises CannotRewriteError where they are not known."""
    script = read_script(sql, faithful=True)
    return read_relation(script, BlockReader(script.tree, inputs)).columns


def unique_columns(sql: str, inputs: Mapping[TableName, InputTable]) -> list[tuple[str, ...]]:
    """Sets of the query's columns of which no two rows of its result have the same values, the best first."""
    unchanged = {table: replace(facts, changed=False) for table, facts in inputs.items()}
    try:
        _check_determinism(sql)
        script = read_script(sql, faithful=True)
        relation = read_relation(script, BlockReader(script.tree, unchanged))
    except (CannotRewriteError, RecursionError):
        return []
    low = [name.lower() for name in relation.columns]
    found = [region for region in candidates(relation) if is_unique(relation, frozenset(region))]
    return [
        tuple(relation.columns[p] for p in region) for region in found if all(low.count(low[p]) == 1 for p in region)
    ]


def _takes_all(star: exp.Star) -> bool:
    """Whether the star is an argument of a function other than count; stars of a SELECT are resolved by the reader."""
    holder = star.parent.parent if isinstance(star.parent, exp.Column) else star.parent
    return not isinstance(holder, exp.Select) and not isinstance(star.parent, exp.Count)


def explain(delta: DeltaQuery, images: Mapping[str, str]) -> str:
    """One statement that gives the result. `images`: SQL for each image by name, and for OWN."""
    parts = [(read.name, images[read.name]) for read in delta.reads]
    parts += [(OWN, images[OWN])] if delta.reads_own else []
    parts += [(step.name, step.sql) for step in delta.steps]
    parts.append((TOUCHED, delta.touched))
    named = ",\n".join(f"{name_text(name)} AS (\n{indented(text)}\n)" for name, text in parts)
    return f"WITH {named}\n{delta.result}"


_COMMIT, _ROW, _PLACE = "__tidegate_commit", "__tidegate_row", "__tidegate_place"


def newest_rows(
    query: RowQuery, key: tuple[str, ...], inputs: Mapping[TableName, InputTable], order: Order
) -> str | Obstacle | None:
    """None where the query proves that its key is unique. An obstacle where its columns are not known, or lack the key.

    `order`: the commits inside which rows have an order, by their ids. Of a key whose newest commit has none, all rows
    of that commit are given.
    """
    wanted, sql = {name.lower() for name in key}, query.script.text[query.script.start : query.script.end]
    try:
        columns = output_columns(sql, inputs)
    except (CannotRewriteError, RecursionError) as refused:
        return Obstacle(f"its columns are not known: {refused}", "name each column in the SELECT list")
    if not wanted <= {name.lower() for name in columns}:
        return Obstacle("the query does not give all columns of unique_key", "select them")
    if any({name.lower() for name in proven} <= wanted for proven in unique_columns(sql, inputs)):
        return None
    rows = _with_lineage(query)
    inside, function = _ROW, "row_number"
    if order != WHOLE:
        others = f" AND {_COMMIT} NOT IN ({', '.join(map(str, order.without))})" if order.without else ""
        inside, function = f"CASE WHEN {_COMMIT} >= {order.since}{others} THEN {_ROW} END", "rank"
    rank = (
        f"{function}() OVER (PARTITION BY {_names(key)}"
        f" ORDER BY {_COMMIT} DESC NULLS LAST, {inside} DESC NULLS LAST) AS {_PLACE}"
    )
    return (
        f"SELECT {_names(columns)}\nFROM (SELECT {_names(columns)}, {rank}\nFROM (\n{rows}\n) AS __tidegate_rows"
        f") AS __tidegate_ranked\nWHERE {_PLACE} = 1"
    )


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quote, columns))


def _with_lineage(query: RowQuery) -> str:
    """The query with commit and row id beside its columns, from the table outwards."""
    edits = {}
    for depth, (select, begin) in enumerate(zip(query.selects, query.begins, strict=True)):
        innermost = depth == len(query.selects) - 1
        if not innermost and any(map(is_star, select.expressions)):
            continue  # it takes them over with the others
        names = LINEAGE if innermost else (_COMMIT, _ROW)
        added = ", ".join(f"{name} AS {alias}" for name, alias in zip(names, (_COMMIT, _ROW), strict=True))
        edits[depth] = Edit(begin, begin, f" {added},")
    return query.script.render(edits)
