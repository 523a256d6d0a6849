"""Tables `runs` (one row per run), `events` (what a run reported) and `idempotency_keys` (the run of each key)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    String,
    Table,
    func,
    insert,
    select,
    update,
)

from tidegate.state.run_records import EventRecord, KeyRecord, RunRecord
from tidegate.state.sql_types import RedactedJson, RedactedText, UtcTime, metadata, replace_row

__all__ = [
    "append_event",
    "change_run",
    "events",
    "events_of_run",
    "find_key",
    "idempotency_keys",
    "insert_run",
    "newest_runs",
    "put_key",
    "request_cancel",
    "run_by_id",
    "runs",
    "take_over_run",
    "unfinished_runs",
]

_UNFINISHED = ("pending", "running")

runs = Table(
    "runs",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("project", String(255), nullable=False),
    Column("command", String(64), nullable=False),
    Column("branch", String(255), nullable=False),
    Column("publish_mode", String(16), nullable=False),
    Column("started_at", UtcTime, nullable=False),
    Column("status", String(16), nullable=False),
    Column("finished_at", UtcTime),
    Column("duration_ms", BigInteger),
    Column("rows_written", BigInteger, nullable=False),
    Column("phase_profiles", JSON, nullable=False),
    Column("result", RedactedJson),
    Column("error", RedactedText),
    Column("heartbeat_at", UtcTime),
    Column("pid", Integer),
    Column("host", String(255)),
    Column("options", JSON, nullable=False),
    Column("resumes", Integer, nullable=False),
    Column("cancel_requested_at", UtcTime),
    Column("process", String(128)),
    Index("runs_by_start", "started_at", "run_id"),
)


def insert_run(connection: Connection, run: RunRecord) -> None:
    connection.execute(insert(runs), [asdict(run)])


def change_run(connection: Connection, run_id: str, values: dict[str, Any]) -> bool:
    """False where there is no such run."""
    return connection.execute(update(runs).where(runs.c.run_id == run_id).values(**values)).rowcount > 0


def request_cancel(connection: Connection, run_id: str, at: datetime) -> bool:
    """False where there is no such run that has not ended."""
    unfinished = update(runs).where(runs.c.run_id == run_id, runs.c.status.in_(_UNFINISHED))
    return connection.execute(unfinished.values(cancel_requested_at=at)).rowcount > 0


def take_over_run(connection: Connection, expected: RunRecord, record: RunRecord) -> bool:
    """False, and nothing changed, where the stored run differs from `expected`."""
    if run_by_id(connection, expected.run_id) != expected:
        return False
    return change_run(connection, expected.run_id, asdict(record))


def run_by_id(connection: Connection, run_id: str) -> RunRecord | None:
    row = connection.execute(select(runs).where(runs.c.run_id == run_id)).mappings().first()
    return None if row is None else RunRecord(**row)


def unfinished_runs(connection: Connection, project: str) -> tuple[RunRecord, ...]:
    query = select(runs).where(runs.c.project == project, runs.c.status.in_(_UNFINISHED))
    return tuple(RunRecord(**row) for row in connection.execute(query.order_by(runs.c.run_id)).mappings())


def newest_runs(
    connection: Connection, limit: int, before: datetime | None, project: str | None
) -> tuple[RunRecord, ...]:
    query = select(runs).order_by(runs.c.started_at.desc(), runs.c.run_id.desc()).limit(limit)
    if before is not None:
        query = query.where(runs.c.started_at < before)
    if project is not None:
        query = query.where(runs.c.project == project)
    return tuple(RunRecord(**row) for row in connection.execute(query).mappings())


events = Table(
    "events",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", UtcTime, nullable=False),
    Column("name", String(64), nullable=False),
    Column("model", String(255)),
    Column("data", RedactedJson, nullable=False),
)


def append_event(connection: Connection, event: EventRecord) -> None:
    last = select(func.coalesce(func.max(events.c.seq), 0)).where(events.c.run_id == event.run_id)
    seq = connection.execute(last).scalar_one() + 1
    row = {
        "run_id": event.run_id,
        "seq": seq,
        "at": event.at,
        "name": event.name,
        "model": event.model,
        "data": event.data,
    }
    connection.execute(insert(events), [row])


def events_of_run(connection: Connection, run_id: str, after: int) -> tuple[EventRecord, ...]:
    query = select(events).where(events.c.run_id == run_id, events.c.seq > after).order_by(events.c.seq)
    return tuple(EventRecord(**row) for row in connection.execute(query).mappings())


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


def put_key(connection: Connection, record: KeyRecord, expected: KeyRecord | None) -> bool:
    """Replaces `expected`; False, and nothing changed, where another record is stored."""
    if find_key(connection, record.project, record.key) != expected:
        return False
    replace_row(connection, idempotency_keys, asdict(record))
    return True
