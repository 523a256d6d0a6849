"""What a change of the project means to the readers of its tables: two states compared, what the change affects, and
the diagnostics that report it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegate.compiler.changes.interfaces import Interface, Interfaces
from tidegate.compiler.compiled import Compiled, Diagnostic, DiagnosticSeverity, Span
from tidegate.compiler.lineage_graph import LineageStep
from tidegate.compiler.sql.locate import line_and_column, offset_in_source
from tidegate.datatypes import Column, DataType
from tidegate.names import TableName, nearest
from tidegate.project import Materialized, Model
from tidegate.widening import holds

__all__ = [
    "ChangeKind",
    "Impact",
    "InterfaceChange",
    "Reach",
    "Reached",
    "TypeChange",
    "change_diagnostics",
    "compare",
    "not_compared",
    "type_change",
]


class TypeChange(StrEnum):
    SAME = "same"
    WIDENED = "widened"
    NARROWED = "narrowed"
    CHANGED = "changed"
    """Neither holds the other's values."""


def type_change(before: DataType, after: DataType) -> TypeChange:
    """A type that is unknown on either side counts as unchanged."""
    wider, narrower = holds(after, before), holds(before, after)
    if wider:
        return TypeChange.SAME if narrower else TypeChange.WIDENED
    return TypeChange.NARROWED if narrower else TypeChange.CHANGED


class Impact(StrEnum):
    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


class ChangeKind(StrEnum):
    MODEL_REMOVED = "model removed"
    MODEL_ADDED = "model added"
    TARGET = "target"
    STRATEGY = "strategy"
    KEY = "key"
    PARTITIONING = "partitioning"
    COLUMN_REMOVED = "column removed"
    COLUMN_ADDED = "column added"
    COLUMN_TYPE = "column type"
    NULLABLE = "nullable"
    ORDER = "order"


@dataclass(frozen=True, slots=True)
class Reached:
    """Something downstream of a change: a column, or (None) which rows the table has."""

    table: str
    column: str | None


@dataclass(frozen=True, slots=True)
class InterfaceChange:
    """`column` None: of the table as a whole. `reaches`: everything downstream of the change."""

    impact: Impact
    kind: ChangeKind
    table: TableName
    message: str
    column: str | None = None
    suggestion: str | None = None
    reaches: tuple[Reached, ...] = ()


Reach = Callable[[str, str], Iterable[LineageStep]]
"""What is downstream of a table's column, such as `LineageGraph.impact`."""


def compare(
    before: Interfaces, after: Interfaces, reach: Reach | None = None, unjudged: Collection[TableName] = ()
) -> tuple[InterfaceChange, ...]:
    """In order of table. `unjudged` tables are left out: their models have errors in one of the states.

    What is unknown in one of the states counts as unchanged. `reach` should cover the state before: only that has what
    was removed.
    """
    changes: list[InterfaceChange] = []
    for table in sorted((before.keys() | after.keys()) - set(unjudged)):
        old, new = before.get(table), after.get(table)
        if old is not None and new is not None:
            changes += _changed(old, new)
        elif old is not None and old.materialized is not Materialized.EPHEMERAL:
            added = [other for name, other in after.items() if name not in before]
            renamed = _renamed_table(old, added)
            suggestion = f"did you rename it to {renamed.table.short(table.namespace)}?" if renamed else None
            message = "the model is gone, so its table is no longer built"
            kind = ChangeKind.MODEL_REMOVED
            changes.append(InterfaceChange(Impact.BREAKING, kind, table, message, suggestion=suggestion))
        elif new is not None and new.materialized is not Materialized.EPHEMERAL:
            changes.append(InterfaceChange(Impact.INFO, ChangeKind.MODEL_ADDED, table, "the model is new"))
    return tuple(replace(change, reaches=_reached(change, before, reach)) for change in changes)


def _changed(old: Interface, new: Interface) -> Iterator[InterfaceChange]:
    if old.materialized is not new.materialized:
        yield from _target(old, new)
    if Materialized.EPHEMERAL in (old.materialized, new.materialized):
        return
    if old.materialized is new.materialized is Materialized.TABLE:
        yield from _writing(old, new)
    yield from _columns(old, new)


