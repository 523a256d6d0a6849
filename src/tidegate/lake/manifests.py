"""What a snapshot's manifests name. They are Avro, so this is the one place that needs PyIceberg."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.manifest import ManifestFile, read_manifest_list

from tidegate.errors import LakeError
from tidegate.lake.metadata import Snapshot, local_path

__all__ = ["DataFile", "data_files", "list_manifests"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live file of a snapshot. `deletes`: it holds deletes of rows, as a deletion vector or otherwise."""

    location: str
    size: int
    partition: str
    deletes: bool


def list_manifests(snapshot: Snapshot) -> tuple[ManifestFile, ...]:
    try:
        return tuple(read_manifest_list(_LocalInput(snapshot.manifest_list)))
    except Exception as error:
        raise _unreadable(snapshot.manifest_list, error) from error


def data_files(manifest: ManifestFile) -> Iterator[DataFile]:
    """The manifest's files but for entries that only say which one was removed."""
    try:
        for entry in manifest.fetch_manifest_entry(_LocalFiles(), discard_deleted=True):
            file = entry.data_file
            partition = f"{manifest.partition_spec_id}:{file.partition}"
            yield DataFile(file.file_path, file.file_size_in_bytes, partition, file.content.value != 0)
    except LakeError:
        raise
    except Exception as error:
        raise _unreadable(manifest.manifest_path, error) from error


def _unreadable(location: str, error: Exception) -> LakeError:
    return LakeError(
        f"a manifest that a table refers to cannot be read: {error}",
        where=location,
        remedy="restore the file from a backup of the warehouse",
    )


class _LocalInput(InputFile):  # type: ignore[misc]
    """PyIceberg's own local files take a location for a URL, and stumble over `#`, `?` and `%` in folder names."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self._path: Path = local_path(location)

    def __len__(self) -> int:
        return self._path.stat().st_size

    def exists(self) -> bool:
        return self._path.exists()

    def open(self, seekable: bool = True) -> InputStream:
        return self._path.open("rb")


class _LocalFiles(FileIO):  # type: ignore[misc]
    def new_input(self, location: str) -> InputFile:
        return _LocalInput(location)

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError("manifests are only read here")

    def delete(self, location: Any) -> None:
        raise NotImplementedError("manifests are only read here")
