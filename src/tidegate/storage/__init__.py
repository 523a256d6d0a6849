"""The small files that Tidegate itself reads and writes, on folders and object stores alike."""

from __future__ import annotations

from pathlib import Path

from tidegate.storage.local_folder import LocalFolder
from tidegate.storage.storage_port import Storage, StoredFile

__all__ = ["Storage", "StoredFile", "open_storage"]


def open_storage(location: str | Path) -> Storage:
    """`location`: a folder, which need not be there yet."""
    return LocalFolder(Path(location))