def _target(old: Interface, new: Interface) -> Iterator[InterfaceChange]:
    if old.materialized is Materialized.EPHEMERAL:
        message = f"the model is {_article(new.materialized)} now and can be read by others"
        yield InterfaceChange(Impact.INFO, ChangeKind.MODEL_ADDED, new.table, message)
    else:
        message = f"the model was {_article(old.materialized)} and is {_article(new.materialized)} now"
        yield InterfaceChange(Impact.BREAKING, ChangeKind.TARGET, new.table, message)


def _writing(old: Interface, new: Interface) -> Iterator[InterfaceChange]:
    if old.strategy != new.strategy:
        message = f"the strategy was {old.strategy} and is {new.strategy} now"
        yield InterfaceChange(Impact.BREAKING, ChangeKind.STRATEGY, new.table, message)
    elif old.unique_key is not None and new.unique_key is not None and _set(old.unique_key) != _set(new.unique_key):
        message = f"the key was {', '.join(old.unique_key)} and is {', '.join(new.unique_key)} now"
        yield InterfaceChange(Impact.BREAKING, ChangeKind.KEY, new.table, message)
    if None not in (old.partitioning, new.partitioning) and old.partitioning != new.partitioning:
        was, now = (", ".join(side.partitioning or ()) or "nothing" for side in (old, new))
        message = f"the table was partitioned by {was} and is by {now} now"
        yield InterfaceChange(Impact.WARNING, ChangeKind.PARTITIONING, new.table, message)


def _columns(old: Interface, new: Interface) -> Iterator[InterfaceChange]:
    removed = [column for column in _named_columns(old) if new.columns.find(column.name) is None]
    added = [column for column in _named_columns(new) if old.columns.find(column.name) is None]
    for column in removed if new.columns.complete else ():
        renamed = _renamed_column(column, added)
        suggestion = f"did you rename it to '{renamed.name}'?" if renamed else None
        message, kind = f"column '{column.name}' is gone", ChangeKind.COLUMN_REMOVED
        yield InterfaceChange(Impact.BREAKING, kind, new.table, message, column.name, suggestion)
    for column in added if old.columns.complete else ():
        message = f"column '{column.name}' is new"
        yield InterfaceChange(Impact.INFO, ChangeKind.COLUMN_ADDED, new.table, message, column.name)
    for column in _named_columns(old):
        if now := new.columns.find(column.name):
            yield from _column(new.table, column, now)
    yield from _order(old, new)


def _column(table: TableName, old: Column, new: Column) -> Iterator[InterfaceChange]:
    change = type_change(old.type, new.type)
    if change is not TypeChange.SAME:
        impact = Impact.INFO if change is TypeChange.WIDENED else Impact.BREAKING
        message = f"the type of column '{new.name}' {_VERBS[change]} from {old.type} to {new.type}"
        yield InterfaceChange(impact, ChangeKind.COLUMN_TYPE, table, message, new.name)
    if old.nullable is True and new.nullable is False:
        message = f"column '{new.name}' could be NULL and never is now"
        yield InterfaceChange(Impact.WARNING, ChangeKind.NULLABLE, table, message, new.name)
    elif old.nullable is False and new.nullable is True:
        message = f"column '{new.name}' was never NULL and can be now"
        yield InterfaceChange(Impact.INFO, ChangeKind.NULLABLE, table, message, new.name)


_VERBS = {
    TypeChange.WIDENED: "was widened",
    TypeChange.NARROWED: "was narrowed",
    TypeChange.CHANGED: "changed",
}


def _order(old: Interface, new: Interface) -> Iterator[InterfaceChange]:
    if not (old.columns.complete and new.columns.complete and old.is_ordered and new.is_ordered):
        return
    was = [column.name.lower() for column in _named_columns(old) if new.columns.find(column.name)]
    now = [column.name.lower() for column in _named_columns(new) if old.columns.find(column.name)]
    if was != now:
        first = next(name for name, other in zip(now, was, strict=True) if name != other)
        message = f"the columns are in another order, from '{first}' on"
        yield InterfaceChange(Impact.WARNING, ChangeKind.ORDER, new.table, message)


def _named_columns(interface: Interface) -> list[Column]:
    return [column for column in interface.columns.columns if column.name]


def _set(names: Iterable[str]) -> set[str]:
    return {name.lower() for name in names}


