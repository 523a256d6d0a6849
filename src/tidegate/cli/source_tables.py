"""What the sources of a project have, as lines for a person."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator

from tidegate.amounts import plural
from tidegate.cli.table import clean, text_table
from tidegate.datatypes import Relation
from tidegate.errors import SourceError
from tidegate.names import TableName, quote
from tidegate.operations.sources import SourceList

__all__ = ["source_lines", "source_notes"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def source_lines(sources: SourceList) -> Iterator[str]:
    found = sources.found
    if not sources.declared:
        yield "No sources yet: declare one as [sources.NAME] in tidegate.toml."
    elif found.tables:
        rows = [(table.source, table.kind, _name(table.table), _columns(table.relation)) for table in found.tables]
        yield from text_table(("source", "kind", "table", "columns"), rows)
        asked = {table.source for table in found.tables}
        yield f"{plural(len(found.tables), 'table')} in {plural(len(asked), 'source')}."
    elif not found.failures:
        yield "The sources have no tables that could be read."


def source_notes(sources: SourceList, debug: bool = False) -> Iterator[str]:
    """What went wrong, one line for what and one for what to do; with `debug`, its traceback before that."""
    found = sources.found
    for table in found.tables:
        if table.problem:
            yield f"warning: the columns of {clean(_name(table.table))} are not known: {clean(table.problem)}"
    for warning in found.warnings:
        yield from _trace(warning.failure) if debug else ()
        yield f"warning: {clean(warning.message)}"
        yield from _fix(warning.failure)
    for failure in found.failures:
        yield from _trace(failure) if debug else ()
        yield f"error: {clean(failure.message)}"
        yield from _fix(failure)


def _trace(failure: SourceError) -> Iterator[str]:
    for part in traceback.format_exception(failure):
        yield from map(clean, part.rstrip("\n").split("\n"))


def _fix(failure: SourceError) -> Iterator[str]:
    if failure.where:
        yield f"  where: {clean(failure.where)}"
    if failure.remedy:
        yield f"  fix: {clean(failure.remedy)}"


def _name(table: TableName) -> str:
    """As a query names it: a part with other characters needs backticks."""
    parts = (table.namespace, table.layer, table.name)
    return ".".join(part if _PLAIN.fullmatch(part) else quote(part) for part in parts)


def _columns(relation: Relation) -> str:
    count = len(relation.columns)
    if relation.complete:
        return str(count)
    return f"{count} known" if count else "-"
