"""Columns qualified by a table's layer, made to mean the same where the table is named in full.

A table read by a Spark catalog's four-part name is known to its columns by the last part alone: `silver.orders.id`
must become `orders.id`. Where that would mean two tables, they get aliases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from tidegate.compiler.sql.queries import ParsedQuery, TableReference
from tidegate.compiler.sql.scopes import enclosing_selects, sources_of, visible_name
from tidegate.compiler.sql.sql_text import Edit
from tidegate.names import TableName

__all__ = ["Shortening", "shorten_columns"]


@dataclass(frozen=True, slots=True)
class Shortening:
    """`aliases` by the start of the reference that needs one; `edits`: spans of qualifiers with their replacement."""

    aliases: Mapping[int, str]
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class _Match:
    """A column qualified by a table's own name; the parts before `keep` name the layer."""

    parts: tuple[Any, ...]
    keep: int
    reference: TableReference
    scopes: tuple[Any, ...]


def shorten_columns(query: ParsedQuery, tables: Mapping[int, TableName]) -> Shortening:
    """`tables`: what each reference means, by its start."""
    by_node = {id(reference.node): reference for reference in query.references if reference.start in tables}
    matches = [match for column in query.tree.find_all(exp.Column) if (match := _match(column, by_node, tables))]
    aliases: dict[int, str] = {}
    for match in matches:
        for reference in _to_alias(match, by_node):
            aliases.setdefault(reference.start, _free_name(query, tables[reference.start], aliases))
    edits = []
    for match in matches:
        first, kept = match.parts[0].meta["start"], match.parts[match.keep]
        alias = aliases.get(match.reference.start)
        end = kept.meta["start"] if alias is None else kept.meta["end"] + 1
        edits.append(Edit(first, end, "" if alias is None else f"`{alias}`"))
    return Shortening(aliases, tuple(edits))


def _match(column: Any, by_node: Mapping[int, TableReference], tables: Mapping[int, TableName]) -> _Match | None:
    parts = tuple(column.parts)
    if len(parts) < 3:
        return None
    words = tuple(str(part.name).lower() for part in parts)
    passed: list[Any] = []
    for select in enclosing_selects(column):
        sources = sources_of(select)
        passed.append(select)
        named = [found for source in sources if (found := by_node.get(id(source))) and not found.alias]
        fitting = [(r, keep) for r in named if (keep := _qualifier_end(words, tables[r.start])) is not None]
        nodes = [reference.node for reference, _ in fitting]
        # An alias `silver` with a struct column `orders` goes before a table of layer silver; two reads of one table
        # without aliases are ambiguous, which Spark reports.
        if len(fitting) > 1 or any(visible_name(s) == words[0] for s in sources if not any(s is n for n in nodes)):
            return None
        if fitting:
            return _Match(parts, fitting[0][1], fitting[0][0], tuple(passed))
    return None


def _qualifier_end(words: tuple[str, ...], table: TableName) -> int | None:
    full = (table.namespace.lower(), table.layer.lower(), table.name.lower())
    for qualifier in (full, full[1:]):
        if len(words) > len(qualifier) and words[: len(qualifier)] == qualifier:
            return len(qualifier) - 1
    return None


def _to_alias(match: _Match, by_node: Mapping[int, TableReference]) -> Iterator[TableReference]:
    """The references that share the last part of their name where the column can see them."""
    name = match.reference.parts[-1].lower()
    others = [
        source
        for select in match.scopes
        for source in sources_of(select)
        if source is not match.reference.node and visible_name(source) == name
    ]
    if not others:
        return
    yield match.reference
    for source in others:
        reference = by_node.get(id(source))
        if reference and not reference.alias and source.parent_select is match.reference.node.parent_select:
            yield reference


def _free_name(query: ParsedQuery, table: TableName, taken: Mapping[int, str]) -> str:
    used = {str(name.name).lower() for name in query.tree.find_all(exp.Identifier)} | set(taken.values())
    name = f"{table.layer}_{table.name}".lower().replace("`", "_")
    while name in used:
        name += "_"
    return name
