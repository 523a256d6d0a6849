"""What a table records about the run that built it: the property `tidegate.progress`, published with the data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = [
    "PROGRESS_PROPERTY",
    "PROGRESS_VERSION",
    "WHOLE",
    "DeltaInput",
    "Order",
    "Progress",
    "TableInput",
    "ZoneInput",
]

PROGRESS_PROPERTY = "tidegate.progress"
PROGRESS_VERSION = 2
_READABLE = (1, PROGRESS_VERSION)


@dataclass(frozen=True, slots=True)
class TableInput:
    """A lake table as it was read. For a view, `uuid` and `columns` describe the view itself."""

    uuid: str
    snapshot_id: int | None
    """The last snapshot that changed rows; None: there is none yet."""
    sequence_number: int
    next_row_id: int
    columns: str
    """A digest of the field ids, names and types."""
    used: Mapping[str, str] | None = None
    """The columns that were read, with their field ids and types; None: all of them."""
    discarded: tuple[int, ...] = ()
    """Snapshots that were read and are no ancestors of this one, because the table was rolled back."""

    @property
    def state(self) -> str:
        """Differs where a reader may see other rows or columns. Compaction does not change it."""
        return f"{self.uuid} {self.snapshot_id} {self.columns}"


@dataclass(frozen=True, slots=True)
class DeltaInput:
    """A Delta table as it was read."""

    table_id: str
    version: int
    columns: str
    """A digest of the columns."""


@dataclass(frozen=True, slots=True)
class ZoneInput:
    """A landing zone as consumed: the digest names a file list beside the table's metadata."""

    digest: str
    files: int


@dataclass(frozen=True, slots=True)
class Order:
    """Commits whose rows are in the order of their arrival: by sequence number, `without` some."""

    since: int = 0
    without: tuple[int, ...] = ()


WHOLE = Order()


@dataclass(frozen=True, slots=True)
class Progress:
    """Its JSON is a table property, so a field keeps its name."""

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
    """The table's own last snapshot that changed rows. A later one was written by another program."""
    full_ms: int = 0
    """How long the last build from all rows took."""
    full_rows: int = 0
    """How many rows its inputs had in that build."""
    delta_factor: float = 1.0
    """The actual by the estimated time of the last update from changes."""
    deltas: int = 0
    """Updates from changes alone since the last full build or verification."""
    unique: tuple[str, ...] = ()
    """Columns that are unique together, as every write since the table was created ensured."""
    key: tuple[str, ...] = ()
    """Columns by which readers identify its rows, declared or proven from its query."""
    proven_since: int | None = None
    """The sequence number of the first state from which on the query proves the key; None: it is not known to."""
    order: Order | None = None
    """Which rows are in the order of their arrival; None: none."""
    checks: str = ""
    """A digest of the checks that the table passed before it was published."""
    checked: Mapping[str, TableInput] = field(default_factory=dict)
    """Other tables that those checks read, where isolation is serializable."""
    delta: Mapping[str, DeltaInput] = field(default_factory=dict)
    """Delta tables beside the lake."""
    functions: Mapping[str, str] = field(default_factory=dict)
    """Calls of table functions, with the version of the data that each said it gave."""
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
            data["delta"] = {name: DeltaInput(**value) for name, value in data.get("delta", {}).items()}
            data["unique"] = tuple(data.get("unique", ()))
            data["key"] = tuple(data.get("key", ()))
            order = data.get("order")
            data["order"] = Order(order["since"], tuple(order["without"])) if order else None
            return cls(**data | {"version": PROGRESS_VERSION})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def _table_input(value: Mapping[str, Any]) -> TableInput:
    return TableInput(**{**value, "discarded": tuple(value.get("discarded", ()))})
