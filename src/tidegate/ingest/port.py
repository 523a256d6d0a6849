"""The port to what reads a source: a connector writes what is new in the source as batches of raw files.

A logical run reads what lies between two bounds. It may take several processes: each continues after the last batch
that was recorded, with the same bounds. `logical_run` owns names, manifests, faults and attempts; a connector owns the
source alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tidegate.config import Settings
from tidegate.contracts.ingestion import Ingestion
from tidegate.http_client import Timing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "Batch",
    "Bounds",
    "Extent",
    "OriginFile",
    "ReadProgress",
    "SourceConnector",
    "SourceRequest",
]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a logical run reads: `lower` < value <= `upper`, as text that only the connector understands."""

    lower: str | None = None
    """Exclusive; None: from the beginning."""

    upper: str | None = None
    """Inclusive, frozen when the logical run starts; None: the source has none, so the end is where it ends."""


@dataclass(frozen=True, slots=True)
class OriginFile:
    """A file of the source as it was when it was landed. It is its content: touched or copied it is the same."""

    path: str
    size: int
    mtime_ns: int
    digest: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Raw rows that lie complete in the folder given to `batches`. Once it is yielded its files are moved away."""

    files: tuple[str, ...]
    """Relative to the folder, in the order of their rows; several where they were written in parallel. Every ending
    stays. Other files in the folder (such as `_SUCCESS`) are removed."""

    rows: int | None = None
    """None where counting them would mean reading them."""

    state: str | None = None
    """`source_specific_state_json`: from where `batches` continues after this batch, as JSON, without secrets. None:
    nothing is left to read, so this is the last batch."""

    reached: str | None = None
    """Of a source without an upper bound: the greatest value in this batch and those before it in the logical run. It
    becomes the bound of the next run where nothing follows."""

    origins: tuple[OriginFile, ...] = ()
    """Of a source that is files: those in this batch, so that no later run lands them again."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the logical run a connector has read since it was made."""

    unit: str
    """What the parts are, such as `pages` or `ranges`."""

    parts: int = 0
    rows: int | None = None

    total: int | None = None
    """Of parts; None where it is not known."""


@dataclass(frozen=True, slots=True)
class ReadProgress:
    """What a person at the terminal sees of a logical run."""

    contract: str
    extent: Extent
    earlier_batches: int
    """Landed by processes or attempts before this one."""

    earlier_rows: int | None
    seconds: float

    @property
    def rows_per_second(self) -> float | None:
        rows = self.extent.rows
        return None if rows is None or self.seconds <= 0 else rows / self.seconds

    @property
    def text(self) -> str:
        """`orders  12 of 40 ranges  120,000 rows  35,000 rows/s`"""
        extent, rate = self.extent, self.rows_per_second
        of = f" of {extent.total:,}" if extent.total is not None else ""
        one = extent.parts == 1 and extent.total in (None, 1)
        parts = [self.contract, f"{extent.parts:,}{of} {extent.unit.removesuffix('s') if one else extent.unit}"]
        if extent.rows is not None:
            parts.append(f"{extent.rows:,} row{'' if extent.rows == 1 else 's'}")
        if rate is not None:
            parts.append(f"{rate:,.0f} rows/s")
        if self.earlier_batches:
            parts.append(f"continued after batch {self.earlier_batches:,}")
        return "  ".join(parts)


def _no_report(extent: Extent) -> None:
    """Nothing listens."""


def _no_note(text: str) -> None:
    """Nothing listens."""


def _never_cancelled() -> None:
    """Nothing cancels."""


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """What a connector is made with. One request is one process's part of one logical run."""

    ingestion: Ingestion
    settings: Settings
    """`settings.sources[ingestion.source.source]` has the connection and its secrets."""

    run_id: str
    """Of the logical run; a resumed one keeps it."""

    started_at: datetime
    """Of the logical run, in UTC."""

    landed: tuple[tuple[OriginFile, ...], ...] = ((),)
    """The `origins` of each logical run, the oldest first; the last are those of this one so far."""

    session: Callable[[], SparkSession] | None = None
    """Gives the Spark session, starting it where that is needed; None where there is no Spark."""

    report: Callable[[Extent], None] = _no_report
    """Called as often as the connector likes, from any thread."""

    note: Callable[[str], None] = _no_note
    """Receives what a person should know of the read although it succeeds, as a clause without a full stop."""

    check_cancelled: Callable[[], None] = _never_cancelled
    """Raises RunCancelledError. Called between parts; Spark jobs are interrupted by the owner of the session."""

    timing: Timing = field(default_factory=Timing)
    """Clock and pauses."""


class SourceConnector(Protocol):
    """One class per kind of source, made with a `SourceRequest`. What its contracts must have is declared as a
    `Connector`, built-in ones in `contracts/connectors.py`, others as the class attribute `declaration`.

    Failures are raised as SourceError, without secrets. One whose kind is transient is attempted again: the connector
    is made once more and continues from the state of the last batch.
    """

    def upper_bound(self, lower: str | None) -> str | None:
        """Asked once, when a logical run starts. None: the source has none. `lower`: nothing is new."""

    def batches(self, bounds: Bounds, state: str | None, folder: Path) -> Iterator[Batch]:
        """Read on from `state` (None: from the start). `folder` is empty, local and private, on the same disk as the
        landing zone. A full snapshot has no lower bound.

        No batch: there was nothing to read. A table that is empty is something else, from which deletions may follow: a
        full snapshot of it is one batch with `rows` 0, with a file or without."""

    def close(self) -> None: ...
