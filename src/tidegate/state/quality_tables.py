"""Tables `quality_results` (each check of each run), `anomalies` and `profiles` (of what a run wrote)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    RowMapping,
    String,
    Table,
    func,
    select,
    update,
)

from tidegate.state.run_records import AnomalyRecord, ProfileRecord, QualityRecord
from tidegate.state.sql_types import RedactedJson, RedactedText, UtcTime, metadata, replace_row

__all__ = [
    "anomalies",
    "anomalies_of_model",
    "anomalies_of_run",
    "checks_of_model",
    "checks_of_run",
    "mark_published",
    "profile_of_run",
    "profiles",
    "profiles_of_model",
    "put_anomaly",
    "put_check",
    "put_profile",
    "quality_results",
]

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
    replace_row(connection, quality_results, asdict(record))


def checks_of_run(connection: Connection, run_id: str, model: str | None) -> tuple[QualityRecord, ...]:
    table = quality_results.c
    query = select(quality_results).where(table.run_id == run_id).order_by(table.at, table.model, table.name)
    if model is not None:
        query = query.where(table.model == model)
    return tuple(map(_check, connection.execute(query).mappings()))


def checks_of_model(connection: Connection, model: str, runs: int) -> tuple[QualityRecord, ...]:
    table = quality_results.c
    newest = func.max(table.at)
    latest = select(table.run_id).where(table.model == model).group_by(table.run_id)
    latest = latest.order_by(newest.desc(), table.run_id.desc()).limit(runs)
    query = select(quality_results).where(table.model == model, table.run_id.in_(latest))
    query = query.order_by(table.at.desc(), table.stage, table.name)
    return tuple(map(_check, connection.execute(query).mappings()))


def _check(row: RowMapping) -> QualityRecord:
    values: dict[str, Any] = {**row, "samples": tuple(row["samples"])}
    return QualityRecord(**values)


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
    replace_row(connection, anomalies, {**asdict(record), "column": record.column or ""})


def anomalies_of_run(connection: Connection, run_id: str) -> tuple[AnomalyRecord, ...]:
    table = anomalies.c
    query = select(anomalies).where(table.run_id == run_id).order_by(table.model, table.kind, table.column)
    return tuple(map(_anomaly, connection.execute(query).mappings()))


def anomalies_of_model(connection: Connection, model: str, limit: int) -> tuple[AnomalyRecord, ...]:
    table = anomalies.c
    query = select(anomalies).where(table.model == model)
    query = query.order_by(table.at.desc(), table.run_id.desc(), table.kind, table.column).limit(limit)
    return tuple(map(_anomaly, connection.execute(query).mappings()))


def _anomaly(row: RowMapping) -> AnomalyRecord:
    values: dict[str, Any] = {**row, "column": row["column"] or None}
    return AnomalyRecord(**values)


profiles = Table(
    "profiles",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("model", String(255), primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("scope", String(16), nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("table_rows", BigInteger, nullable=False),
    Column("snapshot_id", BigInteger),
    Column("published", Boolean, nullable=False),
    Column("columns", RedactedJson, nullable=False),
    Index("profiles_by_model", "model", "at"),
)


def put_profile(connection: Connection, record: ProfileRecord) -> None:
    replace_row(connection, profiles, asdict(record))


def mark_published(connection: Connection, run_id: str, models: Sequence[str]) -> None:
    concerned = update(profiles).where(profiles.c.run_id == run_id, profiles.c.model.in_(models))
    connection.execute(concerned.values(published=True))


def profile_of_run(connection: Connection, run_id: str, model: str) -> ProfileRecord | None:
    query = select(profiles).where(profiles.c.run_id == run_id, profiles.c.model == model)
    row = connection.execute(query).mappings().first()
    return None if row is None else _record(row)


def profiles_of_model(
    connection: Connection, model: str, limit: int, scope: str | None, but_run: str | None
) -> tuple[ProfileRecord, ...]:
    query = select(profiles).where(profiles.c.model == model, profiles.c.published)
    if scope is not None:
        query = query.where(profiles.c.scope == scope)
    if but_run is not None:
        query = query.where(profiles.c.run_id != but_run)
    query = query.order_by(profiles.c.at.desc(), profiles.c.run_id.desc()).limit(limit)
    return tuple(map(_record, connection.execute(query).mappings()))


def _record(row: RowMapping) -> ProfileRecord:
    values: dict[str, Any] = {**row, "columns": tuple(row["columns"])}
    return ProfileRecord(**values)
