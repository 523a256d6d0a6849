"""Folders of a storage, which are only the common beginning of paths; local ones stay when they are empty."""

from __future__ import annotations

import os
from contextlib import suppress

from tidegate.storage import Storage

__all__ = ["remove_empty_folders", "remove_folder"]


def remove_folder(storage: Storage, folder: str) -> None:
    for file in list(storage.list(folder)):
        storage.delete(file.path)
    remove_empty_folders(storage, folder)


def remove_empty_folders(storage: Storage, folder: str) -> None:
    """The folder and those in it, where no file is."""
    local = storage.spark_path(folder)
    if local.startswith("/"):
        for path, _folders, _files in os.walk(local, topdown=False):
            with suppress(OSError):  # not empty, or gone
                os.rmdir(path)
