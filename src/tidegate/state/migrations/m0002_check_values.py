"""The value of a check may be any number or text, with its unit; SQLite changes a column by recreating the table."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Connection, DateTime, Index, MetaData, String, Table, Text, text

__all__ = ["upgrade"]

_KEPT = "run_id, model, stage, name, severity, status"
_REST = "expected, duration_ms, at, samples, description, remediation, error"


def upgrade(connection: Connection) -> None:
    schema = MetaData()
    table = Table(
        "quality_results_2",
        schema,
        Column("run_id", String(64), primary_key=True),
        Column("model", String(255), primary_key=True),
        Column("stage", String(32), primary_key=True),
        Column("name", String(512), primary_key=True),
        Column("severity", String(16), nullable=False),
        Column("status", String(16), nullable=False),
        Column("value", JSON),
        Column("expected", Text, nullable=False),
        Column("duration_ms", BigInteger, nullable=False),
        Column("at", DateTime(timezone=True), nullable=False),
        Column("samples", JSON, nullable=False),
        Column("description", Text, nullable=False),
        Column("remediation", Text, nullable=False),
        Column("error", Text),
        Column("kind", String(16), nullable=False),
        Column("unit", String(16), nullable=False),
    )
    table.create(connection)
    # Until now every check was a SQL test, and its value the number of rows that it found.
    value = "CAST(value AS TEXT)"
    if connection.dialect.name == "postgresql":
        value = f"CAST({value} AS JSON)"
    values = f"{_KEPT}, {value}, {_REST}, 'test', 'row'"
    columns = f"{_KEPT}, value, {_REST}, kind, unit"
    connection.execute(text(f"INSERT INTO quality_results_2 ({columns}) SELECT {values} FROM quality_results"))
    connection.execute(text("DROP TABLE quality_results"))
    connection.execute(text("ALTER TABLE quality_results_2 RENAME TO quality_results"))
    renamed = Table("quality_results", MetaData(), Column("model", String(255)), Column("at", DateTime(timezone=True)))
    Index("quality_results_by_model", renamed.c.model, renamed.c.at).create(connection)
