"""What other processes need to resume or cancel a run, what it has built so far, and its callers' keys."""

from __future__ import annotations

from sqlalchemy import JSON, Column, Connection, DateTime, Index, MetaData, String, Table, text

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    moment = DateTime(timezone=True)
    for column in (
        "options JSON NOT NULL DEFAULT '{}'",
        "resumes INTEGER NOT NULL DEFAULT 0",
        f"cancel_requested_at {moment.compile(connection.dialect)}",
    ):
        connection.execute(text(f"ALTER TABLE runs ADD COLUMN {column}"))
    schema = MetaData()
    Table(
        "run_progress_entries",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("model", String(255), primary_key=True),
        Column("file", String(1024), primary_key=True),
        Column("at", moment, nullable=False),
        Column("pointers", JSON, nullable=False),
    )
    Table(
        "idempotency_keys",
        schema,
        Column("project", String(255), primary_key=True),
        Column("key", String(255), primary_key=True),
        Column("run_id", String(64), nullable=False),
        Column("digest", String(64), nullable=False),
        Column("at", moment, nullable=False),
        Index("idempotency_keys_by_run", "run_id"),
    )
    schema.create_all(connection)
