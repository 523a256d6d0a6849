"""The files and column bounds in a snapshot's manifests. These are Avro, so only this module needs PyIceberg."""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from pyiceberg.avro.file import AvroFile
from pyiceberg.io import InputFile, InputStream
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    MANIFEST_ENTRY_SCHEMAS,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    read_manifest_list,
)
from pyiceberg.manifest import DataFile as ManifestDataFile

from tidegate.errors import LakeError
from tidegate.lake.metadata import Field, Snapshot, local_path

__all__ = [
    "AddedFiles",
    "ColumnBounds",
    "DataFile",
    "Number",
    "column_bounds",
    "data_files",
    "list_manifests",
    "new_files",
    "share_of_rows_within",
]

# PyIceberg reads manifests as those of format 2, which do not name the file of a deletion vector.
_ENTRIES = MANIFEST_ENTRY_SCHEMAS[3]
_REFERENCED, _OFFSET, _SIZE = (
    [field.name for field in DATA_FILE_TYPE[3].fields].index(name)
    for name in ("referenced_data_file", "content_offset", "content_size_in_bytes")
)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live file of a snapshot."""

    location: str
    size: int
    partition: str
    deletes: bool
    """It holds deletes of rows, as a deletion vector or otherwise."""
    format: str = "PARQUET"
    encrypted: bool = False
    sequence_number: int = 0
    """Of the commit that wrote its rows."""
    deletes_from: str | None = None
    """The one file whose rows it deletes."""
    by_values: bool = False
    """It deletes all rows that have certain values."""
    part: tuple[int, int] | None = None
    """The offset and the size of what is meant, where other things are in the same file."""


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """Files that a snapshot has and an earlier one had not."""

    files: tuple[DataFile, ...]
    masked: frozenset[str]
    """Locations of those that lost rows since."""
    deletes_are_located: bool
    """Each new delete names the file it is about, so no other file lost rows."""


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """The statistics of a column over the files of a snapshot, including rows that were deleted since."""

    nulls: int
    nans: int
    least: Number | None = None
    """None where there is no number, and where the column is not numeric."""
    most: Number | None = None
    values: int = 0
    """Those that are not NULL."""


Number = int | float | Fraction

_NUMBERS = ("int", "long", "float", "double", "decimal")
_TIMES = ("date", "timestamptz", "boolean")


def list_manifests(snapshot: Snapshot) -> tuple[ManifestFile, ...]:
    try:
        return tuple(read_manifest_list(_LocalInput(snapshot.manifest_list)))
    except Exception as error:
        raise _unreadable(snapshot.manifest_list, error) from error


def data_files(manifest: ManifestFile) -> Iterator[DataFile]:
    """The manifest's files without entries for removed ones."""
    for entry in _entries(manifest):
        yield _data_file(manifest, entry)


def share_of_rows_within(snapshot: Snapshot, field_id: int, low: int, high: int) -> float:
    """Of the snapshot's rows, those in files that may have a whole number from `low` to `high` in that column."""
    all_rows = rows = 0
    for manifest in list_manifests(snapshot):
        if manifest.content is not ManifestContent.DATA:
            continue
        for entry in _entries(manifest):
            file = entry.data_file
            least, most = ((bounds or {}).get(field_id) for bounds in (file.lower_bounds, file.upper_bounds))
            all_rows += file.record_count
            if least is None or most is None or (_whole(least) <= high and _whole(most) >= low):
                rows += file.record_count
    return rows / all_rows if all_rows else 0.0


def column_bounds(snapshot: Snapshot, fields: Collection[Field], times: bool = False) -> Mapping[int, ColumnBounds]:
    """By the ids of those columns for which every file has all statistics.

    `times`: also the bounds of dates, of timestamps and of booleans, as the whole numbers that Iceberg has for them.
    """
    kinds = (*_NUMBERS, *_TIMES) if times else _NUMBERS
    bounds: dict[int, list[ColumnBounds] | None] = {field.id: [] for field in fields if isinstance(field.type, str)}
    for manifest in list_manifests(snapshot):
        if manifest.content is not ManifestContent.DATA:
            continue
        for entry in _entries(manifest):
            for field in fields:
                of_files = bounds.get(field.id)
                if of_files is not None:
                    spread = _spread(entry.data_file, field, kinds)
                    if spread is None:
                        bounds[field.id] = None
                    else:
                        of_files.append(spread)
    return {id: _together(of_files) for id, of_files in bounds.items() if of_files is not None}


