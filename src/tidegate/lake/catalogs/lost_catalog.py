"""A catalog that was lost: its file is gone, or replaced by an empty one, and the warehouse holds its tables.

A run would build every table as for the first time, without the rows of landing files that are no longer there.
"""

from __future__ import annotations

import os
from pathlib import Path

from tidegate.errors import FailureKind, LakeError
from tidegate.lake.catalogs.claim import NOT_COMING_BACK, owner

__all__ = ["refuse_emptied_catalog", "refuse_missing_catalog"]


def refuse_missing_catalog(catalog: Path, warehouse: Path) -> None:
    """Raise if there is no catalog file, and the warehouse holds tables."""
    if not catalog.exists() and (metadata := _first_metadata(warehouse)):
        raise _lost("the catalog file is missing", catalog, warehouse, metadata)


def refuse_emptied_catalog(catalog: Path, warehouse: Path, lake: str) -> None:
    """For a catalog without tables on main: raise if the warehouse holds tables of another catalog.

    Tables of its own are what a first run left that did not publish.
    """
    if owner(warehouse) not in (None, lake) and (metadata := _first_metadata(warehouse)):
        what = "the catalog has no tables on main and is not the one that the warehouse was begun with"
        raise _lost(what, catalog, warehouse, metadata)


def _lost(what: str, catalog: Path, warehouse: Path, metadata: Path) -> LakeError:
    error = LakeError(
        f"{what}, but the warehouse holds tables ({metadata.relative_to(warehouse)}); a run would build them again as"
        " if there had been none",
        where=str(catalog),
        remedy=f"restore {catalog} from a backup, or correct [lake] catalog_path; to start from nothing instead, remove"
        f" the folder {warehouse}: {NOT_COMING_BACK}; if the tables are another project's, let [lake] warehouse name"
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
            continue  # what cannot be read is reported by whoever needs it
    return None
