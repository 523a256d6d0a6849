"""Tables `model_runs` (one row per model of a run) and `run_progress_entries` (what a run has built so far)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    Index,
    RowMapping,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)

from tidegate.state.run_records import ModelRunRecord, ProgressEntry
from tidegate.state.sql_types import RedactedJson, RedactedText, UtcTime, metadata, replace_row

__all__ = [
    "entries_of_run",
    "has_model_run",
    "latest_of_each_model",
    "model_runs",
    "models_of_run",
    "put_entries",
    "put_model_run",
    "run_progress_entries",
    "runs_of_model",
]

model_runs = Table(
    "model_runs",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("model", String(255), primary_key=True),
    Column("status", String(16), nullable=False),
    Column("strategy", String(32), nullable=False),
    Column("run_type", String(16)),
    Column("reason", RedactedText, nullable=False),
    Column("finished_at", UtcTime, nullable=False),
    Column("rows_written", BigInteger, nullable=False),
    Column("rows_deleted", BigInteger, nullable=False),
    Column("rows_quarantined", BigInteger, nullable=False),
    Column("duration_ms", BigInteger, nullable=False),
    Column("phases", JSON, nullable=False),
    Column("attempts", RedactedJson, nullable=False),
    Column("failure_kind", String(32)),
    Column("error", RedactedText),
    Column("where", RedactedText),
    Column("remedy", RedactedText),
    Column("watermark", Text),
    Column("snapshot_id", BigInteger),
    Column("stages", JSON, nullable=False),
    Index("model_runs_by_model", "model", "finished_at"),
)


def put_model_run(connection: Connection, record: ModelRunRecord) -> None:
    replace_row(connection, model_runs, asdict(record))


def has_model_run(connection: Connection, run_id: str, model: str) -> bool:
    same = select(model_runs.c.status).where(model_runs.c.run_id == run_id, model_runs.c.model == model)
    return connection.execute(same).first() is not None


def models_of_run(connection: Connection, run_id: str) -> tuple[ModelRunRecord, ...]:
    query = select(model_runs).where(model_runs.c.run_id == run_id)
    query = query.order_by(model_runs.c.finished_at, model_runs.c.model)
    return tuple(map(_record, connection.execute(query).mappings()))


def runs_of_model(
    connection: Connection, model: str, limit: int, status: str | None = None, run_type: str | None = None
) -> tuple[ModelRunRecord, ...]:
    query = select(model_runs).where(model_runs.c.model == model)
    if status is not None:
        query = query.where(model_runs.c.status == status)
    if run_type is not None:
        query = query.where(model_runs.c.run_type == run_type)
    query = query.order_by(model_runs.c.finished_at.desc(), model_runs.c.run_id.desc()).limit(limit)
    return tuple(map(_record, connection.execute(query).mappings()))


def latest_of_each_model(connection: Connection) -> tuple[ModelRunRecord, ...]:
    rank = func.row_number().over(
        partition_by=model_runs.c.model, order_by=(model_runs.c.finished_at.desc(), model_runs.c.run_id.desc())
    )
    ranked = select(model_runs, rank.label("rank")).subquery()
    query = (
        select(*(ranked.c[column.name] for column in model_runs.c)).where(ranked.c.rank == 1).order_by(ranked.c.model)
    )
    return tuple(map(_record, connection.execute(query).mappings()))


def _record(row: RowMapping) -> ModelRunRecord:
    values: dict[str, Any] = {**row, "attempts": tuple(row["attempts"])}
    return ModelRunRecord(**values)


run_progress_entries = Table(
    "run_progress_entries",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("model", String(255), primary_key=True),
    Column("file", String(1024), primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("pointers", JSON, nullable=False),
    Column("read", JSON, nullable=False),
)


def put_entries(connection: Connection, entry: ProgressEntry, files: Sequence[str]) -> None:
    """The model's own entry and one per file, replacing all earlier ones."""
    table = run_progress_entries
    same = (table.c.run_id == entry.run_id) & (table.c.model == entry.model)
    connection.execute(delete(table).where(same))
    row = {"run_id": entry.run_id, "model": entry.model, "at": entry.at}
    own = {**row, "file": "", "pointers": dict(entry.pointers), "read": dict(entry.read)}
    of_files = ({**row, "file": file, "pointers": {}, "read": {}} for file in files)
    connection.execute(insert(table), [own, *of_files])


def entries_of_run(connection: Connection, run_id: str) -> tuple[ProgressEntry, ...]:
    table = run_progress_entries
    query = select(table).where(table.c.run_id == run_id).order_by(table.c.model, table.c.file)
    return tuple(ProgressEntry(**row) for row in connection.execute(query).mappings())
