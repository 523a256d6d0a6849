"""A batch is merged into its table by the key alone, once, and only what it changes is written: Delta and Iceberg."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.chunks.delta_table import DeltaTable
from tidegate.chunks.iceberg_table import IcebergTable
from tidegate.chunks.table_batch import BatchOutcome, TableBatch, TableKey, Transaction
from tidegate.errors import DriftRefusedError, StrategyError
from tidegate.lake import MAIN, BranchView, EmbeddedCatalog
from tidegate.names import TableName
from tidegate.spark.session import child_session
from tidegate.storage import open_storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
PROVE = bool(os.environ.get("TIDEGATE_PROVE"))

Rows = Sequence[Mapping[str, Any]]


@dataclass
class Orders:
    """The table under test. Each batch has the next number, and one chunk for each list of rows."""

    folder: Path
    spark: SparkSession
    """With Delta where the table is one."""

    is_delta: bool = True
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

    @cached_property
    def catalog(self) -> EmbeddedCatalog:
        return EmbeddedCatalog(self.folder / "catalog.db", self.folder / "warehouse")

    @cached_property
    def table(self) -> DeltaTable | IcebergTable:
        if self.is_delta:
            return DeltaTable(self.spark, open_storage(self.folder), "silver/orders/records.delta")
        return IcebergTable(self.catalog, self.spark, ORDERS)

    def rows(self, columns: str = "*") -> list[tuple[Any, ...]]:
        table = self.table
        if isinstance(table, DeltaTable):
            rows = self.spark.sql(f"SELECT {columns} FROM {table.relation}")
        else:
            main = child_session(self.spark, self.catalog.spark_conf(MAIN), self.catalog.spark_catalog(MAIN))
            rows = main.sql(f"SELECT {columns} FROM {ORDERS.quoted}")
        return sorted((tuple(row) for row in rows.collect()), key=repr)

    def data_commits(self) -> int:
        """How many commits wrote or removed files of data."""
        if not self.is_delta:
            metadata = BranchView(self.catalog, MAIN).table(ORDERS)
            return len(metadata.snapshots) if metadata is not None else 0
        logs = (self.folder / "silver/orders/records.delta/_delta_log").glob("*.json")
        commits = ({action for line in log.read_text().splitlines() for action in json.loads(line)} for log in logs)
        return sum(1 for commit in commits if commit & {"add", "remove"})


_numbers = count(1)
ORDERS = TableName("shop", "silver", "orders")
ICEBERG = pytest.param("iceberg", marks=pytest.mark.skipif(not PROVE, reason="a few of them: only with TIDEGATE_PROVE"))


def orders_in(table_format: str, request: pytest.FixtureRequest, folder: Path) -> Orders:
    is_delta = table_format == "delta"
    return Orders(folder, request.getfixturevalue("delta" if is_delta else "spark"), is_delta)


@pytest.fixture(params=["delta", ICEBERG])
def orders(request: pytest.FixtureRequest, tmp_path: Path) -> Orders:
    return orders_in(request.param, request, tmp_path)


@pytest.fixture(params=["delta", "iceberg"])
def orders_of_both(request: pytest.FixtureRequest, tmp_path: Path) -> Orders:
    return orders_in(request.param, request, tmp_path)


def test_rows_are_inserted_and_updated_by_key(orders_of_both: Orders) -> None:
    first = orders_of_both.load([{"id": 1, "v": "a"}, {"id": 2, "v": "b"}])
    second = orders_of_both.load([{"id": 2, "v": "B"}, {"id": 3, "v": "c"}, {"id": 1, "v": "a"}])
    assert first == BatchOutcome(inserted=2)
    assert second == BatchOutcome(inserted=1, updated=1, unchanged=1)
    assert orders_of_both.rows() == [(1, "a"), (2, "B"), (3, "c")]


def test_last_row_of_a_key_counts_also_in_the_first_batch(orders: Orders) -> None:
    """Chunk 10 comes after chunk 9, though not as text."""
    chunks = [{"id": 1, "v": "a"}, {"id": 1, "v": "b"}, {"id": 2, "v": "x"}], [{"id": 2, "v": "y"}]
    assert orders.load(*chunks) == BatchOutcome(inserted=2, repeated=2)
    assert orders.rows() == [(1, "b"), (2, "y")]


def test_same_rows_again_write_no_file(orders_of_both: Orders) -> None:
    rows = [{"id": 1, "v": "a", "m": {"x": [1.0, None]}}, {"id": None, "v": None, "m": None}]
    orders_of_both.load(rows)
    assert orders_of_both.load(rows) == BatchOutcome(unchanged=2)
    assert orders_of_both.data_commits() == 1


def test_repeated_transaction_is_not_applied(orders_of_both: Orders) -> None:
    orders_of_both.load([{"id": 1, "v": "a"}])
    orders_of_both.load([{"id": 1, "v": "b"}])
    assert not orders_of_both.load([{"id": 1, "v": "a"}], number=1).applied
    assert orders_of_both.rows() == [(1, "b")]
    application = "archived_bronze/orders/run/metadata.json"
    assert orders_of_both.table.has(Transaction(application, 1, "1"))
    assert not orders_of_both.table.has(Transaction(application, 1, "other content"))


def test_row_with_a_null_key_is_one_row(orders: Orders) -> None:
    orders.load([{"id": None, "v": "a"}, {"id": 7, "v": "x"}])
    assert orders.load([{"id": None, "v": "b"}]) == BatchOutcome(updated=1)
    assert orders.rows() == [(7, "x"), (None, "b")]


def test_key_whose_partition_changes_moves(orders: Orders) -> None:
    orders.partition = "day"
    orders.load([{"id": 1, "day": "mon"}, {"id": 2, "day": "mon"}])
    assert orders.load([{"id": 1, "day": "tue"}]) == BatchOutcome(updated=1)
    assert orders.rows("id, day") == [(1, "tue"), (2, "mon")]


@pytest.mark.parametrize("keys", [("id",), ("id", "day")])
def test_empty_text_as_partition_is_null(tmp_path: Path, delta: SparkSession, keys: tuple[str, ...]) -> None:
    orders = Orders(tmp_path, delta, keys=keys, partition="day")
    rows = [{"id": 1, "day": ""}, {"id": 2, "day": None}, {"id": 3, "day": "x"}]
    assert orders.load(rows) == BatchOutcome(inserted=3)
    assert orders.load(rows) == BatchOutcome(unchanged=3)
    assert orders.rows("id, day") == [(1, None), (2, None), (3, "x")]


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


def test_key_may_be_a_date_that_python_has_not(orders: Orders) -> None:
    days = pa.array([3_000_000, 0, -800_000], pa.int32()).cast(pa.date32())
    orders.keys = ("d",)
    assert orders.load(pa.table({"d": days, "v": ["a", "b", "c"]})).inserted == 3
    assert orders.load(pa.table({"d": days, "v": ["a", "b", "d"]})) == BatchOutcome(updated=1, unchanged=2)


def test_wider_type_keeps_every_value(orders: Orders) -> None:
    orders.partition = "day"
    orders.load(pa.table({"id": pa.array([1], pa.int32()), "day": ["mon"], "v": pa.array([5], pa.int32())}))
    orders.load(pa.table({"id": pa.array([2], pa.int64()), "day": ["tue"], "v": pa.array([2**40])}))
    assert orders.rows("id, day, v") == [(1, "mon", 5), (2, "tue", 2**40)]
    text = pa.table({"id": [3], "day": ["tue"], "v": ["text"]})
    if orders.is_delta:
        orders.load(text)
        assert orders.rows("id, day, v") == [(1, "mon", "5"), (2, "tue", str(2**40)), (3, "tue", "text")]
    else:
        with pytest.raises(DriftRefusedError, match="'v' is bigint in the table and string"):
            orders.load(text)


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
