"""What all tables share: column types that work on SQLite and PostgreSQL, metadata, and how a row is replaced."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Connection, DateTime, Dialect, MetaData, Table, Text, delete, insert, types

from tidegate.redaction import redacted

__all__ = ["RedactedJson", "RedactedText", "UtcTime", "metadata", "replace_row"]

metadata = MetaData()


def replace_row(connection: Connection, table: Table, row: Mapping[str, Any]) -> None:
    """Insert `row` in place of the one with the same primary key."""
    connection.execute(delete(table).where(*(column == row[column.name] for column in table.primary_key)))
    connection.execute(insert(table), [dict(row)])


class UtcTime(types.TypeDecorator[datetime]):
    """A point in time, stored in UTC and returned as such, because SQLite stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


class RedactedText(types.TypeDecorator[str]):
    """A message or a reason. It is recorded without the secrets that this process has read."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        text: str | None = redacted(value)
        return text


class RedactedJson(types.TypeDecorator[Any]):
    """A document. Each text in it is recorded without the secrets that this process has read."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        return redacted(value)
