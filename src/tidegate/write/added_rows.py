"""The rows that the latest commits of a table wrote, read from just the files that they added."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidegate.lake.iceberg_types import spark_type
from tidegate.lake.metadata import Field, Snapshot, TableMetadata
from tidegate.names import TableName
from tidegate.write.spark_sql import literal, quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.lake.manifests import AddedFiles, DataFile

__all__ = ["added_rows", "masked_positions", "newer_snapshots"]

_SEQUENCE = "_last_updated_sequence_number"
_ID = "_row_id"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN_TYPE = re.compile(r"boolean|int|long|float|double|date|timestamp|timestamptz|string|binary|decimal\(\d+, ?\d+\)")
_PATTERN = re.compile(r"[{}\[\]*?\\]")
_MOST_FILES = 1000


def newer_snapshots(metadata: TableMetadata, sequence_number: int) -> tuple[Snapshot, ...]:
    """The commits of the current history after the one with that sequence number, newest first."""
    return tuple(s for s in metadata.ancestors() if s.sequence_number > sequence_number)


def added_rows(
    session: SparkSession, table: TableName, metadata: TableMetadata, sequence_number: int, *, with_ids: bool = False
) -> DataFrame | None:
    """Rows that were written after the commit with that sequence number and still exist, with the table's columns.

    Iceberg itself would read every row of the table to find them. None where Spark might read the files differently
    from Iceberg. `with_ids`: with `_row_id`, NULL for a row that is new in its file.
    """
    current = metadata.current
    newer = newer_snapshots(metadata, sequence_number)
    if current is None or not newer or not all(_as_spark_reads(metadata, snapshot) for snapshot in newer):
        return None
    # PyIceberg is slow to import, and most runs do not need it.
    from tidegate.lake.manifests import new_files

    added = new_files(current, sequence_number)
    columns = [quote(field.name) for field in metadata.fields] + [_ID] * with_ids
    if not added.files:
        return session.sql(f"SELECT {', '.join(columns)} FROM {table.quoted} WHERE false")
    if not _readable(added):
        return None
    rows = _read(session, metadata.fields, added)
    if added.masked:
        rows = _unmasked(session, table, rows, added.masked)
    # A file that was rewritten as a whole also has unchanged rows; those carry the number of their own commit.
    newest = rows.where(f"{_SEQUENCE} IS NULL OR {_SEQUENCE} > {sequence_number}")
    return newest.select(*columns)


def _as_spark_reads(metadata: TableMetadata, snapshot: Snapshot) -> bool:
    """Written by Spark with the columns that the table has now, all of names and types that Parquet has as they are.

    Compaction writes old rows into new files.
    """
    return (
        snapshot.operation != "replace"
        and snapshot.summary.get("engine-name") == "spark"
        and "schema.name-mapping.default" not in metadata.properties
        and _identities(metadata.fields_of(snapshot)) == _identities(metadata.fields)
        and all(_PLAIN_NAME.fullmatch(field.name) and _is_plain(field) for field in metadata.fields)
    )


def _identities(fields: tuple[Field, ...]) -> list[tuple[str, str]]:
    return [(field.name, field.identity) for field in fields]


def _is_plain(field: Field) -> bool:
    return isinstance(field.type, str) and _PLAIN_TYPE.fullmatch(field.type) is not None


def _readable(added: AddedFiles) -> bool:
    names = [_name(file.location) for file in added.files]
    return (
        added.deletes_are_located
        and len(names) <= _MOST_FILES
        and len(set(names)) == len(names)
        and all(_is_readable(file) for file in added.files)
    )


def _is_readable(file: DataFile) -> bool:
    """Spark reads some characters of a path as a pattern, and treats some files as hidden."""
    return (
        file.format.upper() == "PARQUET"
        and not file.encrypted
        and not _PATTERN.search(file.location)
        and not _name(file.location).startswith(("_", "."))
    )


def _name(location: str) -> str:
    return location.rpartition("/")[2]


def _read(session: SparkSession, fields: tuple[Field, ...], added: AddedFiles) -> DataFrame:
    columns = [f"{quote(field.name)} {spark_type(field.type).sql}" for field in fields]
    reader = session.read.schema(", ".join([*columns, f"{_SEQUENCE} bigint", f"{_ID} bigint"]))
    # Folders such as `day=1` are in the location only; the columns are all in the files.
    reader = reader.option("recursiveFileLookup", "true").option("datetimeRebaseMode", "CORRECTED")
    return reader.parquet(*(file.location for file in added.files))


def _unmasked(session: SparkSession, table: TableName, rows: DataFrame, masked: frozenset[str]) -> DataFrame:
    """Without the rows that a later commit deleted."""
    from pyspark.sql import functions as f

    names = ", ".join(literal(location) for location in sorted(masked))
    gone = masked_positions(
        session,
        f"SELECT substring_index(file_path, '/', -1) AS `__file`, pos AS `__pos`"
        f" FROM {table.quoted}.position_deletes WHERE file_path IN ({names})",
    )
    placed = rows.select("*", f.col("_metadata.file_name").alias("__file"), f.col("_metadata.row_index").alias("__pos"))
    return placed.join(f.broadcast(gone), ["__file", "__pos"], "left_anti")


def masked_positions(session: SparkSession, query: str) -> DataFrame:
    """Read once. Iceberg says of a table's `position_deletes` that they are another table each time they are asked
    for, so Spark would compute whatever it has kept of a query over them again."""
    return session.sql(query).localCheckpoint(eager=False)