def _spread(file: ManifestDataFile, field: Field, kinds: Collection[str]) -> ColumnBounds | None:
    values, nulls = ((counts or {}).get(field.id) for counts in (file.value_counts, file.null_value_counts))
    floating = field.type in ("float", "double")
    nans = (file.nan_value_counts or {}).get(field.id) if floating else 0
    if values is None or nulls is None or nans is None:
        return None
    if values == nulls + nans or field.type.partition("(")[0] not in kinds:
        return ColumnBounds(nulls, nans, values=values - nulls)
    least, most = ((bounds or {}).get(field.id) for bounds in (file.lower_bounds, file.upper_bounds))
    if least is None or most is None:
        return None
    ends = _number(least, field.type), _number(most, field.type)
    return None if any(map(math.isnan, ends)) else ColumnBounds(nulls, nans, *ends, values - nulls)


def _together(of_files: Sequence[ColumnBounds]) -> ColumnBounds:
    return ColumnBounds(
        sum(spread.nulls for spread in of_files),
        sum(spread.nans for spread in of_files),
        min((spread.least for spread in of_files if spread.least is not None), default=None),
        max((spread.most for spread in of_files if spread.most is not None), default=None),
        sum(spread.values for spread in of_files),
    )


def _number(bound: bytes, kind: str) -> Number:
    """A column may have been narrower when the file was written."""
    if kind in ("float", "double"):
        number: float = struct.unpack("<f" if len(bound) == 4 else "<d", bound)[0]
        return number
    if kind.startswith("decimal"):
        return Fraction(int.from_bytes(bound, "big", signed=True), 10 ** int(kind.rstrip(")").partition(",")[2]))
    return _whole(bound)


def _whole(bound: bytes) -> int:
    return int.from_bytes(bound, "little", signed=True)


def _entries(manifest: ManifestFile) -> Iterator[ManifestEntry]:
    types: dict[int, Any] = {-1: ManifestEntry, 2: ManifestDataFile}
    enums: dict[int, Any] = {0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent}
    try:
        with AvroFile(_LocalInput(manifest.manifest_path), _ENTRIES, read_types=types, read_enums=enums) as entries:
            for entry in entries:
                if entry.status is not ManifestEntryStatus.DELETED:
                    yield entry
    except LakeError:
        raise
    except Exception as error:
        raise _unreadable(manifest.manifest_path, error) from error


def new_files(snapshot: Snapshot, sequence_number: int) -> AddedFiles:
    """The files added after the commit of that number; only manifests written since are opened."""
    files, masked, deletes_are_located = [], set(), True
    for manifest in list_manifests(snapshot):
        if manifest.sequence_number <= sequence_number:
            continue
        for file in data_files(manifest):
            if file.sequence_number <= sequence_number:
                continue
            if manifest.content is ManifestContent.DATA:
                files.append(file)
            elif file.deletes_from is not None:
                masked.add(file.deletes_from)
            else:
                deletes_are_located = False
    return AddedFiles(tuple(files), frozenset(masked & {file.location for file in files}), deletes_are_located)


def _data_file(manifest: ManifestFile, entry: ManifestEntry) -> DataFile:
    file = entry.data_file
    number = entry.sequence_number
    return DataFile(
        location=file.file_path,
        size=file.file_size_in_bytes,
        partition=f"{manifest.partition_spec_id}:{file.partition}",
        deletes=file.content is not DataFileContent.DATA,
        format=file.file_format.value,
        encrypted=file.key_metadata is not None,
        sequence_number=manifest.sequence_number if number is None else number,
        deletes_from=file[_REFERENCED],
        by_values=file.content is DataFileContent.EQUALITY_DELETES,
        part=None if file[_OFFSET] is None else (file[_OFFSET], file[_SIZE]),
    )


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
