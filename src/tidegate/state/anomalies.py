"""Table `anomalies`: what was unusual about what a run wrote."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Column, Connection, Double, Index, RowMapping, String, Table, delete, insert, select

from tidegate.state.columns import RedactedText, UtcTime, metadata
from tidegate.state.records import AnomalyRecord

__all__ = ["anomalies", "anomalies_of_model", "anomalies_of_run", "put_anomaly"]

anomalies = Table(
    "anomalies",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("model", String(255), primary_key=True),
    Column("kind", String(32), primary_key=True),
    Column("column", String(255), primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("value", Double, nullable=False),
    Column("expected", Double, nullable=False),
    Column("deviation", Double, nullable=False),
    Column("message", RedactedText, nullable=False),
    Index("anomalies_by_model", "model", "at"),
)


def put_anomaly(connection: Connection, record: AnomalyRecord) -> None:
    # A part of a key cannot be NULL everywhere: what is about the whole table has an empty column.
    row = {**asdict(record), "column": record.column or ""}
    key = ("run_id", "model", "kind", "column")
    connection.execute(delete(anomalies).where(*(anomalies.c[name] == row[name] for name in key)))
    connection.execute(insert(anomalies), [row])


def anomalies_of_run(connection: Connection, run_id: str) -> tuple[AnomalyRecord, ...]:
    table = anomalies.c
    query = select(anomalies).where(table.run_id == run_id).order_by(table.model, table.kind, table.column)
    return tuple(map(_record, connection.execute(query).mappings()))


def anomalies_of_model(connection: Connection, model: str, limit: int) -> tuple[AnomalyRecord, ...]:
    table = anomalies.c
    query = select(anomalies).where(table.model == model)
    query = query.order_by(table.at.desc(), table.run_id.desc(), table.kind, table.column).limit(limit)
    return tuple(map(_record, connection.execute(query).mappings()))


def _record(row: RowMapping) -> AnomalyRecord:
    values: dict[str, Any] = {**row, "column": row["column"] or None}
    return AnomalyRecord(**values)
