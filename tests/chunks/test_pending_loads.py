"""What is found to be loaded, what is warned of, and what is cleaned up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chunks.deliveries import NOW, deliver, numbered
from tidegate.chunks.load_bronze import get_tasks
from tidegate.chunks.pending_loads import PendingLoad, pending_loads
from tidegate.chunks.processing_metadata import PendingBatch
from tidegate.storage import Storage, open_storage


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(tmp_path)


def test_nothing_is_found_where_nothing_is(storage: Storage) -> None:
    assert pending_loads(storage).loads == []


def test_chunks_are_grouped_by_their_file_in_its_order(storage: Storage) -> None:
    delivery = deliver(storage, "a", [numbered(n, n) for n in range(1, 12)])
    (load,) = pending_loads(storage).loads
    assert load == PendingLoad(
        delivery.folder.metadata, tuple(delivery.paths(*range(1, 12))), "silver/orders/records.delta"
    )


def test_one_file_of_each_table_the_oldest_first(storage: Storage) -> None:
    for run in ("b", "a"):
        deliver(storage, run, [numbered(1, 1)])
    deliver(storage, "c", [numbered(1, 1)], source="customers")
    found = pending_loads(storage)
    assert [load.parent_path.split("/")[1:3] for load in found.loads] == [["orders", "a"], ["customers", "c"]]
    assert [load.table for load in pending_loads(storage, "customers").loads] == ["silver/customers/records.delta"]


def test_file_with_an_unfinished_batch_goes_first(storage: Storage) -> None:
    deliver(storage, "a", [numbered(1, 1)])
    later = deliver(storage, "b", [numbered(1, 1)])
    batch = PendingBatch(number=1, chunk_metadata_s3_paths=later.paths(1))
    later.parent.model_copy(update={"batch": batch}).save(storage, later.folder.metadata)
    assert [load.parent_path for load in pending_loads(storage).loads] == [later.folder.metadata]


def test_chunks_that_are_not_processed_are_warned_of(storage: Storage) -> None:
    delivery = deliver(storage, "a", [numbered(1, 1), None])
    found = pending_loads(storage)
    assert [load.chunk_paths for load in found.loads] == [tuple(delivery.paths(1))]
    assert found.warnings == [f"{delivery.folder.chunk(2)} is not processed yet: it has neither metadata nor a result"]


def test_missing_result_is_warned_of_and_not_loaded(storage: Storage) -> None:
    delivery = deliver(storage, "a", [numbered(1, 1), numbered(2, 2)])
    storage.delete(delivery.folder.processed(1))
    found = pending_loads(storage)
    assert [load.chunk_paths for load in found.loads] == [tuple(delivery.paths(2))]
    (warning,) = found.warnings
    assert warning.startswith(f"{delivery.folder.processed(1)} is missing")
    assert "tidegate chunks requeue" in warning


def test_chunk_whose_rows_are_all_bad_needs_no_result(storage: Storage) -> None:
    delivery = deliver(storage, "a", [None])
    delivery.process(1, [], failed=3)
    found = pending_loads(storage)
    assert ([load.chunk_paths for load in found.loads], found.warnings) == ([tuple(delivery.paths(1))], [])


def test_file_without_a_processed_chunk_is_no_load(storage: Storage) -> None:
    deliver(storage, "a", [None, None])
    found = pending_loads(storage)
    assert (found.loads, found.warnings) == ([], [])


@pytest.mark.parametrize("content", [b"{", b"{}", b"\xff", None])
def test_unreadable_parent_is_warned_of(storage: Storage, content: bytes | None) -> None:
    delivery = deliver(storage, "a", [numbered(1, 1)])
    other = deliver(storage, "b", [numbered(1, 1)])
    if content is None:
        storage.delete(delivery.folder.metadata)
    else:
        storage.write(delivery.folder.metadata, content)
    found = pending_loads(storage)
    assert [load.parent_path for load in found.loads] == [other.folder.metadata]
    (warning,) = found.warnings
    assert delivery.folder.metadata in warning


def test_unreadable_chunk_metadata_is_warned_of(storage: Storage) -> None:
    delivery = deliver(storage, "a", [numbered(1, 1), numbered(2, 2)])
    storage.write(delivery.folder.chunk_metadata(1), b"[]")
    found = pending_loads(storage)
    assert [load.chunk_paths for load in found.loads] == [tuple(delivery.paths(2))]
    assert len(found.warnings) == 1
    assert delivery.folder.chunk_metadata(1) in found.warnings[0]


def test_leftovers_of_a_complete_file_are_removed(storage: Storage) -> None:
    delivery = deliver(storage, "a", [numbered(1, 1), numbered(2, 2)])
    done = {"end_timestamp": NOW, "processed_chunks": [delivery.folder.processed(1)]}
    delivery.parent.model_copy(update=done).save(storage, delivery.folder.metadata)
    found = pending_loads(storage)
    assert found.loads == []
    assert delivery.pending == {"chunk_2_processed.parquet", "chunk_2_metadata.json"}
    assert "complete without it" in found.warnings[0]


def test_tasks_are_plain_values(tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").write_text(
        '[project]\nname = "shop"\n[chunks.sources.orders]\ncontract = "orders.odcs.yml"\nprimary_key = ["id"]\n'
    )
    delivery = deliver(open_storage(tmp_path), "a", [numbered(1, 1)])
    assert get_tasks(tmp_path) == [
        {
            "project": str(tmp_path),
            "parent_metadata_s3_path": delivery.folder.metadata,
            "chunk_metadata_s3_paths": delivery.paths(1),
        }
    ]
    assert get_tasks(tmp_path, "orders") == get_tasks(tmp_path)
