"""Table `quality_results`: how each check of each run came out."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    RowMapping,
    String,
    Table,
    delete,
    func,
    insert,
    select,
)

from tidegate.state.columns import RedactedJson, RedactedText, UtcTime, metadata
from tidegate.state.records import QualityRecord

__all__ = ["checks_of_model", "checks_of_run", "put_check", "quality_results"]

quality_results = Table(
    "quality_results",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("model", String(255), primary_key=True),
    Column("stage", String(32), primary_key=True),
    Column("name", String(512), primary_key=True),
    Column("severity", String(16), nullable=False),
    Column("status", String(16), nullable=False),
    Column("value", RedactedJson),
    Column("expected", RedactedText, nullable=False),
    Column("duration_ms", BigInteger, nullable=False),
    Column("at", UtcTime, nullable=False),
    Column("samples", RedactedJson, nullable=False),
    Column("description", RedactedText, nullable=False),
    Column("remediation", RedactedText, nullable=False),
    Column("error", RedactedText),
    Column("kind", String(16), nullable=False),
    Column("unit", String(16), nullable=False),
    Index("quality_results_by_model", "model", "at"),
)


def put_check(connection: Connection, record: QualityRecord) -> None:
    table = quality_results.c
    key = ("run_id", "model", "stage", "name")
    connection.execute(delete(quality_results).where(*(table[column] == getattr(record, column) for column in key)))
    connection.execute(insert(quality_results), [asdict(record)])


def checks_of_run(connection: Connection, run_id: str, model: str | None) -> tuple[QualityRecord, ...]:
    table = quality_results.c
    query = select(quality_results).where(table.run_id == run_id).order_by(table.at, table.model, table.name)
    if model is not None:
        query = query.where(table.model == model)
    return tuple(map(_record, connection.execute(query).mappings()))


def checks_of_model(connection: Connection, model: str, runs: int) -> tuple[QualityRecord, ...]:
    table = quality_results.c
    newest = func.max(table.at)
    latest = select(table.run_id).where(table.model == model).group_by(table.run_id)
    latest = latest.order_by(newest.desc(), table.run_id.desc()).limit(runs)
    query = select(quality_results).where(table.model == model, table.run_id.in_(latest))
    query = query.order_by(table.at.desc(), table.stage, table.name)
    return tuple(map(_record, connection.execute(query).mappings()))


def _record(row: RowMapping) -> QualityRecord:
    values: dict[str, Any] = {**row, "samples": tuple(row["samples"])}
    return QualityRecord(**values)
