"""The warehouse folder: which catalog owns it, where it belongs, whether it can be written, and when it was last swept.

A small file in it names its catalog and its place. A sweep deletes what its catalog does not refer to, so a warehouse
that two catalogs share would lose files; and Iceberg's metadata holds absolute paths, so the copy of a lake would write
into the original's folders. Where the catalog was lost, a run would build every table as for the first time, without
the rows of landing files that are no longer there.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tidegate.config import LakeSection
from tidegate.errors import FailureKind, LakeError, LakeUnavailableError
from tidegate.storage.atomic_files import write_atomically

__all__ = [
    "LOST_BY_REBUILDING",
    "check_location",
    "check_warehouse",
    "claim_warehouse",
    "last_sweep",
    "owner",
    "record_sweep",
    "refuse_emptied_catalog",
    "refuse_missing_catalog",
    "require_writable",
]

LOST_BY_REBUILDING = (
    "rows of landing files that were archived, deleted or replaced since they were read do not come back,"
    " nor does the history of tables that keep it"
)
"""What is lost where a lake is built again from its landing zones."""
_MARKER = "tidegate-warehouse.json"


def claim_warehouse(warehouse: Path, lake: str, alone: bool = False) -> None:
    """Create the folder and record the catalog's id in it, unless it has one. Raise if it was moved or copied here.

    `alone`: raise also where it belongs to another catalog, whose sweep would delete our files as unused.
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


def check_location(warehouse: Path) -> None:
    """Raise if the warehouse was moved or copied here. One that was never used is fine."""
    _check_place(warehouse, _read(warehouse / _MARKER))


def owner(warehouse: Path) -> str | None:
    """The id of the catalog that owns the warehouse; None where it is unknown."""
    return _read(warehouse / _MARKER).get("lake")


def check_warehouse(warehouse: Path, lake: str) -> None:
    """Raise unless the warehouse is this catalog's own."""
    marker = warehouse / _MARKER
    claim = _read(marker)
    if claim.get("lake") != lake:
        raise LakeError(
            "the warehouse does not belong to this catalog, so its files may be in use elsewhere; nothing was deleted",
            where=str(marker),
            remedy="give each catalog a warehouse of its own ([lake] warehouse); if the catalog was lost, restore it;"
            f" to start from nothing, remove the warehouse too: {LOST_BY_REBUILDING}",
        )
    _check_place(warehouse, claim)


def _read(marker: Path) -> dict[str, str]:
    try:
        claim = json.loads(marker.read_text())
    except (OSError, ValueError):
        return {}
    return claim if isinstance(claim, dict) else {}


def _check_place(warehouse: Path, claim: dict[str, str]) -> None:
    original = claim.get("warehouse")
    if original is not None and original != os.path.realpath(warehouse):
        error = LakeError(
            f"the warehouse was moved or copied here from {original}, and its tables name their files by that path",
            where=str(warehouse),
            remedy=f"move it back to {original}, or let [lake] warehouse and catalog_path name the place it came from;"
            " to rebuild every table here instead, remove this warehouse and its catalog (the folder .tidegate,"
            f" unless [lake] says otherwise) and run: {LOST_BY_REBUILDING}",
        )
        error.kind = FailureKind.QUERY_REJECTED
        raise error


def refuse_missing_catalog(catalog: Path, warehouse: Path) -> None:
    """Raise if there is no catalog file, and the warehouse holds tables."""
    if not catalog.exists() and (metadata := _first_metadata(warehouse)):
        raise _lost("the catalog file is missing", catalog, warehouse, metadata)


def refuse_emptied_catalog(catalog: Path, warehouse: Path, lake: str) -> None:
    """For a catalog without tables on main: raise if the warehouse holds tables of another catalog.

    Tables of its own are what a first run left that did not publish.
    """
    if owner(warehouse) not in (None, lake) and (metadata := _first_metadata(warehouse)):
        what = "the catalog has no tables on main and is not the one that the warehouse belongs to"
        raise _lost(what, catalog, warehouse, metadata)


def _lost(what: str, catalog: Path, warehouse: Path, metadata: Path) -> LakeError:
    error = LakeError(
        f"{what}, but the warehouse holds tables ({metadata.relative_to(warehouse)}); a run would build them again as"
        " if there had been none",
        where=str(catalog),
        remedy=f"restore {catalog} from a backup, or correct [lake] catalog_path; to start from nothing instead, remove"
        f" the folder {warehouse}: {LOST_BY_REBUILDING}; if the tables are another project's, let [lake] warehouse name"
        " a folder for this one alone",
    )
    error.kind = FailureKind.QUERY_REJECTED
    return error


def _first_metadata(warehouse: Path) -> Path | None:
    """The first metadata file of a table or view that comes up."""
    waiting = [str(warehouse)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            if "metadata" in folders:
                with os.scandir(os.path.join(folder, "metadata")) as entries:
                    if file := next((entry for entry in entries if entry.name.endswith(".metadata.json")), None):
                        return Path(file.path)
            waiting += (os.path.join(folder, name) for name in folders)
        except OSError:
            continue  # a folder that cannot be read is reported where it is needed
    return None


def _may_write(folder: Path) -> bool:
    """Also False on a disk that is mounted read-only."""
    return os.access(folder, os.W_OK | os.X_OK)


def require_writable(lake: LakeSection, may_write: Callable[[Path], bool] = _may_write) -> None:
    """Raises where the folder cannot be written, or cannot be created in its nearest existing parent."""
    if lake.catalog == "rest":
        return  # the server decides where its tables are
    folder = next(path for path in (lake.warehouse, *lake.warehouse.parents) if path.exists() or path == path.parent)
    if folder.is_dir() and may_write(folder):
        return
    why = "this user may not write there, or its disk is mounted read-only" if folder.is_dir() else "it is not a folder"
    at = "" if folder == lake.warehouse else f" {folder}:"
    raise LakeUnavailableError(
        f"the warehouse cannot be written:{at} {why}",
        where=str(lake.warehouse),
        remedy="make it a folder that this user may write, or correct [lake] warehouse in tidegate.toml",
    )


LAST_SWEEP = "tidegate-sweep.json"


def last_sweep(warehouse: Path) -> datetime | None:
    try:
        return datetime.fromisoformat(json.loads((warehouse / LAST_SWEEP).read_text())["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_sweep(warehouse: Path, at: datetime, files: int) -> None:
    write_atomically(warehouse / LAST_SWEEP, json.dumps({"at": at.isoformat(), "files": files}).encode())
