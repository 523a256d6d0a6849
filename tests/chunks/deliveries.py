"""Raw files that are chunked and processed, as the job *load* finds them."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidegate.chunks.layout import RunFolder
from tidegate.chunks.processing_metadata import (
    BronzeToSilverProcessingMetadata,
    ChunkProcessingMetadata,
    ProcessingMetrics,
)
from tidegate.storage import Storage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Rows = Sequence[Mapping[str, Any]] | pa.Table


@dataclass(frozen=True)
class Delivery:
    storage: Storage
    folder: RunFolder

    @property
    def parent(self) -> BronzeToSilverProcessingMetadata:
        return BronzeToSilverProcessingMetadata.load(self.storage, self.folder.metadata)

    def paths(self, *numbers: int) -> list[str]:
        return [self.folder.chunk_metadata(number) for number in numbers]

    @property
    def pending(self) -> set[str]:
        """What is there of its chunks, by their names."""
        return {file.path.rpartition("/")[2] for file in self.storage.list(self.folder.pending)}

    def process(self, number: int, rows: Rows, failed: int = 0) -> None:
        """As the job *process* leaves a chunk: its valid rows, then its metadata, and no raw chunk."""
        table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
        if table.num_rows:
            content = io.BytesIO()
            pq.write_table(table, content)
            self.storage.write(self.folder.processed(number), content.getvalue())
        ChunkProcessingMetadata(
            parent_metadata_s3_path=self.folder.metadata,
            data_source=self.folder.source,
            input_chunk_s3_path=self.folder.chunk(number),
            errors_s3_path=self.folder.errors(number) if failed else None,
            metrics=ProcessingMetrics(success=table.num_rows, failed=failed),
            run_id=self.folder.run,
            start_timestamp=NOW,
            end_timestamp=NOW,
        ).save(self.storage, self.folder.chunk_metadata(number))
        self.storage.delete(self.folder.chunk(number))


def deliver(storage: Storage, run: str, chunks: Sequence[Rows | None], source: str = "orders") -> Delivery:
    """A file of so many chunks, which begin with number 1; None: it waits to be processed."""
    folder = RunFolder(source, run)
    numbers = range(1, len(chunks) + 1)
    BronzeToSilverProcessingMetadata(
        input_raw_file=f"bronze/{run}.json",
        data_source=source,
        chunks_size=10,
        bucket_name="lake",
        archived_raw_file=folder.raw_file(f"{run}.json"),
        raw_chunks=[folder.chunk(number) for number in numbers],
        run_id=run,
        start_timestamp=NOW + timedelta(seconds=sum(map(ord, run))),
        is_chunked=True,
    ).save(storage, folder.metadata)
    delivery = Delivery(storage, folder)
    for number, rows in zip(numbers, chunks, strict=True):
        if rows is None:
            storage.write(folder.chunk(number), b"raw")
        else:
            delivery.process(number, rows)
    return delivery


def numbered(first: int, last: int) -> list[dict[str, Any]]:
    return [{"id": number, "v": f"v{number}"} for number in range(first, last + 1)]
