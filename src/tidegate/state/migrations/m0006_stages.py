"""What became of the rows that a contract's silver table read."""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE model_runs ADD COLUMN stages JSON NOT NULL DEFAULT '{}'"))
