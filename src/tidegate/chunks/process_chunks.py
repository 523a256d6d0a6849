"""Many raw chunks → valid rows, rejected rows and metadata of each, with one job of Spark.

Spark writes under temporary names. Then for each chunk, in this order, so that a crash loses nothing and a rerun
doubles nothing:

1. the file of its valid rows is put in place; it is there also when no row is valid
2. the file of its rejected rows is put in place, if there are any
3. the metadata of the chunk is written: now it may be loaded
4. the raw chunk is deleted
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from tidegate.chunks.chunk_rows import CHUNK, RawChunk, rows_of
from tidegate.chunks.folders import remove_folder
from tidegate.chunks.layout import ChunkPath, chunk_path
from tidegate.chunks.processing_metadata import ChunkProcessingMetadata, ProcessingMetrics
from tidegate.chunks.rules.source_rules import ChunkRules
from tidegate.errors import QualityError
from tidegate.faults import fault
from tidegate.names import literal, quote
from tidegate.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["jobs_of", "process_chunks"]

_MOST_CHUNKS, _MOST_BYTES = 250, 512 << 20
"""Of one job: each task of Spark holds what it writes of each of its chunks in memory."""

_VALID, _REJECTED, _OF = "valid", "rejected", "__tidegate_chunk"
_SETTINGS = {
    "spark.sql.maxConcurrentOutputFileWriters": str(_MOST_CHUNKS),  # else Spark would sort the rows by their chunk
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "parquet.block.size": str(16 << 20),
}


@dataclass(frozen=True, slots=True)
class _Results:
    """Temporary files of one chunk."""

    valid: Sequence[str]
    rejected: Sequence[str]


def jobs_of(chunks: Sequence[RawChunk]) -> Iterator[list[RawChunk]]:
    """As few as the memory of Spark allows."""
    job: list[RawChunk] = []
    for chunk in chunks:
        if job and (len(job) == _MOST_CHUNKS or sum(each.bytes for each in job) + chunk.bytes > _MOST_BYTES):
            yield job
            job = []
        job.append(chunk)
    if job:
        yield job


def process_chunks(
    session: SparkSession, storage: Storage, source: str, rules: ChunkRules, chunks: Sequence[RawChunk]
) -> list[ChunkProcessingMetadata]:
    """Those of one job, each readable and none processed. Raises QueryError for rules that cannot be followed."""
    began = datetime.now(UTC)
    places = [place for chunk in chunks if (place := chunk_path(chunk.path)) is not None]
    # Of the last file: its last chunk is put in place last, so until then the folder is known to be in use.
    work = f"{places[-1].folder.processing}/results"
    fault("before_process")
    remove_folder(storage, work)
    schema = _write(session, storage, rules, chunks, work, began)
    fault("after_process_job")
    results = list(_results(storage, work, len(chunks)))
    done = [
        _put_in_place(storage, source, chunk, place, result, schema, began)
        for chunk, place, result in zip(chunks, places, results, strict=True)
    ]
    remove_folder(storage, work)
    return done


def _write(
    session: SparkSession,
    storage: Storage,
    rules: ChunkRules,
    chunks: Sequence[RawChunk],
    work: str,
    began: datetime,
) -> pa.Schema:
    """The schema of the valid rows."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from tidegate.spark.session import temporary_conf
    from tidegate.transform.silver.validated_rows import validated

    names = [quote(column.name) for column in rules.columns]
    with ExitStack() as stack:
        stack.enter_context(temporary_conf(session, _SETTINGS))
        rows = stack.enter_context(
            validated(
                session,
                rows_of(session, storage, chunks),
                rules.rules,
                rules.id,
                rules.version,
                run_id=work,
                run_started_at=began,
                target=None,
                written_once=True,
            )
        )
        valid = rows.valid.selectExpr(*names, f"{CHUNK} AS {_OF}")
        _write_by_chunk(valid, storage.spark_path(f"{work}/{_VALID}"))
        if rows.counts.refused:
            _write_by_chunk(
                _errors(rows.refused, [column.name for column in rules.columns]),
                storage.spark_path(f"{work}/{_REJECTED}"),
            )
        return to_arrow_schema(valid.drop(_OF).schema)


