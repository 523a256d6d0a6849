"""The next metadata file of a table or view, where no row changes: written here, without an engine."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

from tidegate.errors import LakeUnavailableError
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import load_json, local_path
from tidegate.storage.atomic_files import write_atomically

__all__ = ["with_properties", "write_next"]

_MAX_LOG_PROPERTY = "write.metadata.previous-versions-max"
_MAX_LOG_DEFAULT = 100
_VERSION = re.compile(r"v?(\d+)[-.].*")


def with_properties(pointer: Pointer, properties: Mapping[str, str]) -> Pointer:
    """The file with these properties added. Nothing refers to it yet."""
    data = load_json(pointer.location)
    return write_next(pointer, {**data, "properties": {**data.get("properties", {}), **properties}})


def write_next(pointer: Pointer, data: Mapping[str, Any]) -> Pointer:
    """`data`: what the file at `pointer` has, changed."""
    if "last-updated-ms" in data:  # a view has no log
        # The time of the last update stays: Iceberg refuses a table whose log is ahead of its own clock.
        entry = {"timestamp-ms": data["last-updated-ms"], "metadata-file": pointer.location}
        log = [*data.get("metadata-log", ()), entry]
        data = {**data, "metadata-log": log[-_log_size(data.get("properties", {})) :]}
    location = _next_location(pointer.location)
    try:
        write_atomically(local_path(location), json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode())
    except OSError as error:
        raise LakeUnavailableError(
            f"the new metadata file cannot be written: {error.strerror or error}",
            where=location,
            remedy="check the disk's space and the folder's permissions; the table is as it was",
        ) from error
    return Pointer(pointer.kind, location)


def _log_size(properties: Mapping[str, str]) -> int:
    value = properties.get(_MAX_LOG_PROPERTY, "")
    return max(1, int(value)) if value.isdigit() else _MAX_LOG_DEFAULT


def _next_location(location: str) -> str:
    """As Iceberg has it: a file whose name has no number counts as none."""
    folder, _, name = location.rpartition("/")
    version = _VERSION.fullmatch(name)
    return f"{folder}/{int(version[1]) + 1 if version else 0:05d}-{uuid.uuid4()}.metadata.json"
