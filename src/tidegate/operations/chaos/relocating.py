"""A table of one warehouse that is written to in another: its metadata file once more, with another folder in it.

Iceberg's snapshots name their files by absolute paths, so what is there is read where it is; whatever comes goes to
the new folder. No data is copied.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tidegate.lake.consumed import consumed_files
from tidegate.lake.files import write_whole
from tidegate.lake.metadata import load_json, local_path, read_metadata
from tidegate.lake.port import Pointer
from tidegate.names import TableName

__all__ = ["relocate"]

_PLACES = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""Properties by which a table's files would go elsewhere than to its folder."""


def relocate(pointer: Pointer, table: TableName, warehouse: Path) -> Pointer:
    folder = warehouse / table.namespace / table.layer / table.name
    data: dict[str, Any] = load_json(pointer.location)
    properties = {key: value for key, value in data.get("properties", {}).items() if key not in _PLACES}
    moved = {**data, "location": f"file:{folder}", "properties": properties}
    # The name tells Iceberg whether the file is compressed, and this one is not.
    name = local_path(pointer.location).name.replace(".gz.metadata.json", ".metadata.json")
    path = folder / "metadata" / name
    write_whole(path, json.dumps(moved, separators=(",", ":"), ensure_ascii=False).encode())
    metadata = read_metadata(pointer)
    for location in consumed_files(metadata.table_location, metadata.progress):
        consumed = local_path(location)
        shutil.copyfile(consumed, path.with_name(consumed.name))
    return Pointer(pointer.kind, f"file:{path}")
