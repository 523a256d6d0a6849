"""A query typed by a person → the SQL that Spark gets. It is read-only: one SELECT over tables of the lake."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import Dialect
from sqlglot.errors import SqlglotError

from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.query_tokens import rewrite_tokens
from tidegate.compiler.analysis.scoping import QuerySource
from tidegate.compiler.compiled import BoundQuery, Diagnostic, DiagnosticSeverity, Span, TableRead
from tidegate.compiler.sql.permitted import Permissions
from tidegate.compiler.sql.qualifiers import shorten_columns
from tidegate.compiler.sql.queries import ParsedQuery, SqlFault, TableReference, check_permissions, parse_query
from tidegate.compiler.sql.sql_text import Edit, apply_edits
from tidegate.compiler.table_index import TableIndex
from tidegate.config import Settings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.errors import StatementError
from tidegate.names import TableName, quote

__all__ = ["AsOf", "ColumnsOf", "bind_adhoc", "refused"]

_SPARK = Dialect.get_or_raise("spark")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class AsOf:
    """`text[start:end]` of the query is the clause."""

    kind: str
    """VERSION or TIMESTAMP."""
    value: str
    """The text after AS OF."""
    start: int
    end: int


def as_of(query: ParsedQuery, reference: TableReference) -> AsOf | None:
    """The clause behind a table; None where its present state is read."""
    version = reference.node.args.get("version")
    if version is None:
        return None
    words = [token for token in query.tokens if token.start >= reference.end]
    begins = next((at for at, word in enumerate(words) if word.text.upper() == "OF"), None)
    last = _last_word(words[begins + 1 :], query.text, version.expression) if begins is not None else None
    if begins is None or last is None:
        return None
    value = query.text[words[begins + 1].start : last.end + 1]
    return AsOf(str(version.this).upper(), value, words[0].start, last.end + 1)


def _last_word(words: list[Any], text: str, expression: Any) -> Any | None:
    """The last word of the value. The tree does not record where a value ends, so it is the longest text that is parsed
    to the same value, without the AS of an alias."""
    tried = enumerate(words[:_LONGEST], 1)
    ends = [word for at, word in tried if word.text.upper() != "AS" and _reads_as(words[:at], text, expression)]
    return ends[-1] if ends else None


def _reads_as(words: list[Any], text: str, expression: Any) -> bool:
    try:
        trees = _SPARK.parser().parse(rewrite_tokens(words), text)
    except (SqlglotError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return bool(trees) and trees[0] == expression


_HELP = {
    "NotAQuery": "tables are changed by models and `tidegate run`; this command reads them",
    "MultipleStatements": "run them one by one",
}


def bind_adhoc(
    sql: str,
    settings: Settings,
    tables: Collection[TableName],
    pinned_snapshot: Callable[[TableName, AsOf], int | None] = lambda table, clause: None,
    columns_of: ColumnsOf | None = None,
) -> BoundQuery:
    """Names in full, everything else as typed. Raises StatementError for anything but one query over `tables`, and for
    wrong columns, functions and types where `columns_of` gives the columns of a table.

    Unlike a model, which reads its branch, such a query may read an earlier state: VERSION AS OF, TIMESTAMP AS OF.
    `pinned_snapshot`: the snapshot to read in place of such a clause; None leaves the clause unchanged.
    """
    query, unlisted = _readable(sql, Permissions(settings.spark.function_names))
    faults: list[SqlFault] = []
    index = TableIndex((), tables, settings.project.namespace)
    tables_read: dict[int, TableName] = {}
    for reference in query.references:
        table = index.find(reference.parts)
        if table is None:
            name, near = ".".join(reference.parts), index.near(reference.parts)
            hint = f"did you mean {' or '.join(near)}?" if near else "`tidegate ls` lists the project's models"
            message = f"there is no table {name} on main"
            faults.append(SqlFault("UnknownDependency", message, reference.start, hint))
        else:
            tables_read[reference.start] = table
    if not faults and columns_of is not None:
        faults += column_faults(query, tables_read, columns_of, settings)
    reported = {(fault.code, fault.offset) for fault in faults}
    faults += [fault for fault in unlisted if (fault.code, fault.offset) not in reported]
    if faults:
        raise refused(sql, faults)
    shortening = shorten_columns(query, tables_read)
    edits = list(shortening.edits)
    for reference in query.references:
        table = tables_read[reference.start]
        alias = None if reference.alias else shortening.aliases.get(reference.start)
        if alias and _reads_earlier_state(reference):
            # Its alias would have to follow AS OF.
            name = ".".join(reference.parts)
            message = f"{name} AS OF is named like another table of the query"
            suggestion = f"give it a name of its own: {name} VERSION AS OF … AS t"
            raise refused(sql, [SqlFault("AmbiguousColumn", message, reference.start, suggestion)])
        text = table.quoted + (f" AS {quote(alias)}" if alias else "")
        read = TableRead(0, len(table.quoted), reference.alias or alias, reference.driving, table=table)
        edits.append(Edit(reference.start, reference.end, text, (read,)))
        clause = as_of(query, reference)
        snapshot = pinned_snapshot(table, clause) if clause else None
        if clause and snapshot is not None:
            edits.append(Edit(clause.start, clause.end, f"VERSION AS OF {snapshot}"))
    text, reads = apply_edits(query.text, edits, query.start, query.end)
    return BoundQuery(text, reads)


def _readable(sql: str, permissions: Permissions) -> tuple[ParsedQuery, tuple[SqlFault, ...]]:
    """The query, and its calls of unknown functions."""
    query = parse_query(sql)
    if isinstance(query, SqlFault):
        raise refused(sql, [_as_typed(query)])
    not_permitted, unlisted = check_permissions(query, permissions)
    faults = [*(fault for fault in query.faults if fault.code != "TimeTravel"), *not_permitted]
    if faults:
        raise refused(sql, map(_as_typed, faults))
    return query, unlisted


def _as_typed(fault: SqlFault) -> SqlFault:
    """The message for a query instead of a model's file."""
    message = fault.message.replace("; a model is one query", "")
    message = message.replace("a model is", "only").replace("the file holds", "there is")
    return replace(fault, message=message, suggestion=fault.suggestion or _HELP.get(fault.code))


