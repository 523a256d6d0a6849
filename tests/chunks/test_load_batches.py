"""Whole chunks make batches of enough rows, of one schema each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tidegate.chunks.load_batches import ReadyChunk, gather
from tidegate.chunks.processing_metadata import ChunkProcessingMetadata

CHUNK = ChunkProcessingMetadata(
    parent_metadata_s3_path="archived_bronze/orders/run/metadata.json",
    data_source="orders",
    input_chunk_s3_path="chunked_bronze/orders/run/chunk_0.parquet",
    run_id="run",
    start_timestamp=datetime(2024, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize(
    ("chunks", "batches"),
    [
        ([(10, "a"), (10, "a"), (5, "a")], [[10, 10], [5]]),
        ([(20, "a"), (5, "a")], [[20], [5]]),
        ([(0, ""), (10, "a"), (0, ""), (10, "a")], [[0, 10, 0, 10]]),
        ([(5, "a"), (5, "b"), (0, ""), (5, "b")], [[5], [5, 0, 5]]),
        ([(5, "a"), (0, ""), (20, "b")], [[5, 0], [20]]),
        ([], []),
    ],
)
def test_batches_have_enough_rows_and_one_schema(chunks: list[tuple[int, str]], batches: list[list[int]]) -> None:
    ready = [ReadyChunk(CHUNK, rows, columns) for rows, columns in chunks]
    assert [[chunk.rows for chunk in batch.chunks] for batch in gather(ready, 15)] == batches
