"""Names and values as Spark SQL text."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime

from tidegate.names import literal, quote

__all__ = ["any_of", "literal", "null_safe_join", "quote", "timestamp", "unquote"]


def unquote(name: str) -> str:
    name = name.strip()
    return name[1:-1].replace("``", "`") if len(name) > 2 and name[0] == name[-1] == "`" else name


def timestamp(moment: datetime, kind: str = "timestamp") -> str:
    """A literal of the type `timestamp`, `timestamp_ntz` or `date` (rounded up: no date before `moment` is meant).

    A moment without a time zone is in UTC.
    """
    utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if kind == "date":
        day = utc.date() if utc.timetz() == _MIDNIGHT else date.fromordinal(utc.toordinal() + 1)
        return f"DATE '{day.isoformat()}'"
    text = utc.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return f"TIMESTAMP_NTZ '{text}'" if kind == "timestamp_ntz" else f"TIMESTAMP '{text}+00:00'"


_MIDNIGHT = datetime(2000, 1, 1, tzinfo=UTC).timetz()


def any_of(conditions: Iterable[str]) -> str:
    return " OR ".join(conditions) or "false"


def null_safe_join(left: str, right: str, names: Iterable[str]) -> str:
    return " AND ".join(f"{left}.{quote(name)} <=> {right}.{quote(name)}" for name in names)
