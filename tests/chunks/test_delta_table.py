"""A batch is merged into its table by the key alone, once, and only what it changes is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.chunks.delta_table import DeltaTable
from tidegate.chunks.table_batch import BatchOutcome, TableBatch, TableKey, Transaction
from tidegate.errors import DriftRefusedError, StrategyError
from tidegate.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Rows = Sequence[Mapping[str, Any]]


@dataclass
class Orders:
    """The table under test. Each batch has the next number, and one chunk for each list of rows."""

    session: SparkSession
    folder: Path
    keys: tuple[str, ...] = ("id",)
    partition: str | None = None
    batches: int = 0

    def load(self, *chunks: Rows | pa.Table, number: int | None = None) -> BatchOutcome:
        self.batches = number or self.batches + 1
        folder = self.folder / f"batch{next(_numbers)}"
        folder.mkdir()
        tables = [chunk if isinstance(chunk, pa.Table) else pa.Table.from_pylist(list(chunk)) for chunk in chunks]
        paths = [folder / f"chunk_{number}_processed.parquet" for number in range(9, 9 + len(tables))]
        for path, table in zip(paths, tables, strict=True):
            pq.write_table(table, path)
        transaction = Transaction("archived_bronze/orders/run/metadata.json", self.batches, str(len(chunks)))
        rows = sum(table.num_rows for table in tables)
        batch = TableBatch(tuple(map(str, paths)), rows, TableKey(self.keys, self.partition), transaction)
        return self.table.write(batch)

    @property
    def table(self) -> DeltaTable:
        return DeltaTable(self.session, open_storage(self.folder), "silver/orders/records.delta")

    def rows(self, columns: str = "*") -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM {self.table.relation}"
        return sorted((tuple(row) for row in self.session.sql(query).collect()), key=repr)

    def last_commit(self) -> set[str]:
        """What the newest version of the table consists of."""
        log = max((self.folder / "silver/orders/records.delta/_delta_log").glob("*.json"))
        return {action for line in log.read_text().splitlines() for action in json.loads(line)}


_numbers = count(1)


@pytest.fixture
def orders(delta: SparkSession, tmp_path: Path) -> Orders:
    return Orders(delta, tmp_path)


def test_rows_are_inserted_and_updated_by_key(orders: Orders) -> None:
    first = orders.load([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    second = orders.load([{"id": 2, "v": "B"}, {"id": 3, "v": "c"}, {"id": 1, "v": "a"}])
    assert first == BatchOutcome(inserted=2)
    assert second == BatchOutcome(inserted=1, updated=1, unchanged=1)
    assert orders.rows() == [(1, "a"), (2, "B"), (3, "c")]


def test_last_row_of_a_key_counts_also_in_the_first_batch(orders: Orders) -> None:
    """Chunk 10 comes after chunk 9, though not as text."""
    chunks = [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}, {"id": 2, "v": "x"}], [{"id": 2, "v": "y"}]
    assert orders.load(*chunks) == BatchOutcome(inserted=2, repeated=2)
    assert orders.rows() == [(1, "b"), (2, "y")]


def test_same_rows_again_write_no_file(orders: Orders) -> None:
    rows = [{"id": 1, "v": "a", "m": {"x": [1.0, None]}}, {"id": None, "v": None, "m": None}]
    orders.load(rows)
    assert orders.last_commit() == {"commitInfo", "txn", "add"}
    assert orders.load(rows) == BatchOutcome(unchanged=2)
    assert orders.last_commit() == {"commitInfo", "txn"}


def test_repeated_transaction_is_not_applied(orders: Orders) -> None:
    orders.load([{"id": 1, "v": "a"}])
    orders.load([{"id": 1, "v": "b"}])
    assert not orders.load([{"id": 1, "v": "a"}], number=1).applied
    assert orders.rows() == [(1, "b")]
    application = "archived_bronze/orders/run/metadata.json"
    assert orders.table.has(Transaction(application, 1, "1"))
    assert not orders.table.has(Transaction(application, 1, "other content"))


def test_row_with_a_null_key_is_one_row(orders: Orders) -> None:
    orders.load([{"id": None, "v": "a"}, {"id": 7, "v": "x"}])
    assert orders.load([{"id": None, "v": "b"}]) == BatchOutcome(updated=1)
    assert orders.rows() == [(7, "x"), (None, "b")]


def test_key_whose_partition_changes_moves(orders: Orders) -> None:
    orders.partition = "day"
    orders.load([{"id": 1, "day": "mon"}, {"id": 2, "day": "mon"}])
    assert orders.load([{"id": 1, "day": "tue"}]) == BatchOutcome(updated=1)
    assert orders.rows("id, day") == [(1, "tue"), (2, "mon")]


def test_partition_that_is_part_of_the_key_limits_what_is_read(orders: Orders) -> None:
    orders.partition, orders.keys = "day", ("id", "day")
    orders.load([{"id": 1, "day": "mon", "v": 1}])
    assert orders.load([{"id": 1, "day": "tue", "v": 2}, {"id": 1, "day": "mon", "v": 3}]).updated == 1
    assert orders.rows("id, day, v") == [(1, "mon", 3), (1, "tue", 2)]


def test_change_inside_nested_columns_is_a_change(orders: Orders) -> None:
    kind = pa.schema(
        {
            "id": pa.int64(),
            "s": pa.struct({"a": pa.string(), "b": pa.string()}),
            "l": pa.list_(pa.string()),
            "m": pa.map_(pa.string(), pa.int64()),
        }
    )

    def load(s: Any, l: Any, m: Any) -> BatchOutcome:  # noqa: E741
        return orders.load(pa.Table.from_pylist([{"id": 1, "s": s, "l": l, "m": m}], kind))

    load({"a": "ab", "b": "c"}, ["x"], [("k", 1), ("j", 2)])
    assert load({"a": "ab", "b": "c"}, ["x"], [("j", 2), ("k", 1)]) == BatchOutcome(unchanged=1)
    assert load({"a": "a", "b": "bc"}, ["x"], [("k", 1), ("j", 2)]).updated == 1
    assert load({"a": "a", "b": "bc"}, ["x", None], [("k", 1), ("j", 2)]).updated == 1
    assert load({"a": "a", "b": "bc"}, ["x", None], [("k", 1), ("j", 3)]).updated == 1


def test_new_columns_and_fields_are_added(orders: Orders) -> None:
    orders.load([{"id": 1, "s": {"a": 1}}])
    outcome = orders.load([{"id": 2, "s": {"a": 2, "b": "x"}, "v": "new"}])
    assert [change.split()[1:3] for change in outcome.drift] == [["'s'", "widened"], ["'v'", "added"]]
    assert orders.rows("id, s.a, s.b, v") == [(1, 1, None, None), (2, 2, "x", "new")]


def test_wider_type_keeps_every_value(orders: Orders) -> None:
    orders.partition = "day"
    orders.load(pa.table({"id": pa.array([1], pa.int32()), "day": ["mon"], "v": pa.array([5], pa.int32())}))
    orders.load(pa.table({"id": pa.array([2], pa.int64()), "day": ["tue"], "v": ["text"]}))
    assert orders.rows("id, day, v") == [(1, "mon", "5"), (2, "tue", "text")]


def test_types_that_no_type_holds_are_refused(orders: Orders) -> None:
    orders.load([{"id": 1, "v": "a"}])
    with pytest.raises(DriftRefusedError, match="'v' is string in the table and array<bigint>"):
        orders.load([{"id": 1, "v": [1]}])
    assert orders.rows() == [(1, "a")]


def test_key_that_rows_lack_is_named(orders: Orders) -> None:
    orders.keys = ("code",)
    with pytest.raises(StrategyError, match="primary_key names column 'code'"):
        orders.load([{"id": 1}])


def test_rows_without_a_key_are_appended_once(orders: Orders) -> None:
    orders.keys = ()
    assert orders.load([{"id": 1}, {"id": 1}]) == BatchOutcome(inserted=2)
    assert not orders.load([{"id": 1}, {"id": 1}], number=1).applied
    assert orders.load([{"id": 1}]) == BatchOutcome(inserted=1)
    assert orders.rows() == [(1,), (1,), (1,)]
