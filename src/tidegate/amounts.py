"""Counts, sizes and lengths of time, as messages show them and settings write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["age", "duration", "format_duration", "parse_duration", "parse_size", "plural", "size", "timestamp"]


def duration(milliseconds: int) -> str:
    """95ms, 2.1s, 3m 05s, 2h 07m."""
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    if milliseconds < 59_950:
        return f"{milliseconds / 1000:.1f}s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    if minutes < 60:
        return f"{minutes}m {seconds:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if amount < 1024 or unit == "TiB":
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError("unreachable")


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def timestamp(moment: datetime | None) -> str:
    return "-" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def age(moment: datetime, now: datetime) -> str:
    return duration(max(0, round((now - moment).total_seconds())) * 1000)


_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"(\d+)\s*(ms|[smhdw])", re.ASCII)
_WHOLE = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII)


def parse_duration(text: str) -> timedelta:
    """Raises ValueError with a message for people."""
    if not _WHOLE.fullmatch(text.strip().lower()):
        raise ValueError(f"'{text}' is not a length of time: write a number and a unit, such as 30s, 5m, 24h or 7d")
    length = timedelta()
    try:
        for number, unit in _PART.findall(text.lower()):
            length += timedelta(**{_UNITS[unit]: int(number)})
    except OverflowError:
        raise ValueError(f"'{text}' is too long a time") from None
    return length


def format_duration(length: timedelta) -> str:
    """The shortest text that `parse_duration` reads as the same length (to the millisecond)."""
    remaining = length // timedelta(milliseconds=1)
    parts = []
    for unit in ("w", "d", "h", "m", "s", "ms"):
        count, remaining = divmod(remaining, timedelta(**{_UNITS[unit]: 1}) // timedelta(milliseconds=1))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def parse_size(text: str) -> int:
    """The bytes of a size such as 6g or 800m, whose form is right."""
    number = text.lower().removesuffix("b")
    return int(number[:-1]) << 10 * ("kmgt".index(number[-1]) + 1)
