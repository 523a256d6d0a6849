"""Rows in Arrow's format → a DataFrame."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import PythonCodeError, QueryError
from tidegate.python_models.returned_value import FROM_PANDAS, LINE
from tidegate.python_models.stored_rows import Rows, stored_type
from tidegate.python_models.untrusted_arrow import checked_table

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["frame_of_file", "frame_of_rows"]


def frame_of_file(session: SparkSession, file: Path, code: str, most: int) -> DataFrame:
    """Of what a job in the sandbox wrote, which is removed. `code`: its file, and maybe line. Raises PythonCodeError
    and QueryError."""
    import pyarrow as pa

    try:
        table = checked_table(pa.memory_map(str(file)).read_buffer())
        other = [field.type for field in table.schema if stored_type(pa, field.type, field.name, code) != field.type]
        if other:
            raise ValueError(f"a column is of type {str(other[0])[:100]}")
    except (ValueError, OSError) as error:
        raise PythonCodeError(f"what it returned cannot be read: {error}", where=code) from error
    finally:
        file.unlink(missing_ok=True)
    line = (table.schema.metadata or {}).get(LINE, b"")
    where = f"{code}:{int(line)}" if line.isdigit() and len(line) < 9 else code
    return frame_of_rows(session, table.to_reader(), where, most)


def frame_of_rows(session: SparkSession, rows: Rows, where: str, most: int) -> DataFrame:
    """`rows`: of types that tables have. `most`: bytes. Raises QueryError about `where`."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    stored = _table(pa, rows, where, most)
    from_pandas = FROM_PANDAS.items() <= (stored.schema.metadata or {}).items()
    # Of pandas, times without a zone are moments in the session's zone; otherwise they stay without one.
    schema = from_arrow_schema(stored.schema, prefer_timestamp_ntz=not from_pandas)
    if not stored.num_rows:
        return session.createDataFrame([], schema)
    return session.createDataFrame(stored.replace_schema_metadata(None), schema)


def _table(pa: Any, rows: Rows, where: str, most: int) -> pyarrow.Table:
    batches, size = [], 0
    try:
        for batch in rows:
            size += max(batch.nbytes, batch.num_rows)  # columns of NULLs have no bytes
            if size > most:
                raise QueryError(
                    f"the result has more than {most / (1 << 20):.0f} MiB of rows that Python holds",
                    where=where,
                    remedy="Return a Spark DataFrame: Spark's functions, mapInPandas and applyInPandas work on any"
                    " number of rows. Or raise local_rows in [sandbox] of tidegate.toml.",
                )
            batches.append(batch)
    except pa.ArrowException as error:
        raise QueryError(f"the rows of the result cannot be read: {error}", where=where) from error
    return pa.Table.from_batches(batches, rows.schema)
