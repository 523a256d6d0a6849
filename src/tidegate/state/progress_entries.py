"""Table `run_progress_entries`: what a run has built and checked so far, and the landing files that went into it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import JSON, Column, Connection, String, Table, delete, insert, select

from tidegate.state.columns import UtcTime, metadata
from tidegate.state.records import ProgressEntry

__all__ = ["entries_of_run", "put_entries", "run_progress_entries"]

run_progress_entries = Table(
    "run_progress_entries",
    metadata,
    Column("run_id", String(64), primary_key=True),
    Column("model", String(255), primary_key=True),
    Column("file", String(1024), primary_key=True),
    Column("at", UtcTime, nullable=False),
    Column("pointers", JSON, nullable=False),
    Column("read", JSON, nullable=False),
)


def put_entries(connection: Connection, entry: ProgressEntry, files: Sequence[str]) -> None:
    """The model's own entry and one per file, in the place of all that it had."""
    table = run_progress_entries
    same = (table.c.run_id == entry.run_id) & (table.c.model == entry.model)
    connection.execute(delete(table).where(same))
    row = {"run_id": entry.run_id, "model": entry.model, "at": entry.at}
    own = {**row, "file": "", "pointers": dict(entry.pointers), "read": dict(entry.read)}
    taken = ({**row, "file": file, "pointers": {}, "read": {}} for file in files)
    connection.execute(insert(table), [own, *taken])


def entries_of_run(connection: Connection, run_id: str) -> tuple[ProgressEntry, ...]:
    table = run_progress_entries
    query = select(table).where(table.c.run_id == run_id).order_by(table.c.model, table.c.file)
    return tuple(ProgressEntry(**row) for row in connection.execute(query).mappings())
