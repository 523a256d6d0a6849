"""`[chunks]`: large raw files that are loaded piece by piece, and the sources that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["CHUNK_VARIABLES", "ChunkSource", "ChunksSection", "delta_table"]


@dataclass(frozen=True, slots=True)
class ChunkSource:
    """`[chunks.sources.NAME]`."""

    name: str
    pattern: str
    """Of its raw files, relative to `bronze/`. Without a slash it is about the name of a file, directly in `bronze/` or
    in the source's own folder there."""

    contract: str | None = None
    """An ODCS file, relative to the project."""

    model: str | None = None
    """A pydantic class, as `module:Class`."""

    primary_key: tuple[str, ...] = ()
    """Empty: that of the contract."""

    partition_key: str | None = None
    """A column by which the table is partitioned; it does not identify a row, unless `primary_key` has it too."""

    z_order: tuple[str, ...] = ()
    """Columns by which maintenance puts the rows of the table together."""

    delimiter: str | None = None
    """Of CSV files; None: a tab where the file is called so, else a comma."""


@dataclass(frozen=True, slots=True)
class ChunksSection:
    root: str = "."
    """The folder with `bronze/`, or s3://bucket/prefix."""

    format: str = "delta"
    """Of the tables: delta or iceberg."""

    default_chunk_size: int = 10_000
    """Rows of one chunk."""

    delta_client_batch_size: int = 100_000
    """A MERGE takes whole chunks, until it has so many rows."""

    delta_client_write_retries: int = 5
    delta_client_write_retry_delay: float = 10
    """Seconds before the first retry."""

    delta_client_write_retry_backoff: float = 2
    """Each retry waits so many times as long as the one before."""

    delta_client_write_retry_max_delay: float = 180
    """Seconds."""

    delta_client_write_retry_jitter: float = 10
    """The most seconds that chance adds to a delay."""

    delta_vacuum_retention_hours: int = 168
    """How long maintenance leaves files that the newest version of a table does not need."""

    delta_target_file_mb: int = 128
    """The size of files that maintenance writes."""

    delta_change_feed: bool = False
    """New tables record which rows each commit changes, so that models over them read only those."""

    sources: Mapping[str, ChunkSource] = field(default_factory=dict)

    @property
    def has_delta_tables(self) -> bool:
        return bool(self.sources) and self.format == "delta"


def delta_table(source: str) -> str:
    """The table of a source, relative to `root`."""
    return f"silver/{source}/records.delta"


CHUNK_VARIABLES: Mapping[str, str] = {
    key.upper(): key
    for key in (
        "default_chunk_size",
        "delta_client_batch_size",
        "delta_client_write_retries",
        "delta_client_write_retry_delay",
        "delta_client_write_retry_backoff",
        "delta_client_write_retry_max_delay",
        "delta_client_write_retry_jitter",
        "delta_vacuum_retention_hours",
        "delta_target_file_mb",
    )
}
"""Environment variables, which win over the keys that they stand for."""
