"""Changes of interfaces as diagnostics, at the place in the project that made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tidegate.compiler.changes.compare import ChangeKind, Impact, InterfaceChange, Reached
from tidegate.compiler.sql.outputs import line_and_column, offset_in_source
from tidegate.compiler.values import Compiled, Diagnostic, DiagnosticSeverity, Span
from tidegate.names import TableName
from tidegate.project import Model

__all__ = ["change_diagnostics", "not_compared"]

_SHOWN = 3
_SETTINGS = {
    ChangeKind.TARGET: ("materialized", "kind", "merge_strategy"),
    ChangeKind.STRATEGY: ("merge_strategy", "kind"),
    ChangeKind.KEY: ("unique_key", "group_key", "partition_column", "time_column"),
    ChangeKind.PARTITIONING: ("partitioned_by", "partition_column"),
}


def change_diagnostics(changes: Iterable[InterfaceChange], compiled: Compiled) -> Iterator[Diagnostic]:
    """`compiled` is the state after. A model that is gone has no place, so its diagnostic has no span."""
    for change in changes:
        message = _with_reach(change, compiled.namespace)
        model, suggestion = change.table.short(compiled.namespace), change.suggestion
        span = _span(change, compiled)
        match change.impact:
            case Impact.BREAKING:
                severity = DiagnosticSeverity.ERROR
                yield Diagnostic(severity, "BreakingChange", message, model, span, suggestion)
            case Impact.WARNING:
                severity = DiagnosticSeverity.WARNING
                yield Diagnostic(severity, "RiskyChange", message, model, span, suggestion)
            case Impact.INFO:
                severity = DiagnosticSeverity.INFO
                yield Diagnostic(severity, "SafeChange", message, model, span, suggestion)


def not_compared(tables: Iterable[TableName], compiled: Compiled, against: str) -> Iterator[Diagnostic]:
    """Models of which nobody can say what changed."""
    for table in sorted(tables):
        short = table.short(compiled.namespace)
        state = "here" if table in compiled.broken else f"at '{against}'"
        message = f"{short} has errors {state}, so what changed in it is not told"
        found = compiled.models.get(table)
        span = Span(found.model.file, 1) if found else None
        yield Diagnostic(DiagnosticSeverity.INFO, "NotCompared", message, short, span)


def _with_reach(change: InterfaceChange, namespace: str) -> str:
    if not change.reaches:
        return change.message
    shown = ", ".join(_short(node, namespace) for node in change.reaches[:_SHOWN])
    more = len(change.reaches) - _SHOWN
    return f"{change.message}; it reaches {shown}{f' and {more} more' if more > 0 else ''}"


def _short(node: Reached, namespace: str) -> str:
    table = TableName.parse(node.table, namespace).short(namespace)
    return f"the rows of {table}" if node.column is None else f"{table}.{node.column}"


def _span(change: InterfaceChange, compiled: Compiled) -> Span | None:
    found = compiled.models.get(change.table)
    if found is None:
        return None
    model = found.model
    offset = offset_in_source(model.source, change.column) if change.column else _directive(model, change.kind)
    if offset is None:
        return Span(model.file, 1)
    return Span(model.file, *line_and_column(model.source, offset))


def _directive(model: Model, kind: ChangeKind) -> int | None:
    """Where the setting is written, if it is in the file's own header."""
    names = "|".join(_SETTINGS.get(kind, ()))
    match = re.search(rf"^\s*--\s*(@(?:{names}))\s*:", model.source.replace("\r\n", "\n"), re.MULTILINE)
    return match.start(1) if names and match else None
