"""The rows of a batch: read from its chunks, the last of each key, and which part of the table they may touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.transform.landing.zone_source import path_literal
from tidegate.write.spark_sql import any_of, literal
from tidegate.write.write_columns import TableColumn, TableColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["POSITION", "Reach", "last_of_each_key", "merge_sql", "only_changed_sql", "reach_of", "read_chunks"]

_CHUNK, _ROW, _RANK = (f"__tidegate_{name}" for name in ("chunk", "row", "rank"))
POSITION = (_CHUNK, _ROW)
"""Columns that say where a row stood: the number of its chunk, and that of the row in it."""

_RANGED = ("tinyint", "smallint", "int", "bigint", "string", "date")
"""Types of keys whose smallest and largest value let the table leave out files."""

_MOST_PARTITIONS = 200


@dataclass(frozen=True, slots=True)
class Reach:
    """What is known of the keys of a batch: no row of the table that does not meet `condition` has one of them."""

    rows: int
    condition: str = "true"


def read_chunks(session: SparkSession, paths: Sequence[str]) -> DataFrame:
    """The rows with the columns of POSITION."""
    frame = session.read.option("mergeSchema", "true").parquet(*map(path_literal, paths))
    number = r"CAST(regexp_extract(_metadata.file_name, 'chunk_([0-9]+)', 1) AS bigint)"
    return frame.selectExpr("*", f"{number} AS {_CHUNK}", f"_metadata.row_index AS {_ROW}")


def last_of_each_key(rows: DataFrame, keys: TableColumns) -> DataFrame:
    window = f"OVER (PARTITION BY {keys.sql()} ORDER BY {_CHUNK} DESC, {_ROW} DESC)"
    return rows.selectExpr("*", f"row_number() {window} AS {_RANK}").where(f"{_RANK} = 1").drop(_RANK)


def reach_of(rows: DataFrame, keys: TableColumns, table: TableColumns, partition: str | None, target: str) -> Reach:
    """One pass over the rows. `target`: the alias of the table in the condition.

    A partition is a sound limit only where its column is a part of the key: the row that the table has of a key may be
    in any other.
    """
    ranged = [key for key in keys if key.type.kind in _RANGED and _kind_in(table, key) == key.type.kind]
    facts = ["count(*) AS kept"]
    for at, key in enumerate(ranged):
        some = f"count_if({key.quoted} IS NULL) = 0"
        value = _collected(key)
        facts += [f"IF({some}, {side}({value}), NULL) AS {side}{at}" for side in ("min", "max")]
        if partition is not None and key.name.lower() == partition.lower():
            distinct = f"slice(collect_set({value}), 1, {_MOST_PARTITIONS + 1})"
            facts.append(f"IF({some}, {distinct}, NULL) AS values{at}")
    known = rows.selectExpr(*facts).collect()[0].asDict()
    conditions = []
    for at, key in enumerate(ranged):
        if known[f"min{at}"] is not None:
            low, high = (_literal(known[f"{side}{at}"], key) for side in ("min", "max"))
            conditions.append(f"{target}.{key.quoted} BETWEEN {low} AND {high}")
        values = known.get(f"values{at}") or []
        if 0 < len(values) <= _MOST_PARTITIONS:
            conditions.append(f"{target}.{key.quoted} IN ({', '.join(_literal(value, key) for value in values)})")
    return Reach(known["kept"], " AND ".join(conditions) or "true")


def only_changed_sql(relation: str, source: str, table: TableColumns, keys: TableColumns, on: str) -> str:
    """The rows of the source that the table does not have, value by value. A MERGE writes every file again that has a
    key of its source, changed or not."""
    differs = any_of(column.differs("__t", "__s") for column in table.without(keys.names))
    return f"SELECT __s.* FROM {source} __s LEFT ANTI JOIN {relation} __t ON {on} AND NOT ({differs})"


def merge_sql(relation: str, source: str, table: TableColumns, keys: TableColumns, on: str) -> str:
    update = ", ".join(f"__t.{column.quoted} = __s.{column.quoted}" for column in table.without(keys.names))
    matched = f" WHEN MATCHED THEN UPDATE SET {update}" if update else ""
    return (
        f"MERGE INTO {relation} __t USING {source} __s ON {on}{matched}"
        f" WHEN NOT MATCHED THEN INSERT ({table.sql()}) VALUES ({table.sql('__s')})"
    )


def _kind_in(table: TableColumns, key: TableColumn) -> str | None:
    column = table.get(key.name)
    return column.type.kind if column is not None else None


def _collected(key: TableColumn) -> str:
    """Python has no dates beyond the year 9999."""
    return f"unix_date({key.quoted})" if key.type.kind == "date" else key.quoted


def _literal(value: Any, key: TableColumn) -> str:
    """Of what `_collected` gives of a key of a type in _RANGED."""
    if key.type.kind == "date":
        return f"date_from_unix_date({value})"
    return literal(value) if isinstance(value, str) else str(value)
