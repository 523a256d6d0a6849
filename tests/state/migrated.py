"""An empty SQLite database is migrated once in a process; the next ones get a copy of what that gave."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from tidegate.state import migrations

Migrate = Callable[[Connection, str], None]


def migrate_once(migrate: Migrate) -> Migrate:
    latest = migrations.latest_version()
    statements: list[str] = []
    versions: list[tuple[object, ...]] = []

    def migrate_or_copy(connection: Connection, where: str) -> None:
        is_new = connection.dialect.name == "sqlite" and not _rows(connection, "SELECT name FROM sqlite_master")
        if not is_new or migrations.latest_version() != latest:  # a test that begins with an older schema
            migrate(connection, where)
        elif not versions:
            migrate(connection, where)
            statements.extend(
                str(sql) for (sql,) in _rows(connection, "SELECT sql FROM sqlite_master WHERE sql NOT NULL")
            )
            versions.extend(_rows(connection, "SELECT version, name, applied_at FROM schema_version"))
        else:
            for statement in statements:
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql("INSERT INTO schema_version VALUES (?, ?, ?)", versions)

    return migrate_or_copy


def _rows(connection: Connection, query: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.exec_driver_sql(query)]
