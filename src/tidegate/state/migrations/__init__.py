"""The steps from an empty database to today's, in order. A step that was released never changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, func, insert, select

from tidegate.errors import StateError
from tidegate.state.migrations import (
    m0001_runs,
    m0002_check_values,
    m0003_profiles,
    m0004_resume,
    m0005_whereabouts,
    m0006_stages,
)
from tidegate.state.sql_types import UtcTime

__all__ = ["MIGRATIONS", "current_version", "latest_version", "migrate"]

MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    m0001_runs.upgrade,
    m0002_check_values.upgrade,
    m0003_profiles.upgrade,
    m0004_resume.upgrade,
    m0005_whereabouts.upgrade,
    m0006_stages.upgrade,
)

# Apart from the room's tables: it describes them, and no migration makes it.
_schema_version = Table(
    "schema_version",
    MetaData(),
    Column("version", Integer, primary_key=True, autoincrement=False),
    Column("name", String(64), nullable=False),
    Column("applied_at", UtcTime, nullable=False),
)


def latest_version() -> int:
    return len(MIGRATIONS)


def current_version(connection: Connection) -> int:
    """0 for a database without tables."""
    if not connection.dialect.has_table(connection, _schema_version.name):
        return 0
    version: int | None = connection.execute(select(func.max(_schema_version.c.version))).scalar()
    return version or 0


def migrate(connection: Connection, where: str) -> None:
    """Apply missing migrations. The caller's transaction has the write lock: a second process waits."""
    version = current_version(connection)
    if version > latest_version():
        raise StateError(
            f"The state database has schema version {version}; this Tidegate knows up to {latest_version()}",
            where=where,
            remedy="Upgrade Tidegate on this machine, or name another database under [state] url in tidegate.toml.",
        )
    if version == latest_version():
        return
    _schema_version.create(connection, checkfirst=True)
    for number, upgrade in enumerate(MIGRATIONS[version:], version + 1):
        upgrade(connection)
        name = upgrade.__module__.rpartition(".")[2]
        connection.execute(insert(_schema_version).values(version=number, name=name, applied_at=datetime.now(UTC)))
