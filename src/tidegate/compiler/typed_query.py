"""What is wrong in a query that a person typed, in the words and with the places that a model's query gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from tidegate.compiler.analysis.query import analyze
from tidegate.compiler.analysis.values import Source
from tidegate.compiler.queries import Query, SqlFault
from tidegate.compiler.values import Diagnostic, DiagnosticSeverity, Span
from tidegate.config import Settings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.errors import StatementError
from tidegate.names import TableName

__all__ = ["ColumnsOf", "column_faults", "refused"]

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
    query: Query, tables: Mapping[int, TableName], columns_of: ColumnsOf, settings: Settings
) -> Iterator[SqlFault]:
    """Columns, functions and types that do not fit. `tables`: which table each reference is, by its start.

    What a table looked like before is not known here, and names may be given twice: both columns are shown.
    """
    sources = {}
    for reference in query.references:
        table = tables[reference.start]
        as_it_was = reference.node.args.get("version") or reference.node.args.get("when")
        relation = NOTHING_KNOWN if as_it_was else columns_of(table)
        sources[id(reference.node)] = Source(str(table), relation, open=True)
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