def _write_by_chunk(rows: DataFrame, path: str) -> None:
    rows.write.partitionBy(_OF).mode("overwrite").parquet(path)


def _errors(refused: DataFrame, names: Sequence[str]) -> DataFrame:
    """As `error_rows` describes them."""
    first = "element_at(_failures, 1)"
    record = ", ".join(f"{literal(name)}, {quote(name)}" for name in names)
    return refused.selectExpr(
        "_source_file AS source_file",
        "_source_row AS source_row",
        "_stage AS stage",
        f"{first}.column AS column",
        f"{first}.rule AS rule",
        f"{first}.value AS value",
        f"{first}.message AS reason",
        "_failures AS failures",
        f"to_json(named_struct({record})) AS record",
        f"{CHUNK} AS {_OF}",
    )


def _results(storage: Storage, work: str, count: int) -> Iterator[_Results]:
    files: dict[tuple[str, int], list[str]] = {}
    for file in storage.list(work):
        parts = file.path.removeprefix(f"{work}/").split("/")
        if len(parts) == 3 and parts[1].startswith(f"{_OF}=") and parts[2].startswith("part-"):
            files.setdefault((parts[0], int(parts[1].partition("=")[2])), []).append(file.path)
    for number in range(count):
        yield _Results(files.get((_VALID, number), ()), files.get((_REJECTED, number), ()))


def _put_in_place(
    storage: Storage,
    source: str,
    chunk: RawChunk,
    place: ChunkPath,
    result: _Results,
    schema: pa.Schema,
    began: datetime,
) -> ChunkProcessingMetadata:
    folder, number = place.folder, place.number
    processed, errors = folder.processed(number), folder.errors(number)
    metrics = _counted(storage, chunk, result)
    _place(storage, result.valid, processed)
    if not result.valid:
        _write_empty(storage, processed, schema)
    fault("after_processed")
    _place(storage, result.rejected, errors)
    if not result.rejected:
        storage.delete(errors)
    fault("after_errors")
    metadata = ChunkProcessingMetadata(
        parent_metadata_s3_path=folder.metadata,
        data_source=source,
        input_chunk_s3_path=chunk.path,
        errors_s3_path=errors if result.rejected else None,
        metrics=metrics,
        run_id=folder.run,
        start_timestamp=began,
        end_timestamp=datetime.now(UTC),
    )
    metadata.save(storage, metadata.metadata_s3_path)
    fault("after_chunk_metadata")
    storage.delete(chunk.path)
    fault("after_chunk_delete")
    return metadata


def _counted(storage: Storage, chunk: RawChunk, result: _Results) -> ProcessingMetrics:
    """Raises QualityError where a row is missing, or there twice."""
    metrics = ProcessingMetrics(success=_rows(storage, result.valid), failed=_rows(storage, result.rejected))
    if metrics.success + metrics.failed != chunk.rows:
        raise QualityError(
            f"chunk {chunk.path} has {chunk.rows:,} rows, and {metrics.success:,} valid and {metrics.failed:,} "
            "rejected ones were written",
            where=chunk.path,
            remedy="Run again: the chunk changed while it was read.",
        )
    return metrics


def _rows(storage: Storage, paths: Sequence[str]) -> int:
    total = 0
    for path in paths:
        with storage.open(path) as file:
            total += parquet.ParquetFile(file).metadata.num_rows
    return total


def _place(storage: Storage, parts: Sequence[str], target: str) -> None:
    if len(parts) == 1:
        storage.move(parts[0], target)
    elif parts:  # a chunk that several tasks have read
        tables = []
        for part in sorted(parts):
            with storage.open(part) as file:
                tables.append(parquet.read_table(file))
        with storage.writer(target) as file:
            parquet.write_table(pa.concat_tables(tables), file)


def _write_empty(storage: Storage, path: str, schema: pa.Schema) -> None:
    with storage.writer(path) as file:
        parquet.write_table(schema.empty_table(), file)
