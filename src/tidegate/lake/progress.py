"""What a table remembers of the run that made it: the property `tidegate.progress`, published with the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["PROGRESS_PROPERTY", "PROGRESS_VERSION", "WHOLE", "Order", "Progress", "TableInput", "ZoneInput"]

PROGRESS_PROPERTY = "tidegate.progress"
PROGRESS_VERSION = 2
_READABLE = (1, PROGRESS_VERSION)


@dataclass(frozen=True, slots=True)
class TableInput:
    """A lake table as it was read. `snapshot_id` is the last one that changed rows (None: no snapshot yet).

    `columns` is a digest of the field ids, names and types. For a view, `uuid` and `columns` describe the view itself.
    `used`: the columns that were read, with their field ids and types; None: all of them. `discarded`: snapshots that
    were read and are no ancestors of this one, because the table was rolled back: their rows were taken, too.
    """

    uuid: str
    snapshot_id: int | None
    sequence_number: int
    next_row_id: int
    columns: str
    used: Mapping[str, str] | None = None
    discarded: tuple[int, ...] = ()

    @property
    def state(self) -> str:
        """Another one where a reader may see other rows or columns; compaction changes nothing."""
        return f"{self.uuid} {self.snapshot_id} {self.columns}"


@dataclass(frozen=True, slots=True)
class ZoneInput:
    """A landing zone as consumed: the digest names a file list beside the table's metadata."""

    digest: str
    files: int


@dataclass(frozen=True, slots=True)
class Order:
    """Commits inside which rows stand in the order of their arrival: by sequence number, `without` some."""

    since: int = 0
    without: tuple[int, ...] = ()


WHOLE = Order()


@dataclass(frozen=True, slots=True)
class Progress:
    """`snapshot_id`: the table's own, the last that changed its rows: a later one was made by something else.

    `full_ms`: what the last build from all rows took, and `full_rows` how many rows its inputs had then.

    `delta_factor`: how many times as long as estimated an update from changes took the last time.
    `deltas`: how often the table was brought up to date from changes alone since then, or since it was verified.
    `checks`: a digest of the checks that the table passed before it was published. `checked`: other tables that those
    read, where isolation is serializable.
    `unique`: columns of which no two rows have the same values, as every write since the table was made saw to.
    `order`: which of its rows stand in the order of their arrival; None: none does.
    `key`: columns by which readers tell its rows apart, declared or proven from its query. `proven_since`: the sequence
    number of the first of the states up to this one in which the query proves the key; None: it is not known to.
    """

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
    snapshot_id: int | None = None
    full_ms: int = 0
    full_rows: int = 0
    delta_factor: float = 1.0
    deltas: int = 0
    unique: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    proven_since: int | None = None
    order: Order | None = None
    checks: str = ""
    checked: Mapping[str, TableInput] = field(default_factory=dict)
    version: int = PROGRESS_VERSION

    def to_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Progress | None:
        """None where the text is not a progress record of a version this program knows."""
        try:
            data: dict[str, Any] = json.loads(text)
            if data.get("version") not in _READABLE:
                return None
            data["tables"] = {name: _table_input(value) for name, value in data["tables"].items()}
            data["checked"] = {name: _table_input(value) for name, value in data.get("checked", {}).items()}
            data["zones"] = {name: ZoneInput(**value) for name, value in data["zones"].items()}
            data["intervals"] = tuple((start, end) for start, end in data["intervals"])
            data["unique"] = tuple(data.get("unique", ()))
            data["key"] = tuple(data.get("key", ()))
            order = data.get("order")
            data["order"] = Order(order["since"], tuple(order["without"])) if order else None
            return cls(**data | {"version": PROGRESS_VERSION})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _table_input(value: Mapping[str, Any]) -> TableInput:
    return TableInput(**{**value, "discarded": tuple(value.get("discarded", ()))})
