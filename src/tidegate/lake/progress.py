"""What a table remembers of the run that made it: the property `tidegate.progress`, published with the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["PROGRESS_PROPERTY", "PROGRESS_VERSION", "Progress", "TableInput", "ZoneInput"]

PROGRESS_PROPERTY = "tidegate.progress"
PROGRESS_VERSION = 1


@dataclass(frozen=True, slots=True)
class TableInput:
    """A lake table as it was read. `snapshot_id` is the last one that changed rows (None: no snapshot yet).

    `columns` is a digest of the field ids, names and types. For a view, `uuid` and `columns` describe the view itself.
    """

    uuid: str
    snapshot_id: int | None
    sequence_number: int
    next_row_id: int
    columns: str


@dataclass(frozen=True, slots=True)
class ZoneInput:
    """A landing zone as consumed: the digest names a file list beside the table's metadata."""

    digest: str
    files: int


@dataclass(frozen=True, slots=True)
class Progress:
    run_id: str
    fingerprint: str
    run_type: str
    strategy: str
    keeps_history: bool = False
    tables: Mapping[str, TableInput] = field(default_factory=dict)
    zones: Mapping[str, ZoneInput] = field(default_factory=dict)
    watermark: str | None = None
    intervals: tuple[tuple[str, str], ...] = ()
    dropped_columns: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    duration_ms: int = 0
    version: int = PROGRESS_VERSION

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Progress | None:
        """None where the text is not a progress record of a version this program knows."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data.get("version") != PROGRESS_VERSION:
                return None
            data["tables"] = {name: TableInput(**value) for name, value in data["tables"].items()}
            data["zones"] = {name: ZoneInput(**value) for name, value in data["zones"].items()}
            data["intervals"] = tuple((start, end) for start, end in data["intervals"])
            return cls(**data)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
