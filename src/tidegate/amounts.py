"""Counts, sizes, times and moments in the words of a message."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["age", "duration", "plural", "size", "timestamp"]


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
