"""Whose warehouse it is: a small file in it names its catalog and its place.

A sweep deletes what its catalog does not refer to, so a warehouse that two catalogs share would lose files; and
Iceberg's metadata holds absolute paths, so the copy of a lake would write into the original's folders.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from tidegate.errors import FailureKind, LakeError, LakeUnavailableError

__all__ = ["NOT_COMING_BACK", "check_place", "check_warehouse", "claim_warehouse", "owner"]

NOT_COMING_BACK = (
    "rows of landing files that were archived, deleted or replaced since they were read do not come back,"
    " nor does the history of tables that keep it"
)
"""What is lost where a lake is built again from its landing zones."""
_MARKER = "tidegate-warehouse.json"


def claim_warehouse(warehouse: Path, lake: str, alone: bool = False) -> None:
    """Make the folder and leave the catalog's id in it, if nobody was here. Raise if it was moved or copied here.

    `alone`: raise also where another catalog was here first, whose sweep would take our files for unused ones.
    """
    marker = warehouse / _MARKER
    try:
        warehouse.mkdir(parents=True, exist_ok=True)
        if not marker.exists() and not any(entry.is_dir() for entry in warehouse.iterdir()):
            with contextlib.suppress(FileExistsError), marker.open("x") as file:
                json.dump({"lake": lake, "warehouse": os.path.realpath(warehouse)}, file)
    except OSError as error:
        raise LakeUnavailableError(
            f"the warehouse cannot be used: {error.strerror or error}",
            where=str(warehouse),
            remedy="check that the folder can be made and written, and that the disk has space",
        ) from error
    claim = _read(marker)
    _check_place(warehouse, claim)
    if alone and claim.get("lake", lake) != lake:
        raise LakeError(
            "the warehouse belongs to another catalog",
            where=str(marker),
            remedy="give this catalog a folder of its own: [lake] warehouse",
        )


def check_place(warehouse: Path) -> None:
    """Raise if the warehouse was moved or copied here. One that was never begun is fine."""
    _check_place(warehouse, _read(warehouse / _MARKER))


def owner(warehouse: Path) -> str | None:
    """The id of the catalog that began the warehouse; None where that is not known."""
    return _read(warehouse / _MARKER).get("lake")


def check_warehouse(warehouse: Path, lake: str) -> None:
    """Raise unless the warehouse is this catalog's own."""
    marker = warehouse / _MARKER
    claim = _read(marker)
    if claim.get("lake") != lake:
        raise LakeError(
            "the warehouse was not begun by this catalog, so its files may be in use elsewhere; nothing was deleted",
            where=str(marker),
            remedy="give each catalog a warehouse of its own ([lake] warehouse); if the catalog was lost, restore it;"
            f" to start from nothing, remove the warehouse too: {NOT_COMING_BACK}",
        )
    _check_place(warehouse, claim)


def _read(marker: Path) -> dict[str, str]:
    try:
        claim = json.loads(marker.read_text())
    except (OSError, ValueError):
        return {}
    return claim if isinstance(claim, dict) else {}


def _check_place(warehouse: Path, claim: dict[str, str]) -> None:
    begun = claim.get("warehouse")
    if begun is not None and begun != os.path.realpath(warehouse):
        error = LakeError(
            f"the warehouse was moved or copied here from {begun}, and its tables name their files by that path",
            where=str(warehouse),
            remedy=f"move it back to {begun}, or let [lake] warehouse and catalog_path name the place it came from;"
            " to build every table again here instead, remove this warehouse and its catalog (the folder .tidegate,"
            f" unless [lake] says otherwise) and run: {NOT_COMING_BACK}",
        )
        error.kind = FailureKind.QUERY_REJECTED
        raise error
