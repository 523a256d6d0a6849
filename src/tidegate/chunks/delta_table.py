"""One Delta table, written batch by batch: each batch is one commit that carries its transaction.

A batch is merged by its key alone. Of several rows with one key the last in the order of the file counts, and a row
that the table has already, value by value, is left alone: no file is written again for it. A transaction that the
table has already is not applied twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tidegate.chunks.batch_rows import (
    POSITION,
    Reach,
    last_of_each_key,
    merge_sql,
    only_changed_sql,
    reach_of,
    read_chunks,
)
from tidegate.chunks.table_batch import BatchOutcome, TableBatch, Transaction
from tidegate.chunks.table_schema import adapt_table, create_sql, key_columns, partition_column
from tidegate.config import Settings
from tidegate.faults import fault
from tidegate.lake.delta_log import has_delta_log
from tidegate.spark.session import open_spark, temporary_conf
from tidegate.spark.table_formats import DELTA
from tidegate.storage import Storage
from tidegate.write.drift import aligned_values
from tidegate.write.spark_sql import null_safe_join, quote
from tidegate.write.write_columns import TableColumns, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DELTA_CONF", "DeltaTable", "delta_session"]

DELTA_CONF = {
    # Only in the session of a load, whose statements are all written here: delta.`/path` names a table.
    "spark.sql.runSQLOnFiles": "true",
    "spark.databricks.delta.snapshotPartitions": "2",
}
_TRANSACTION_APP = "spark.databricks.delta.write.txnAppId"
_TRANSACTION_VERSION = "spark.databricks.delta.write.txnVersion"
_NOTE = "spark.databricks.delta.commitInfo.userMetadata"
_SOURCE = "__tidegate_batch"


def delta_session(
    settings: Settings, spark: SparkSession | None = None, notify: Callable[[str], None] = lambda line: None
) -> SparkSession:
    """A session of its own, whose settings no other work sees."""
    session = open_spark(settings, notify, spark).newSession()
    for key, value in {**DELTA.conf, **DELTA_CONF}.items():
        session.conf.set(key, value)
    if settings.chunks.delta_change_feed:
        session.conf.set("spark.databricks.delta.properties.defaults.enableChangeDataFeed", "true")
    return session


class DeltaTable:
    """`session`: with the settings of DELTA_CONF, and used by no other thread."""

    def __init__(self, session: SparkSession, storage: Storage, path: str) -> None:
        self._session = session
        self._storage = storage
        self._path = path
        self._place = storage.spark_path(path)

    @property
    def relation(self) -> str:
        """Its name in SQL."""
        return f"delta.{quote(self._place)}"

    def exists(self) -> bool:
        return has_delta_log(self._storage, self._path)

    def write(self, batch: TableBatch) -> BatchOutcome:
        rows = read_chunks(self._session, batch.paths)
        columns = columns_of(rows).without(POSITION)
        keys = key_columns(columns, batch.key, self._path)
        partition = partition_column(columns, batch.key, self._path)
        rows = _as_stored(rows, columns, partition)
        if not self.exists():
            self._session.sql(create_sql(self.relation, columns, "delta", partition))
        table, drift = adapt_table(self._session, self.relation, columns, self._place)
        fault("after_load_table")
        if not len(keys):
            return self._append(rows.selectExpr(*aligned_values(table, columns)), batch, drift)
        last = last_of_each_key(rows, keys).persist()
        try:
            reach = reach_of(last, keys, table, partition, "__t")
            last.selectExpr(*aligned_values(table, columns)).createOrReplaceTempView(_SOURCE)
            return self._merge(table, keys, reach, batch, drift)
        finally:
            last.unpersist()
            self._session.catalog.dropTempView(_SOURCE)

    def has(self, transaction: Transaction) -> bool:
        """Whether exactly this batch is in the history, which Delta retains for 30 days."""
        if not self.exists():
            return False
        history = self._session.sql(f"DESCRIBE HISTORY {self.relation}")
        return not history.where(history["userMetadata"] == transaction.note).isEmpty()

    def _append(self, rows: DataFrame, batch: TableBatch, drift: tuple[str, ...]) -> BatchOutcome:
        before = self._commits()
        writer = rows.write.format("delta").mode("append").option("userMetadata", batch.transaction.note)
        writer.option("txnAppId", batch.transaction.application)
        writer.option("txnVersion", batch.transaction.version).save(self._place)
        if self._commits() == before:
            return BatchOutcome(applied=False)
        return BatchOutcome(inserted=batch.rows, drift=drift)

    def _commits(self) -> str:
        """The newest, by its file."""
        files = self._storage.list(f"{self._path}/_delta_log")
        return max((file.path for file in files if file.path.endswith(".json")), default="")

    def _merge(
        self,
        table: TableColumns,
        keys: TableColumns,
        reach: Reach,
        batch: TableBatch,
        drift: tuple[str, ...],
    ) -> BatchOutcome:
        on = f"{null_safe_join('__t', '__s', keys.names)} AND {reach.condition}"
        if self._has_some_key(on):
            changed = self._session.sql(only_changed_sql(self.relation, _SOURCE, table, keys, on))
            changed.createOrReplaceTempView(_SOURCE)
        with self._transaction(batch.transaction):
            done = self._session.sql(merge_sql(self.relation, _SOURCE, table, keys, on)).collect()
        if not done:
            return BatchOutcome(applied=False)
        inserted, updated = done[0]["num_inserted_rows"], done[0]["num_updated_rows"]
        return BatchOutcome(
            inserted=inserted,
            updated=updated,
            unchanged=reach.rows - inserted - updated,
            repeated=batch.rows - reach.rows,
            drift=drift,
        )

    def _has_some_key(self, on: str) -> bool:
        """Whether the table has any key of the batch; only the columns of the key are read."""
        query = f"SELECT 1 FROM {self.relation} __t JOIN {_SOURCE} __s ON {on} LIMIT 1"
        return not self._session.sql(query).isEmpty()

    @contextmanager
    def _transaction(self, transaction: Transaction) -> Iterator[None]:
        """A MERGE has no options: it takes them from the session."""
        settings = {
            _TRANSACTION_APP: transaction.application,
            _TRANSACTION_VERSION: str(transaction.version),
            _NOTE: transaction.note,
        }
        with temporary_conf(self._session, settings):
            yield


def _as_stored(rows: DataFrame, columns: TableColumns, partition: str | None) -> DataFrame:
    """Delta has no empty text as a partition, but NULL: what was delivered would never equal what the table has."""
    column = columns.get(partition) if partition is not None else None
    if column is None or column.type.kind != "string":
        return rows
    from pyspark.sql.functions import expr

    return rows.withColumn(column.name, expr(f"nullif({column.quoted}, '')"))
