"""The tables that the sources of a project have, each source asked just now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tidegate.config import Settings
from tidegate.errors import SourceError
from tidegate.sources import Discovery, SourceTable, known_tables

__all__ = ["SourceList", "list_sources"]


@dataclass(frozen=True, slots=True)
class SourceList:
    """`declared`: how many sources the project has."""

    found: Discovery
    declared: int

    @property
    def exit_code(self) -> int:
        return 1 if self.found.failures else 0

    def document(self) -> dict[str, Any]:
        return {
            "status": "error" if self.found.failures else "success",
            "tables": [_table_document(table) for table in self.found.tables],
            "failures": [_failure_document(failure) for failure in self.found.failures],
            "warnings": [
                {"source": warning.source, "message": warning.message, "found_at": warning.found_at}
                for warning in self.found.warnings
            ],
        }


def list_sources(settings: Settings) -> SourceList:
    return SourceList(known_tables(settings, refresh=True), len(settings.sources))


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
