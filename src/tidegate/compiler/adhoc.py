"""A query typed by a person → the SQL that Spark gets. It is read-only: one SELECT over tables of the lake."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tidegate.compiler.as_of import AsOf, as_of
from tidegate.compiler.catalog import TableIndex
from tidegate.compiler.edits import Edit, apply_edits
from tidegate.compiler.qualifiers import shorten_columns
from tidegate.compiler.queries import Query, Reference, SqlFault, parse_query
from tidegate.compiler.values import BoundQuery, TableRead
from tidegate.config import Settings
from tidegate.errors import QueryError
from tidegate.names import TableName, quote

__all__ = ["bind_adhoc"]


def bind_adhoc(
    sql: str,
    settings: Settings,
    tables: Collection[TableName],
    settled: Callable[[TableName, AsOf], int | None] = lambda table, clause: None,
) -> BoundQuery:
    """Names in full, everything else as typed. Raises QueryError for anything but one query over `tables`.

    Unlike a model, which reads its branch, a person may look at a table as it was: VERSION AS OF, TIMESTAMP AS OF.
    `settled`: the snapshot that is read instead of the one that such a clause asks for, if another one is.
    """
    query = _readable(sql)
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
        if alias and _as_it_was(reference):
            # Its alias would have to stand behind AS OF.
            name = ".".join(reference.parts)
            raise QueryError(
                f"{name} AS OF is named like another table of the query",
                where="the query",
                remedy=f"Give it a name of its own: {name} VERSION AS OF … AS t",
            )
        text = table.quoted + (f" AS {quote(alias)}" if alias else "")
        read = TableRead(0, len(table.quoted), reference.alias or alias, reference.driving, table=table)
        edits.append(Edit(reference.start, reference.end, text, (read,)))
        clause = as_of(query, reference)
        snapshot = settled(table, clause) if clause else None
        if clause and snapshot is not None:
            edits.append(Edit(clause.start, clause.end, f"VERSION AS OF {snapshot}"))
    text, reads = apply_edits(query.text, edits, query.start, query.end)
    return BoundQuery(text, reads)


def _readable(sql: str) -> Query:
    found = parse_query(sql)
    faults = [fault for fault in found.faults if fault.code != "TimeTravel"] if isinstance(found, Query) else [found]
    if isinstance(found, SqlFault) or faults:
        message = faults[0].message.replace("a model is", "only").replace("the file holds", "there is")
        raise QueryError(message, where="the query", remedy=faults[0].suggestion)
    return found


def _as_it_was(reference: Reference) -> bool:
    return bool(reference.node.args.get("version") or reference.node.args.get("when"))
