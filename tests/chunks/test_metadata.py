"""What is recorded of files and chunks, as it is on the storage."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tidegate.chunks.processing_metadata import (
    BronzeToSilverProcessingMetadata,
    ChunkProcessingMetadata,
    PendingBatch,
    ProcessingMetrics,
)
from tidegate.errors import StorageError
from tidegate.storage import open_storage

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PARENT = BronzeToSilverProcessingMetadata(
    input_raw_file="bronze/orders_1.json",
    data_source="orders",
    chunks_size=10,
    bucket_name="lake",
    run_id="orders_1-ab12",
    raw_chunks=["chunked_bronze/orders/orders_1-ab12/chunk_0.parquet"],
    metrics=ProcessingMetrics(success=1),
    batch=PendingBatch(number=1, chunk_metadata_s3_paths=["x"]),
    start_timestamp=NOW,
)


def test_the_parent_has_the_fields_of_its_table(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    PARENT.save(storage, PARENT.metadata_s3_path)
    written = json.loads((tmp_path / "archived_bronze/orders/orders_1-ab12/metadata.json").read_text())
    assert written["output_delta_table"] == "silver/orders/records.delta"
    assert written["n_chunks"] == 1
    assert {"requeued_raw_file", "archived_raw_file", "errors_s3_path", "metrics", "processed_chunks"} <= set(written)
    assert BronzeToSilverProcessingMetadata.load(storage, PARENT.metadata_s3_path) == PARENT


def test_a_chunk_knows_where_its_result_is() -> None:
    chunk = ChunkProcessingMetadata(
        parent_metadata_s3_path=PARENT.metadata_s3_path,
        data_source="orders",
        input_chunk_s3_path=PARENT.raw_chunks[0],
        run_id=PARENT.run_id,
        start_timestamp=NOW,
    )
    assert chunk.output_processed_s3_path == "chunked_bronze/orders/orders_1-ab12/chunk_0_processed.parquet"
    assert chunk.metadata_s3_path == "chunked_bronze/orders/orders_1-ab12/chunk_0_metadata.json"
    assert ChunkProcessingMetadata.model_validate_json(chunk.as_json()) == chunk


def test_metrics_add_up() -> None:
    assert ProcessingMetrics(success=1, failed=2) + ProcessingMetrics(success=3) == ProcessingMetrics(
        success=4, failed=2
    )


@pytest.mark.parametrize("content", [b"", b"{", b'{"data_source": 1}', b"\xff\xfe"])
def test_metadata_that_cannot_be_read_names_its_file(tmp_path: Path, content: bytes) -> None:
    storage = open_storage(str(tmp_path))
    storage.write("archived_bronze/orders/r/metadata.json", content)
    with pytest.raises(StorageError, match=r"archived_bronze/orders/r/metadata\.json cannot be read"):
        BronzeToSilverProcessingMetadata.load(storage, "archived_bronze/orders/r/metadata.json")
