"""What a model asks of the lake that this lake cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.compiler.drafts import Draft, Workspace
from tidegate.compiler.passes.places import place_of_column
from tidegate.compiler.values import Diagnostic
from tidegate.datatypes import DataType

__all__ = ["check_capabilities"]


def check_capabilities(work: Workspace, draft: Draft) -> Iterator[Diagnostic]:
    for column in draft.relation.columns if draft.is_table and draft.relation else ():
        if column.type.known and (kind := _not_stored(column.type)):
            message = f"column '{column.name}' is {column.type}, and a table cannot hold {kind}"
            fix = _FIXES.get(kind.split()[0], "cast it to another type")
            place = place_of_column(work, draft, column.name) or work.place(draft, False, 0)
            yield work.error(draft, "UnsupportedColumnType", message, place, fix)


_FIXES = {"void": "give NULL a type: CAST(NULL AS STRING)", "interval": "keep it as a number, such as its seconds"}


def _not_stored(kind: DataType) -> str | None:
    """The part of the type that Iceberg has no type for."""
    match kind.kind:
        case "struct":
            return next((found for _, inner in kind.args if (found := _not_stored(inner))), None)
        case "array" | "map":
            return next((found for inner in kind.args if (found := _not_stored(inner))), None)
        case "void" | "calendarinterval":
            return kind.kind
        case _:
            return kind.kind if kind.kind.startswith(("interval", "time(")) else None
