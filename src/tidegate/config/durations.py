"""Lengths of time as people write them: `30s`, `5m`, `24h`, `7d`, `2w`, or several in a row: `1h30m`."""

from __future__ import annotations

import re
from datetime import timedelta

__all__ = ["format_duration", "parse_duration"]

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
    rest = length // timedelta(milliseconds=1)
    parts = []
    for unit in ("w", "d", "h", "m", "s", "ms"):
        count, rest = divmod(rest, timedelta(**{_UNITS[unit]: 1}) // timedelta(milliseconds=1))
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
