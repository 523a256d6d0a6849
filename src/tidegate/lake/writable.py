"""Whether the warehouse can be written, known before Spark starts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tidegate.config import LakeSection
from tidegate.errors import LakeUnavailableError

__all__ = ["require_writable"]


def _may_write(folder: Path) -> bool:
    """Also False on a disk that is mounted read-only."""
    return os.access(folder, os.W_OK | os.X_OK)


def require_writable(lake: LakeSection, may_write: Callable[[Path], bool] = _may_write) -> None:
    """Raises where the folder cannot be written, or cannot be made in the nearest one above it that is there."""
    if lake.catalog == "rest":
        return  # the server says where its tables are
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