def _renamed_column(removed: Column, added: list[Column]) -> Column | None:
    alike = [column for column in added if removed.type.known and column.type == removed.type]
    close = nearest(removed.name, [column.name for column in alike], 1)
    return next((column for column in alike if column.name in close), None)


def _renamed_table(removed: Interface, added: list[Interface]) -> Interface | None:
    columns = _set(column.name for column in _named_columns(removed))
    alike = [other for other in added if columns and _set(c.name for c in _named_columns(other)) == columns]
    close = nearest(str(removed.table), [str(other.table) for other in added], 1)
    return next((other for other in added if str(other.table) in close), alike[0] if len(alike) == 1 else None)


def _reached(change: InterfaceChange, before: Interfaces, reach: Reach | None) -> tuple[Reached, ...]:
    if reach is None or change.kind in (ChangeKind.MODEL_ADDED, ChangeKind.COLUMN_ADDED, ChangeKind.PARTITIONING):
        return ()
    own = before.get(change.table)
    columns = [change.column] if change.column else [column.name for column in _named_columns(own)] if own else []
    reached = {Reached(node.table, node.column) for column in columns for node in reach(str(change.table), column)}
    return tuple(sorted(reached, key=lambda node: (node.table, node.column is None, node.column or "")))


def _article(materialized: Materialized) -> str:
    return "an ephemeral model" if materialized is Materialized.EPHEMERAL else f"a {materialized}"


_SHOWN = 3
_SETTINGS = {
    ChangeKind.TARGET: ("materialized", "kind", "merge_strategy"),
    ChangeKind.STRATEGY: ("merge_strategy", "kind"),
    ChangeKind.KEY: ("unique_key", "group_key", "partition_column", "time_column"),
    ChangeKind.PARTITIONING: ("partitioned_by", "partition_column"),
}


_FIELDS = {**_SETTINGS, ChangeKind.TARGET: ("materialized", "strategy"), ChangeKind.STRATEGY: ("strategy",)}
"""The same as they are called in ModelSettings."""


def change_diagnostics(changes: Iterable[InterfaceChange], compiled: Compiled) -> Iterator[Diagnostic]:
    """`compiled` is the state after. A removed model has no file, so its diagnostic has no span."""
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
    """Models that cannot be compared, because they have errors in one of the states."""
    for table in sorted(tables):
        short = table.short(compiled.namespace)
        state = "here" if table in compiled.broken else f"at '{against}'"
        message = f"{short} has errors {state}, so its changes are not reported"
        model = compiled.models.get(table)
        span = Span(model.model.file, 1) if model else None
        yield Diagnostic(DiagnosticSeverity.INFO, "NotCompared", message, short, span)


def _with_reach(change: InterfaceChange, namespace: str) -> str:
    if not change.reaches:
        return change.message
    first = ", ".join(_short(node, namespace) for node in change.reaches[:_SHOWN])
    more = len(change.reaches) - _SHOWN
    return f"{change.message}; it reaches {first}{f' and {more} more' if more > 0 else ''}"


def _short(node: Reached, namespace: str) -> str:
    table = TableName.parse(node.table, namespace).short(namespace)
    return f"the rows of {table}" if node.column is None else f"{table}.{node.column}"


def _span(change: InterfaceChange, compiled: Compiled) -> Span | None:
    compiled_model = compiled.models.get(change.table)
    if compiled_model is None:
        return None
    model = compiled_model.model
    if model.python is not None and change.column is None:
        place = compiled.project.origin(model, *_FIELDS.get(change.kind, ()))
        return Span(place.file, place.line, place.col)
    if change.column is None:
        offset = _directive(model, change.kind)
    else:
        offset = offset_in_source(model.source, change.column) if model.python is None else None
    if offset is None:
        return Span(model.file, 1)
    return Span(model.file, *line_and_column(model.source, offset))


def _directive(model: Model, kind: ChangeKind) -> int | None:
    """The place of the setting, if it is in the file's own header."""
    names = "|".join(_SETTINGS.get(kind, ()))
    match = re.search(rf"^\s*{model.directive}\s*(@(?:{names}))\s*:", model.source.replace("\r\n", "\n"), re.MULTILINE)
    return match.start(1) if names and match else None
