"""Settings and reads that a Python model cannot have together."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.compiled import CodeReads, Diagnostic
from tidegate.compiler.drafts import CompilationState, Draft
from tidegate.names import TableName
from tidegate.project import Materialized, Place
from tidegate.project.python_source import PythonSource
from tidegate.project.strategies import Deltas
from tidegate.project.template_names import WATERMARK_NAMES
from tidegate.python_inputs import ReadKind

__all__ = ["check_code_reads"]


def check_code_reads(work: CompilationState, draft: Draft) -> Iterator[Diagnostic]:
    python, code = draft.python, draft.content.code
    if python is None or code is None:
        return
    if not draft.is_table:
        kind = "a view" if draft.model.settings.materialized is Materialized.VIEW else "an ephemeral model"
        message = f"{kind} is a query, and Python code is none: its rows have to be stored"
        at = work.project.origin(draft.model, "materialized")
        fix = "make it a table, and write a view over that in SQL where one is needed"
        yield work.error(draft, "CodeWithoutTable", message, at, fix)
        return
    if work.short(draft.model.table) in work.unread_settings:
        return
    yield from _strategy(work, draft, python, code)
    for table in code.changes:
        if what := _untraced(work, draft, table):
            message = f"which rows of {what} changed cannot be known"
            fix = "read it with tg.ref, or read the changes of the tables behind it"
            place = _place(python, draft, ReadKind.CHANGES, table, work)
            yield work.error(draft, "UntracedChanges", message, place, fix)


def _strategy(work: CompilationState, draft: Draft, python: PythonSource, code: CodeReads) -> Iterator[Diagnostic]:
    strategy, traits = draft.model.settings.strategy, draft.model.settings.traits
    if code.changes and (traits.replaces_table or traits.deltas is Deltas.NONE):
        place = next(read.place for read in python.reads if read.kind is ReadKind.CHANGES)
        message = f"strategy {strategy} replaces rows by the result, and changed rows are not all of it"
        fix = "use merge_strategy incremental with a unique_key, or read all rows with tg.ref"
        yield work.error(draft, "ChangesReplaceRows", message, place, fix)
    is_manual = not WATERMARK_NAMES.isdisjoint(draft.content.names)
    only_refs = code.refs and not (code.changes or code.landings or is_manual)
    if only_refs and traits.deltas is Deltas.INSERTED and not traits.contracts_only:
        table = code.refs[0]
        message = f"append_only would append all rows of {work.short(table)} again with every run"
        fix = f'read new rows alone: tg.changes("{work.short(table)}"), or choose another merge_strategy'
        yield work.error(draft, "AppendOfAllRows", message, _place(python, draft, ReadKind.REF, table, work), fix)


def _untraced(work: CompilationState, draft: Draft, table: TableName) -> str | None:
    """What the table is in words, where nothing records its changes."""
    name, upstream = work.short(table), work.models.get(table)
    if table == draft.model.table:
        return f"{name}, the model's own table,"
    if upstream is not None:
        materialized = upstream.model.settings.materialized
        return None if materialized is Materialized.TABLE else f"the {materialized} model {name}"
    if table in work.external.chunk_tables:
        return None
    is_source = table.namespace in work.settings.sources and table not in work.external.heads
    return f"the source {name}" if is_source or work.is_outside_lake(table) else None


def _place(python: PythonSource, draft: Draft, kind: ReadKind, table: TableName, work: CompilationState) -> Place:
    """Where the table is first read so."""
    for read in python.reads:
        if read.kind is kind and read.name is not None and work.tables.find(read.name.split(".")) == table:
            return read.place
    place = draft.content.places.get(table)
    return place if isinstance(place, Place) else Place(draft.file)
