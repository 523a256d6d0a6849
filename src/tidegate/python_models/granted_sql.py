"""The SQL of `tg.sql`: one SELECT over what the model reads. Both kinds of models hold it to these rules."""

from __future__ import annotations

from collections.abc import Callable, Collection

from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.qualifiers import shorten_columns
from tidegate.compiler.sql.queries import SqlFault, TableReference, parse_permitted
from tidegate.compiler.sql.sql_text import Edit, apply_edits
from tidegate.errors import QueryError
from tidegate.names import TableName, quote
from tidegate.python_inputs import ReadKind, handle_of

__all__ = ["over_grants"]


def over_grants(
    text: str,
    handles: Collection[str],
    namespace: str,
    functions: frozenset[str],
    relation: Callable[[str], str],
) -> str:
    """The query over other relations. `handles`: what may be read; `functions`: those of the project, in lower case;
    `relation`: the name in SQL for a handle. Raises QueryError."""
    query = parse_permitted(text, Permissions(functions))
    if isinstance(query, SqlFault):
        raise _refused(text, query)
    tables, edits = {}, []
    for reference in query.references:
        handle = handle_of(ReadKind.REF, ".".join(reference.parts), namespace)
        if handle not in handles:
            raise _refused(text, _not_granted(reference, handles))
        tables[reference.start] = TableName.parse(".".join(reference.parts), namespace)
    shortening = shorten_columns(query, tables)
    for reference in query.references:
        alias = shortening.aliases.get(reference.start) or reference.parts[-1]
        sampled = reference.node.args.get("sample") is not None  # the name would have to follow the sample
        named = "" if reference.alias or sampled else f" AS {quote(alias)}"
        handle = handle_of(ReadKind.REF, ".".join(reference.parts), namespace)
        edits.append(Edit(reference.start, reference.end, f"{relation(handle)}{named}"))
    sql, _ = apply_edits(query.text, [*shortening.edits, *edits], query.start, query.end)
    return sql


def _not_granted(reference: TableReference, handles: Collection[str]) -> SqlFault:
    name = ".".join(reference.parts)
    readable = [handle.removeprefix("ref ") for handle in sorted(handles) if handle.startswith("ref ")]
    message = f"the model does not declare that it reads {name}"
    if readable:
        message += f"; it declares {', '.join(readable)}"
    hint = f"write the query as one text in the call, or add `# @depends_on: {name}` to the file"
    return SqlFault("UnknownDependency", message, reference.start, hint)


def _refused(text: str, fault: SqlFault) -> QueryError:
    line = text.count("\n", 0, fault.offset) + 1
    place = f", line {line} of the query" if "\n" in text.strip() else ""
    remedy = fault.suggestion
    return QueryError(f"tg.sql{place}: {fault.message}", remedy=f"{remedy[0].upper()}{remedy[1:]}." if remedy else None)
