"""Batches are written once and counted once, wherever a process is stopped. The table is a list: no JVM is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.chunks.deliveries import NOW, Delivery, deliver, numbered
from tidegate.chunks import bronze_loader
from tidegate.chunks.bronze_loader import BronzeLoader, LoadProgress, LoadResult
from tidegate.chunks.processing_metadata import PendingBatch, ProcessingMetrics
from tidegate.chunks.table_batch import BatchOutcome, TableBatch, TableKey, Transaction
from tidegate.chunks.write_retries import WriteRetries
from tidegate.errors import FailureKind, LakeUnavailableError, StorageError, StrategyError
from tidegate.faults import FAULT_POINTS
from tidegate.storage import Storage, open_storage

POINTS = (
    "before_load_batch",
    "after_load_batch",
    "after_load_commit",
    "after_load_counted",
    "inside_load_cleanup",
    "after_load_cleanup",
)


@dataclass
class Written:
    """A table that knows the transactions it has."""

    commits: list[TableBatch] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)

    def write(self, batch: TableBatch) -> BatchOutcome:
        if self.failures:
            raise self.failures.pop(0)
        if any(each.transaction.version >= batch.transaction.version for each in self.commits):
            return BatchOutcome(applied=False)
        for path in batch.paths:
            Path(path).read_bytes()
        self.commits.append(batch)
        return BatchOutcome(inserted=batch.rows)

    def has(self, transaction: Transaction) -> bool:
        return any(each.transaction == transaction for each in self.commits)

    @property
    def rows(self) -> list[int]:
        return [batch.rows for batch in self.commits]


@dataclass
class Loads:
    storage: Storage
    table: Written = field(default_factory=Written)
    slept: list[float] = field(default_factory=list)
    progress: Callable[[LoadProgress], None] = lambda progress: None
    batch_size: int = 20

    def run(self, delivery: Delivery, *numbers: int) -> LoadResult:
        retries = WriteRetries(most=2, first=10, backoff=2, longest=15, jitter=0, sleep=self.slept.append)
        loader = BronzeLoader(
            self.storage,
            self.table,
            TableKey(("id",)),
            self.batch_size,
            retries,
            progress=self.progress,
            now=lambda: NOW,
        )
        return loader.run(delivery.folder.metadata, delivery.paths(*numbers))


@pytest.fixture
def loads(tmp_path: Path) -> Loads:
    return Loads(open_storage(tmp_path))


def test_whole_chunks_are_gathered_until_the_batch_is_large_enough(loads: Loads) -> None:
    """The numbers of the documentation, a thousandth of them: 25 rows, chunks of 10, batches of 15."""
    loads.batch_size = 15
    delivery = deliver(loads.storage, "a", [numbered(1, 10), numbered(11, 20), numbered(21, 25)])
    left: list[set[str]] = []
    loads.progress = lambda each: left.append(delivery.pending)
    result = loads.run(delivery, 3, 1, 2)
    assert loads.table.rows == [20, 5]
    assert left == [{"chunk_3_processed.parquet", "chunk_3_metadata.json"}, set()]
    assert [batch.transaction.version for batch in loads.table.commits] == [1, 2]
    assert (result.status, result.batches, result.rows) == ("complete", 2, 25)
    assert delivery.parent.metrics == ProcessingMetrics(success=25)
    assert delivery.parent.end_timestamp == NOW
    assert delivery.parent.processed_chunks == [delivery.folder.processed(number) for number in (1, 2, 3)]


def test_chunk_ten_comes_after_chunk_nine(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(number, number) for number in range(1, 12)])
    loads.run(delivery, *range(1, 12))
    (batch,) = loads.table.commits
    assert [path.rpartition("/")[2].split("_")[1] for path in batch.paths] == [str(n) for n in range(1, 12)]


def test_file_that_is_not_processed_to_the_end_is_continued(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 10), None])
    assert loads.run(delivery, 1).status == "partial"
    assert delivery.parent.end_timestamp is None
    assert delivery.pending == {"chunk_2.parquet"}
    delivery.process(2, numbered(11, 15), failed=5)
    assert loads.run(delivery, 2).status == "complete"
    assert loads.table.rows == [10, 5]
    assert delivery.parent.metrics == ProcessingMetrics(success=15, failed=5)
    assert delivery.parent.errors_s3_path == [delivery.folder.errors(2)]
    assert delivery.pending == set()


def test_file_whose_rows_are_all_bad_is_complete_without_a_write(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [None])
    delivery.process(1, [], failed=10)
    assert loads.run(delivery, 1).status == "complete"
    assert loads.table.commits == []
    assert delivery.parent.metrics == ProcessingMetrics(failed=10)
    assert delivery.pending == set()


def test_what_killed_processes_left_of_a_file_goes_when_it_is_complete(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3), None])
    loads.storage.write(f"{delivery.folder.pending}/_chunking/gone.json", b"{}")
    loads.run(delivery, 1)
    assert delivery.pending == {"gone.json", "chunk_2.parquet"}
    delivery.process(2, numbered(4, 6))
    loads.run(delivery, 2)
    assert delivery.pending == set()


def test_complete_file_is_not_loaded_again(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 10)])
    loads.run(delivery, 1)
    before = delivery.parent
    assert loads.run(delivery, 1).status == "complete"
    assert delivery.parent == before
    assert loads.table.rows == [10]


class Stopped(BaseException):
    """As a kill: nothing of the loader runs after it."""


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], None]:
    def stop_at(point: str, time: int) -> None:
        times = count(1)

        def fault(name: str) -> None:
            if name == point and next(times) == time:
                raise Stopped

        monkeypatch.setattr(bronze_loader, "fault", fault)

    return stop_at


def test_all_points_of_a_load_are_known() -> None:
    assert {name for name in FAULT_POINTS if "load" in name} == {*POINTS, "after_load_table"}


@pytest.mark.parametrize("time", [1, 2, 3])
@pytest.mark.parametrize("point", POINTS)
def test_load_that_is_stopped_loses_and_doubles_nothing(
    loads: Loads, stop: Callable[[str, int], None], point: str, time: int
) -> None:
    chunks = [numbered(1, 10), numbered(11, 20), numbered(21, 30), numbered(31, 40), numbered(41, 45)]
    delivery = deliver(loads.storage, "a", chunks)
    stop(point, time)
    with pytest.raises(Stopped):
        loads.run(delivery, 1, 2, 3, 4, 5)
    stop("", 0)
    left = [int(name.split("_")[1]) for name in delivery.pending if name.endswith("_metadata.json")]
    loads.run(delivery, *left)
    assert loads.table.rows == [20, 20, 5]
    assert delivery.parent.metrics == ProcessingMetrics(success=45)
    assert delivery.parent.end_timestamp is not None or delivery.pending == set()
    assert len(delivery.parent.processed_chunks) == len(set(delivery.parent.processed_chunks)) == 5
    if delivery.parent.end_timestamp is not None:
        from tidegate.chunks.pending_loads import pending_loads

        assert pending_loads(loads.storage).loads == []
    assert delivery.pending == set()


def test_recorded_batch_is_finished_first_with_its_own_chunks(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3), numbered(4, 6), numbered(7, 9)])
    pending = PendingBatch(number=1, chunk_metadata_s3_paths=delivery.paths(2))
    delivery.parent.model_copy(update={"batch": pending}).save(loads.storage, delivery.folder.metadata)
    loads.run(delivery, 1, 2, 3)
    assert loads.table.rows == [3, 6]
    assert delivery.parent.metrics == ProcessingMetrics(success=9)


@pytest.mark.parametrize("damage", ["missing", "truncated", "metadata"])
def test_damaged_chunk_is_left_out_and_named(loads: Loads, damage: str) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3), numbered(4, 6)])
    processed, described = delivery.folder.processed(2), delivery.folder.chunk_metadata(2)
    if damage == "missing":
        loads.storage.delete(processed)
    elif damage == "truncated":
        loads.storage.write(processed, loads.storage.read(processed)[:-20])
    else:
        loads.storage.write(described, b"{")
    result = loads.run(delivery, 1, 2)
    assert (result.status, loads.table.rows) == ("partial", [3])
    (warning,) = result.warnings
    assert "chunk_2_" in warning
    assert delivery.parent.metrics == ProcessingMetrics(success=3)


@pytest.mark.parametrize("committed", [True, False])
def test_recorded_batch_with_a_damaged_chunk(loads: Loads, stop: Callable[[str, int], None], committed: bool) -> None:
    """Its rows are in the table once, whether the batch was committed or not."""
    delivery = deliver(loads.storage, "a", [numbered(1, 3), numbered(4, 6)])
    stop("after_load_commit" if committed else "after_load_batch", 1)
    with pytest.raises(Stopped):
        loads.run(delivery, 1, 2)
    stop("", 0)
    loads.storage.delete(delivery.folder.processed(2))
    result = loads.run(delivery, 1, 2)
    assert loads.table.rows == ([6] if committed else [3])
    assert delivery.parent.batch is None
    assert result.warnings


def test_number_that_another_process_has_used_is_left_to_it(loads: Loads) -> None:
    """It was taken for dead after it had recorded its batch, and wrote it all the same."""
    delivery = deliver(loads.storage, "a", [numbered(1, 3)])
    loads.table.commits.append(TableBatch((), 7, TableKey(), Transaction("another", 1, "other chunks")))
    loads.run(delivery, 1)
    assert loads.table.rows == [7, 3]
    assert delivery.parent.batches_done == 2


def test_conflict_is_tried_again_after_growing_pauses(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3)])
    loads.table.failures = [conflict(), LakeUnavailableError("gone", where="lake")]
    loads.run(delivery, 1)
    assert loads.slept == [10, 15]
    assert loads.table.rows == [3]


def test_last_retry_raises_and_leaves_the_batch_for_the_next_load(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3)])
    loads.table.failures = [conflict(), conflict(), conflict()]
    with pytest.raises(StorageError):
        loads.run(delivery, 1)
    assert delivery.parent.batch == PendingBatch(number=1, chunk_metadata_s3_paths=delivery.paths(1))
    loads.run(delivery, 1)
    assert loads.table.rows == [3]


def test_what_a_retry_cannot_cure_is_raised_at_once(loads: Loads) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3)])
    loads.table.failures = [StrategyError("no such column")]
    with pytest.raises(StrategyError):
        loads.run(delivery, 1)
    assert loads.slept == []


def test_process_that_lost_its_lease_records_nothing(loads: Loads, tmp_path: Path) -> None:
    delivery = deliver(loads.storage, "a", [numbered(1, 3)])
    before = delivery.parent

    def lost() -> None:
        raise conflict()

    retries = WriteRetries(0, 0, 1, 0, 0)
    loader = BronzeLoader(loads.storage, loads.table, TableKey(), 10, retries, require_lease=lost)
    with pytest.raises(StorageError):
        loader.run(delivery.folder.metadata, delivery.paths(1))
    assert delivery.parent == before


def conflict() -> StorageError:
    return StorageError("someone else was first", kind=FailureKind.CONFLICT)
