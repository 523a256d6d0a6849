"""Table `runs`: one row per run."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Connection, Index, Integer, String, Table, insert, select, update

from tidegate.state.columns import RedactedJson, RedactedText, UtcTime, metadata
from tidegate.state.records import RunRecord

__all__ = [
    "ask_to_cancel",
    "change_run",
    "find_run",
    "insert_run",
    "newest_runs",
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


def ask_to_cancel(connection: Connection, run_id: str, at: datetime) -> bool:
    """False where there is no such run that has not ended."""
    unfinished = update(runs).where(runs.c.run_id == run_id, runs.c.status.in_(_UNFINISHED))
    return connection.execute(unfinished.values(cancel_requested_at=at)).rowcount > 0


def take_over_run(connection: Connection, seen: RunRecord, taken: RunRecord) -> bool:
    """False, and nothing changed, where the run is not as it was `seen`."""
    if find_run(connection, seen.run_id) != seen:
        return False
    return change_run(connection, seen.run_id, asdict(taken))


def find_run(connection: Connection, run_id: str) -> RunRecord | None:
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
