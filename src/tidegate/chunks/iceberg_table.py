"""One Iceberg table of the lake, written batch by batch, each on a branch of its own that is published whole.

What the table has been given is a property of the table, which moves to main together with the rows.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from tidegate.chunks.batch_rows import (
    POSITION,
    last_of_each_key,
    merge_sql,
    only_changed_sql,
    reach_of,
    read_chunks,
)
from tidegate.chunks.table_batch import BatchOutcome, TableBatch, Transaction
from tidegate.chunks.table_schema import adapt_table, create_sql, key_columns, partition_column
from tidegate.faults import fault
from tidegate.lake import MAIN, BranchCatalog, BranchView
from tidegate.names import TableName
from tidegate.spark.session import child_session
from tidegate.write.drift import aligned_values
from tidegate.write.spark_sql import null_safe_join
from tidegate.write.write_columns import TableColumns, columns_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["IcebergTable"]

_LOADS = "tidegate.loads"
"""A JSON object: the latest loads of the table, each with what its latest batches consist of, by their numbers."""

_MOST_LOADS, _MOST_BATCHES = 100, 200
_SOURCE = "__tidegate_batch"


class IcebergTable:
    def __init__(self, catalog: BranchCatalog, root: SparkSession, table: TableName) -> None:
        self._catalog = catalog
        self._root = root
        self._table = table

    def has(self, transaction: Transaction) -> bool:
        return self._loads().get(transaction.application, {}).get(str(transaction.version)) == transaction.content

    def write(self, batch: TableBatch) -> BatchOutcome:
        transaction = batch.transaction
        loads = self._loads()
        batches = loads.pop(transaction.application, {})
        if any(int(number) >= transaction.version for number in batches):
            return BatchOutcome(applied=False)
        branch = f"load-{uuid.uuid4().hex[:16]}"
        self._catalog.create_branch(branch)
        try:
            session = child_session(self._root, self._catalog.spark_conf(branch), self._catalog.spark_catalog(branch))
            outcome = self._write(session, BranchView(self._catalog, branch), batch)
            latest = dict([*batches.items(), (str(transaction.version), transaction.content)][-_MOST_BATCHES:])
            recorded = json.dumps(dict([*loads.items(), (transaction.application, latest)][-_MOST_LOADS:]))
            self._catalog.set_properties(branch, self._table, {_LOADS: recorded})
            self._catalog.publish(branch, [self._table])
            return outcome
        finally:
            self._catalog.drop_branch(branch)

    def _loads(self) -> dict[str, dict[str, str]]:
        table = BranchView(self._catalog, MAIN).table(self._table)
        loads: dict[str, dict[str, str]] = json.loads(table.properties.get(_LOADS, "{}")) if table is not None else {}
        return loads

    def _write(self, session: SparkSession, lake: BranchView, batch: TableBatch) -> BatchOutcome:
        relation, where = self._table.quoted, str(self._table)
        rows = read_chunks(session, batch.paths)
        columns = columns_of(rows).without(POSITION)
        keys = key_columns(columns, batch.key, where)
        partition = partition_column(columns, batch.key, where)
        if lake.table(self._table) is None:
            lake.create_namespace(self._table)
            session.sql(create_sql(relation, columns, "iceberg", partition))
        table, drift = adapt_table(session, relation, columns)
        fault("after_load_table")
        if not len(keys):
            rows.selectExpr(*aligned_values(table, columns)).writeTo(relation).append()
            return BatchOutcome(inserted=batch.rows, drift=drift)
        last = last_of_each_key(rows, keys).persist()
        try:
            reach = reach_of(last, keys, table, partition, "__t")
            last.selectExpr(*aligned_values(table, columns)).createOrReplaceTempView(_SOURCE)
            on = f"{null_safe_join('__t', '__s', keys.names)} AND {reach.condition}"
            changed = session.sql(only_changed_sql(relation, _SOURCE, table, keys, on)).persist()
            try:
                total, updated = self._merge(session, changed, table, keys, on)
            finally:
                changed.unpersist()
        finally:
            last.unpersist()
        return BatchOutcome(
            inserted=total - updated,
            updated=updated,
            unchanged=reach.rows - total,
            repeated=batch.rows - reach.rows,
            drift=drift,
        )

    def _merge(
        self, session: SparkSession, changed: DataFrame, table: TableColumns, keys: TableColumns, on: str
    ) -> tuple[int, int]:
        """How many rows were written, and how many of them the table had with other values."""
        changed.createOrReplaceTempView(_SOURCE)
        total = changed.count()
        if not total:
            return 0, 0
        had = f"SELECT count(*) AS had FROM {_SOURCE} __s LEFT SEMI JOIN {self._table.quoted} __t ON {on}"
        updated: int = session.sql(had).collect()[0]["had"]
        session.sql(merge_sql(self._table.quoted, _SOURCE, table, keys, on))
        return total, updated
