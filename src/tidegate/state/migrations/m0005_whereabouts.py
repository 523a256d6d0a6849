"""Which process of its host does a run, and what a model was built from beside the tables that it remembers."""

from __future__ import annotations

from sqlalchemy import Connection, text

__all__ = ["upgrade"]


def upgrade(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE runs ADD COLUMN process VARCHAR(128)"))
    connection.execute(text("ALTER TABLE run_progress_entries ADD COLUMN read JSON NOT NULL DEFAULT '{}'"))
