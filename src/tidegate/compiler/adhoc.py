"""A query typed by a person → the SQL that Spark gets. It is read-only: one SELECT over tables of the lake."""

from __future__ import annotations

from collections.abc import Collection

from tidegate.compiler.catalog import TableIndex
from tidegate.compiler.edits import Edit, apply_edits
from tidegate.compiler.qualifiers import shorten_columns
from tidegate.compiler.queries import SqlFault, sound_query
from tidegate.compiler.values import BoundQuery, TableRead
from tidegate.config import Settings
from tidegate.errors import QueryError
from tidegate.names import TableName, quote

__all__ = ["bind_adhoc"]


def bind_adhoc(sql: str, settings: Settings, tables: Collection[TableName]) -> BoundQuery:
    """Names in full, everything else as typed. Raises QueryError for anything but one query over `tables`."""
    query = sound_query(sql)
    if isinstance(query, SqlFault):
        message = query.message.replace("a model is", "only").replace("the file holds", "there is")
        raise QueryError(message, where="the query", remedy=query.suggestion)
    index = TableIndex((), tables, settings.project.namespace)
    found: dict[int, TableName] = {}
    for reference in query.references:
        table = index.find(reference.parts)
        if table is None:
            name, near = ".".join(reference.parts), index.near(reference.parts)
            meant = f"Did you mean {' or '.join(near)}?" if near else "`tidegate ls` lists the project's models."
            raise QueryError(f"There is no table {name} on main", where="the query", remedy=meant)
        found[reference.start] = table
    shortening = shorten_columns(query, found)
    edits = [Edit(start, end, text) for start, end, text in shortening.edits]
    for reference in query.references:
        table = found[reference.start]
        alias = None if reference.alias else shortening.aliases.get(reference.start)
        text = table.quoted + (f" AS {quote(alias)}" if alias else "")
        read = TableRead(0, len(table.quoted), reference.alias or alias, reference.driving, table=table)
        edits.append(Edit(reference.start, reference.end, text, (read,)))
    text, reads = apply_edits(query.text, edits, query.start, query.end)
    return BoundQuery(text, reads)
