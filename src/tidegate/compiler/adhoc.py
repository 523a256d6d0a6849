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

__all__ = ["AsOf", "ColumnsOf", "as_of", "bind_adhoc", "column_faults", "refused"]

_SPARK = Dialect.get_or_raise("spark")
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class AsOf:
    """`text[start:end]` of the query is the clause. `kind`: VERSION or TIMESTAMP; `value` is what follows AS OF."""

    kind: str
    value: str
    start: int
    end: int


def as_of(query: ParsedQuery, reference: TableReference) -> AsOf | None:
    """The clause behind a table; None where the table is read as it is."""
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
    """The last word of the value. The tree does not say where a value ends, so it is the longest text that reads so,
    without the AS of a name."""
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
    settled: Callable[[TableName, AsOf], int | None] = lambda table, clause: None,
    columns_of: ColumnsOf | None = None,
) -> BoundQuery:
    """Names in full, everything else as typed. Raises StatementError for anything but one query over `tables`, and for
    columns, functions and types that do not fit where `columns_of` says what columns a table has.

    Unlike a model, which reads its branch, a person may look at a table as it was: VERSION AS OF, TIMESTAMP AS OF.
    `settled`: the snapshot that is read instead of the one that such a clause asks for, if another one is.
    """
    query, unlisted = _readable(sql, Permissions(settings.spark.function_names))
    faults: list[SqlFault] = []
    index = TableIndex((), tables, settings.project.namespace)
    found: dict[int, TableName] = {}
    for reference in query.references:
        table = index.find(reference.parts)
        if table is None:
            name, near = ".".join(reference.parts), index.near(reference.parts)
            meant = f"did you mean {' or '.join(near)}?" if near else "`tidegate ls` lists the project's models"
            message = f"there is no table {name} on main"
            faults.append(SqlFault("UnknownDependency", message, reference.start, meant))
        else:
            found[reference.start] = table
    if not faults and columns_of is not None:
        faults += column_faults(query, found, columns_of, settings)
    known = {(fault.code, fault.offset) for fault in faults}
    faults += [fault for fault in unlisted if (fault.code, fault.offset) not in known]
    if faults:
        raise refused(sql, faults)
    shortening = shorten_columns(query, found)
    edits = [Edit(start, end, text) for start, end, text in shortening.edits]
    for reference in query.references:
        table = found[reference.start]
        alias = None if reference.alias else shortening.aliases.get(reference.start)
        if alias and _as_it_was(reference):
            # Its alias would have to stand behind AS OF.
            name = ".".join(reference.parts)
            message = f"{name} AS OF is named like another table of the query"
            suggestion = f"give it a name of its own: {name} VERSION AS OF … AS t"
            raise refused(sql, [SqlFault("AmbiguousColumn", message, reference.start, suggestion)])
        text = table.quoted + (f" AS {quote(alias)}" if alias else "")
        read = TableRead(0, len(table.quoted), reference.alias or alias, reference.driving, table=table)
        edits.append(Edit(reference.start, reference.end, text, (read,)))
        clause = as_of(query, reference)
        snapshot = settled(table, clause) if clause else None
        if clause and snapshot is not None:
            edits.append(Edit(clause.start, clause.end, f"VERSION AS OF {snapshot}"))
    text, reads = apply_edits(query.text, edits, query.start, query.end)
    return BoundQuery(text, reads)


def _readable(sql: str, permissions: Permissions) -> tuple[ParsedQuery, tuple[SqlFault, ...]]:
    """The query, and its calls of functions that no list has."""
    query = parse_query(sql)
    if isinstance(query, SqlFault):
        raise refused(sql, [_as_typed(query)])
    not_permitted, unlisted = check_permissions(query, permissions)
    faults = [*(fault for fault in query.faults if fault.code != "TimeTravel"), *not_permitted]
    if faults:
        raise refused(sql, map(_as_typed, faults))
    return query, unlisted


def _as_typed(fault: SqlFault) -> SqlFault:
    """Of a query, not of a model's file."""
    message = fault.message.replace("; a model is one query", "")
    message = message.replace("a model is", "only").replace("the file holds", "there is")
    return replace(fault, message=message, suggestion=fault.suggestion or _HELP.get(fault.code))


def _as_it_was(reference: TableReference) -> bool:
    return bool(reference.node.args.get("version") or reference.node.args.get("when"))


ColumnsOf = Callable[[TableName], Relation]

_METADATA_COLUMN = re.compile(
    r"'(?:[^']*\.)?`?_(?:file|pos|deleted|spec_id|partition|row_id|last_updated_sequence_number)`?'", re.IGNORECASE
)
"""Which Iceberg has beside a table's own."""


def refused(text: str, faults: Iterable[SqlFault]) -> StatementError:
    """The error of a query that is not run; `faults` are at least one."""
    return StatementError(text, tuple(_diagnostic(text, fault) for fault in faults))


def _diagnostic(text: str, fault: SqlFault) -> Diagnostic:
    line = text.count("\n", 0, fault.offset) + 1
    col = fault.offset - (text.rfind("\n", 0, fault.offset) + 1) + 1
    span = Span(StatementError.file, line, col)
    return Diagnostic(DiagnosticSeverity.ERROR, fault.code, fault.message, None, span, fault.suggestion)


def column_faults(
    query: ParsedQuery, tables: Mapping[int, TableName], columns_of: ColumnsOf, settings: Settings
) -> Iterator[SqlFault]:
    """Columns, functions and types that do not fit. `tables`: which table each reference is, by its start.

    What a table looked like before is not known here, and names may be given twice: both columns are shown.
    """
    sources = {}
    for reference in query.references:
        table = tables[reference.start]
        as_it_was = reference.node.args.get("version") or reference.node.args.get("when")
        relation = NOTHING_KNOWN if as_it_was else columns_of(table)
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
