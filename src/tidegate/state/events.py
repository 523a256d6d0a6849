"""Table `events`: everything that a run said, in order."""

from __future__ import annotations

from sqlalchemy import Column, Connection, Integer, String, Table, func, insert, select

from tidegate.state.columns import RedactedJson, UtcTime, metadata
from tidegate.state.records import EventRecord

__all__ = ["append_event", "events", "events_of_run"]

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
