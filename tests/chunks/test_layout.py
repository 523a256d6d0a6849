"""Paths and their parts agree."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidegate.chunks.chunk_rows import RawChunk
from tidegate.chunks.layout import CHUNK_METADATA, PROCESSED, RAW, ChunkPath, RunFolder, chunk_path, run_of
from tidegate.chunks.process_chunks import jobs_of
from tidegate.chunks.source_files import belongs_to
from tidegate.config import ChunkSource

FOLDER = RunFolder("orders", "a-1f")


def test_every_path_says_what_it_is() -> None:
    assert chunk_path(FOLDER.chunk(3)) == ChunkPath(FOLDER, 3, RAW)
    assert chunk_path(FOLDER.processed(3)) == ChunkPath(FOLDER, 3, PROCESSED)
    assert chunk_path(FOLDER.chunk_metadata(3)) == ChunkPath(FOLDER, 3, CHUNK_METADATA)
    assert {run_of(path) for path in (FOLDER.chunk(0), FOLDER.metadata, FOLDER.errors(2))} == {FOLDER}


@pytest.mark.parametrize("path", ["chunked_bronze/orders/a/notes.txt", "bronze/orders/a.json", "archived_bronze/x"])
def test_a_path_that_is_something_else(path: str) -> None:
    assert chunk_path(path) is None
    assert run_of(path) is None


@pytest.mark.parametrize(
    ("pattern", "path", "belongs"),
    [
        ("orders_1.json", "bronze/orders_1.json", True),
        ("orders_1.json", "bronze/orders/orders_1.json", True),
        ("orders_1.json", "bronze/other/orders_1.json", False),
        ("orders_1.json", "bronze/orders/2026/orders_1.json", False),
        ("*.csv", "bronze/a.csv", True),
        ("*.csv", "bronze/a.csv.gz", False),
        ("orders/*.json", "bronze/orders/a.json", True),
        ("orders/*.json", "bronze/orders/x/a.json", False),
        ("orders/**", "bronze/orders/x/a.json", True),
        ("**/a?.json", "bronze/a1.json", True),
        ("in/[!x]*.json", "bronze/in/abc.json", True),
        ("in/[!x]*.json", "bronze/in/xyz.json", False),
        ("a.b/[z-a]", "bronze/a.b/[z-a]", True),
        ("a.b/c", "bronze/aXb/c", False),
    ],
)
def test_a_file_belongs_to_the_source_whose_pattern_it_matches(pattern: str, path: str, belongs: bool) -> None:
    assert belongs_to(path, ChunkSource("orders", pattern)) is belongs


def test_chunks_are_processed_in_few_jobs_that_fit_into_memory() -> None:
    small = RawChunk("a", pa.schema([]), 10_000, 2 << 20)
    large = RawChunk("b", pa.schema([]), 10_000, 1 << 30)
    assert [len(job) for job in jobs_of([small] * 300)] == [250, 50]
    assert [len(job) for job in jobs_of([small, large, large, small, small])] == [1, 1, 1, 2]
    assert list(jobs_of([])) == []
