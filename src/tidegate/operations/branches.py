"""The branches of the lake and what each of them changed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from tidegate.config import Settings
from tidegate.lake import is_begun, open_catalog

__all__ = ["ListedBranch", "list_branches"]


@dataclass(frozen=True, slots=True)
class ListedBranch:
    """`kept`: for `publish`."""

    name: str
    created_at: datetime
    heartbeat_at: datetime
    kept: bool
    changed_tables: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        return asdict(self)


def list_branches(settings: Settings) -> tuple[ListedBranch, ...]:
    if not is_begun(settings):
        return ()
    catalog, namespace = open_catalog(settings), settings.project.namespace
    return tuple(
        ListedBranch(
            name=branch.name,
            created_at=branch.created_at,
            heartbeat_at=branch.heartbeat_at,
            kept=branch.kept,
            changed_tables=tuple(change.table.short(namespace) for change in catalog.changed_tables(branch.name)),
        )
        for branch in catalog.list_branches()
    )
