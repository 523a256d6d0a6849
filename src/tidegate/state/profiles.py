"""Table `profiles`: what the rows looked like that each run brought to each table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Index,
    RowMapping,
    String,
    Table,
    delete,
    insert,
    select,
    update,
)

from tidegate.state.columns import RedactedJson, UtcTime, metadata
from tidegate.state.records import ProfileRecord

__all__ = ["mark_published", "profile_of_run", "profiles", "profiles_of_model", "put_profile"]

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
    same = (profiles.c.run_id == record.run_id) & (profiles.c.model == record.model)
    connection.execute(delete(profiles).where(same))
    connection.execute(insert(profiles), [asdict(record)])


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
