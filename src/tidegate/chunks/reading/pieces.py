"""What readers give: pieces of a file, and why a record or the whole file cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from tidegate.errors import RawFileError

__all__ = ["ROW", "SOURCE_FILE", "FilePiece", "UnreadableRecord", "refused", "require_columns"]

SOURCE_FILE, ROW = "_source_file", "_source_row"
"""Columns that each chunk has beside those that were delivered."""

_MOST_COLUMNS = 5_000


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    number: int
    """From 1: the line of JSON lines; else which record it is, the header of a CSV file not counted."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class FilePiece:
    columns: Mapping[str, pa.Array]
    """By name; a column that is not there has NULL only."""

    numbers: pa.Array
    """Of the rows, as those of unreadable records."""

    unreadable: Sequence[UnreadableRecord] = field(default=())


def refused(path: str, reason: str, remedy: str) -> RawFileError:
    """A file that cannot be read as what its name says; it stays where it is."""
    return RawFileError(f"{path} cannot be read: {reason}", where=path, remedy=remedy)


def require_columns(path: str, names: Sequence[str]) -> None:
    """Raises RawFileError for columns that a chunk cannot have."""
    if len(names) > _MOST_COLUMNS:
        raise refused(
            path,
            f"it has more than {_MOST_COLUMNS:,} columns",
            "put values whose names are data into one nested value",
        )
    for name in names:
        if name.lower() in (SOURCE_FILE, ROW):
            raise refused(
                path,
                f"its column '{name}' has the name of one that Tidegate adds to each row",
                "give the column another name where the file is written",
            )
