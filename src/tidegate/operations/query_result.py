"""Rows as commands and routes show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["QueryResult"]


@dataclass(frozen=True, slots=True)
class QueryResult:
    columns: tuple[tuple[str, str], ...]
    """(name, Spark type)."""

    rows: tuple[Mapping[str, Any], ...]
    more: bool = False
    """There were more rows than the limit."""

    def document(self) -> dict[str, Any]:
        columns = [{"name": name, "type": type_} for name, type_ in self.columns]
        return {"columns": columns, "rows": list(self.rows), "more": self.more}
