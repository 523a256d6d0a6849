"""The small files that Tidegate itself reads and writes, on folders and object stores alike."""

from __future__ import annotations

import re
from pathlib import Path

from tidegate.config import S3Section
from tidegate.storage.local_folder import LocalFolder
from tidegate.storage.storage_port import Storage, StoredFile

__all__ = ["Storage", "StoredFile", "open_storage"]

_S3 = re.compile(r"s3a?://")


def open_storage(location: str | Path, s3: S3Section | None = None) -> Storage:
    """`location`: a folder, which need not be there yet, or `s3://bucket/prefix`. Raises StorageError."""
    if _S3.match(str(location)):
        # Projects on one machine do not pay for the import.
        from tidegate.storage.s3_bucket import S3Bucket

        return S3Bucket(str(location), s3 or S3Section())
    return LocalFolder(Path(location))
