"""Column types that behave the same on SQLite and PostgreSQL, and the metadata that all tables belong to."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, MetaData, Text, types

from tidegate.redaction import redacted

__all__ = ["RedactedJson", "RedactedText", "UtcTime", "metadata"]

metadata = MetaData()


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