def _reads_earlier_state(reference: TableReference) -> bool:
    return bool(reference.node.args.get("version") or reference.node.args.get("when"))


ColumnsOf = Callable[[TableName], Relation]

_METADATA_COLUMN = re.compile(
    r"'(?:[^']*\.)?`?_(?:file|pos|deleted|spec_id|partition|row_id|last_updated_sequence_number)`?'", re.IGNORECASE
)
"""Iceberg's metadata columns."""


def refused(text: str, faults: Iterable[SqlFault]) -> StatementError:
    """The error of a query that is not run, for one or more faults."""
    return StatementError(text, tuple(_diagnostic(text, fault) for fault in faults))


def _diagnostic(text: str, fault: SqlFault) -> Diagnostic:
    line = text.count("\n", 0, fault.offset) + 1
    col = fault.offset - (text.rfind("\n", 0, fault.offset) + 1) + 1
    span = Span(StatementError.file, line, col)
    return Diagnostic(DiagnosticSeverity.ERROR, fault.code, fault.message, None, span, fault.suggestion)


def column_faults(
    query: ParsedQuery, tables: Mapping[int, TableName], columns_of: ColumnsOf, settings: Settings
) -> Iterator[SqlFault]:
    """Wrong columns, functions and types. `tables`: the table of each reference, by its start.

    The columns of an earlier state are not known here, and two columns may share a name: both are shown.
    """
    sources = {}
    for reference in query.references:
        table = tables[reference.start]
        relation = NOTHING_KNOWN if _reads_earlier_state(reference) else columns_of(table)
        sources[id(reference.node)] = QuerySource(str(table), relation, open=True)
    lenient = settings.spark.conf.get("spark.sql.ansi.enabled", "true").lower() == "false"
    own_functions = settings.spark.function_names
    for finding in analyze(query.tree, sources, own_functions).findings:
        if finding.severity is not DiagnosticSeverity.ERROR or finding.code == "DuplicateColumn":
            continue
        if lenient and finding.code == "TypeMismatch":
            continue
        if finding.code == "UnknownColumn" and _METADATA_COLUMN.search(finding.message):
            continue
        yield SqlFault(finding.code, finding.message, finding.offset, finding.suggestion)
