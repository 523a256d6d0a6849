"""Runs, their models, checks and events."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Connection, DateTime, Index, Integer, MetaData, String, Table, Text

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    # Written out, not taken from the room's tables: those will change, and this step must go on meaning the same.
    schema = MetaData()
    moment = DateTime(timezone=True)
    Table(
        "runs",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("project", String(255), nullable=False),
        Column("command", String(64), nullable=False),
        Column("branch", String(255), nullable=False),
        Column("publish_mode", String(16), nullable=False),
        Column("started_at", moment, nullable=False),
        Column("status", String(16), nullable=False),
        Column("finished_at", moment),
        Column("duration_ms", BigInteger),
        Column("rows_written", BigInteger, nullable=False),
        Column("phase_profiles", JSON, nullable=False),
        Column("result", JSON),
        Column("error", Text),
        Column("heartbeat_at", moment),
        Column("pid", Integer),
        Column("host", String(255)),
        Index("runs_by_start", "started_at", "run_id"),
    )
    Table(
        "model_runs",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("model", String(255), primary_key=True),
        Column("status", String(16), nullable=False),
        Column("strategy", String(32), nullable=False),
        Column("run_type", String(16)),
        Column("reason", Text, nullable=False),
        Column("finished_at", moment, nullable=False),
        Column("rows_written", BigInteger, nullable=False),
        Column("rows_deleted", BigInteger, nullable=False),
        Column("rows_quarantined", BigInteger, nullable=False),
        Column("duration_ms", BigInteger, nullable=False),
        Column("phases", JSON, nullable=False),
        Column("attempts", JSON, nullable=False),
        Column("failure_kind", String(32)),
        Column("error", Text),
        Column("where", Text),
        Column("remedy", Text),
        Column("watermark", Text),
        Column("snapshot_id", BigInteger),
        Index("model_runs_by_model", "model", "finished_at"),
    )
    Table(
        "quality_results",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("model", String(255), primary_key=True),
        Column("stage", String(32), primary_key=True),
        Column("name", String(512), primary_key=True),
        Column("severity", String(16), nullable=False),
        Column("status", String(16), nullable=False),
        Column("value", BigInteger),
        Column("expected", Text, nullable=False),
        Column("duration_ms", BigInteger, nullable=False),
        Column("at", moment, nullable=False),
        Column("samples", JSON, nullable=False),
        Column("description", Text, nullable=False),
        Column("remediation", Text, nullable=False),
        Column("error", Text),
        Index("quality_results_by_model", "model", "at"),
    )
    Table(
        "events",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("seq", Integer, primary_key=True, autoincrement=False),
        Column("at", moment, nullable=False),
        Column("name", String(64), nullable=False),
        Column("model", String(255)),
        Column("data", JSON, nullable=False),
    )
    schema.create_all(connection)
