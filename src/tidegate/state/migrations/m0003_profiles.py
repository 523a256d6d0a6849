"""Profiles of what runs wrote, and what was unusual about them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Double,
    Index,
    MetaData,
    String,
    Table,
    Text,
)

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    schema = MetaData()
    moment = DateTime(timezone=True)
    Table(
        "profiles",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("model", String(255), primary_key=True),
        Column("at", moment, nullable=False),
        Column("scope", String(16), nullable=False),
        Column("rows", BigInteger, nullable=False),
        Column("table_rows", BigInteger, nullable=False),
        Column("snapshot_id", BigInteger),
        Column("published", Boolean, nullable=False),
        Column("columns", JSON, nullable=False),
        Index("profiles_by_model", "model", "at"),
    )
    Table(
        "anomalies",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("model", String(255), primary_key=True),
        Column("kind", String(32), primary_key=True),
        Column("column", String(255), primary_key=True),
        Column("at", moment, nullable=False),
        Column("value", Double, nullable=False),
        Column("expected", Double, nullable=False),
        Column("deviation", Double, nullable=False),
        Column("message", Text, nullable=False),
        Index("anomalies_by_model", "model", "at"),
    )
    schema.create_all(connection)
