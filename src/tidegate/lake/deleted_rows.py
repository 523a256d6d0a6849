"""Which rows of its data files a snapshot has deleted: deletion vectors and position deletes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from tidegate.lake.metadata import local_path

if TYPE_CHECKING:
    from tidegate.lake.manifests import DataFile

__all__ = ["DeletedRows", "NotReadableHereError"]

_VECTOR = bytes.fromhex("d1d33964")


class NotReadableHereError(Exception):
    """Rows that only Spark can read. It never leaves the room."""


class DeletedRows:
    """`files`: the delete files of a snapshot."""

    def __init__(self, files: Iterable[DataFile]) -> None:
        self._of_one: dict[str, list[DataFile]] = defaultdict(list)
        self._of_any: list[DataFile] = []
        for file in files:
            if file.by_values or file.encrypted:
                raise NotReadableHereError
            if file.deletes_from is None:
                self._of_any.append(file)
            else:
                self._of_one[file.deletes_from].append(file)

    def positions(self, data_file: DataFile) -> Collection[int]:
        """Of the deleted rows in the file, counted from 0."""
        positions: set[int] = set()
        for file in (*self._of_one[data_file.location], *self._of_any):
            if file.sequence_number >= data_file.sequence_number:
                positions.update(_vector(file) if file.format == "PUFFIN" else _listed(file, data_file.location))
        return positions


def _vector(file: DataFile) -> Iterable[int]:
    """A deletion vector (see Iceberg's Puffin specification): length, magic, bitmaps by upper 32 bits, checksum."""
    from pyroaring import BitMap

    if file.part is None:
        raise NotReadableHereError
    offset, size = file.part
    with local_path(file.location).open("rb") as content:
        content.seek(offset)
        blob = content.read(size)
    length = int.from_bytes(blob[:4], "big")
    bitmaps, key = int.from_bytes(blob[8:16], "little"), int.from_bytes(blob[16:20], "little")
    if len(blob) != size or length != size - 8 or blob[4:8] != _VECTOR:
        raise NotReadableHereError
    if bitmaps == 0:
        return ()
    if bitmaps != 1 or key != 0:  # only a file of 4 billion rows has more
        raise NotReadableHereError
    positions: Iterable[int] = BitMap.deserialize(blob[20 : 4 + length])
    return positions


def _listed(file: DataFile, location: str) -> Iterable[int]:
    from pyarrow.parquet import read_table

    if file.format != "PARQUET":
        raise NotReadableHereError
    rows = read_table(local_path(file.location), columns=["pos"], filters=[("file_path", "==", location)])
    positions: list[int] = rows.column("pos").to_pylist()
    return positions
