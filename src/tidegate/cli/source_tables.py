"""What the sources of a project have, for people and for programs."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from typing import Any

from tidegate.amounts import plural
from tidegate.cli.table import clean, text_table
from tidegate.errors import SourceError
from tidegate.names import quote
from tidegate.sources import Discovery, SourceTable

__all__ = ["discovery_document", "discovery_lines", "discovery_notes"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def discovery_document(found: Discovery) -> dict[str, Any]:
    return {
        "status": "error" if found.failures else "success",
        "tables": [_table_document(table) for table in found.tables],
        "failures": [_failure_document(failure) for failure in found.failures],
        "warnings": [
            {"source": warning.source, "message": warning.message, "found_at": warning.found_at}
            for warning in found.warnings
        ],
    }


def _table_document(table: SourceTable) -> dict[str, Any]:
    return {
        "source": table.source,
        "kind": table.kind,
        "table": str(table.table),
        "schema": table.table.layer,
        "name": table.table.name,
        "columns": [
            {"name": column.name, "type": str(column.type) if column.type.known else None, "nullable": column.nullable}
            for column in table.relation.columns
        ],
        "complete": table.relation.complete,
        "problem": table.problem,
    }


def _failure_document(failure: SourceError) -> dict[str, Any]:
    return {
        "source": failure.source,
        "failure_kind": failure.kind.value,
        "error": failure.message,
        "where": failure.where,
        "remedy": failure.remedy,
    }


def discovery_lines(found: Discovery, sources: int) -> Iterator[str]:
    if not sources:
        yield "No sources yet: declare one as [sources.NAME] in tidegate.toml."
    elif found.tables:
        rows = [(table.source, table.kind, _name(table), _columns(table)) for table in found.tables]
        yield from text_table(("source", "kind", "table", "columns"), rows)
        asked = {table.source for table in found.tables}
        yield f"{plural(len(found.tables), 'table')} in {plural(len(asked), 'source')}."
    elif not found.failures:
        yield "The sources have no tables that could be read."


def discovery_notes(found: Discovery, debug: bool = False) -> Iterator[str]:
    """What went wrong, one line for what and one for what to do; with `debug`, its traceback before that."""
    for table in found.tables:
        if table.problem:
            yield f"warning: the columns of {clean(_name(table))} are not known: {clean(table.problem)}"
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


def _name(table: SourceTable) -> str:
    """As a query names it: a part with other characters needs backticks."""
    name = table.table
    return ".".join(part if _PLAIN.fullmatch(part) else quote(part) for part in (name.namespace, name.layer, name.name))


def _columns(table: SourceTable) -> str:
    count = len(table.relation.columns)
    if table.relation.complete:
        return str(count)
    return f"{count} known" if count else "-"
