"""Table `idempotency_keys`: which run answered a caller's key."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import Column, Connection, Index, String, Table, delete, insert, select

from tidegate.state.columns import UtcTime, metadata
from tidegate.state.records import KeyRecord

__all__ = ["find_key", "idempotency_keys", "put_key"]

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("project", String(255), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("run_id", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("at", UtcTime, nullable=False),
    Index("idempotency_keys_by_run", "run_id"),
)


def find_key(connection: Connection, project: str, key: str) -> KeyRecord | None:
    table = idempotency_keys.c
    query = select(idempotency_keys).where(table.project == project, table.key == key)
    row = connection.execute(query).mappings().first()
    return None if row is None else KeyRecord(**row)


def put_key(connection: Connection, record: KeyRecord, seen: KeyRecord | None) -> bool:
    """In the place of `seen`; False, and nothing done, where something else is there."""
    if find_key(connection, record.project, record.key) != seen:
        return False
    table = idempotency_keys.c
    connection.execute(delete(idempotency_keys).where(table.project == record.project, table.key == record.key))
    connection.execute(insert(idempotency_keys), [asdict(record)])
    return True
