"""The `format` and the time zones of dates and timestamps in contracts."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

__all__ = ["QUOTED", "java_pattern", "require_zone"]

QUOTED = re.compile(r"'(?:[^']|'')*'")
"""Text in a pattern."""

_LETTERS = {*"GyMLdDQqEFahKkHmsSVzOXxZ"}
"""Those that Spark takes in a pattern for reading."""
_OFFSET = re.compile(r"[+-]\d{2}:\d{2}")
_ISO = ("yyyy-MM-dd'T'HH:mm:ss.SSS[XXX][XX]", "yyyy-MM-dd'T'HH:mm:ss[XXX][XX]")


def java_pattern(pattern: str) -> str | None:
    """A format of a contract as Spark takes it; None where it is ISO 8601. Raises ValueError."""
    plain = QUOTED.sub("", pattern)
    if "Y" in plain and "M" in plain and "y" not in plain:
        pattern = pattern.replace("Y", "y").replace("D", "d")
    if QUOTED.search(pattern) is None:
        pattern = pattern.replace("T", "'T'")
    pattern = re.sub(r"(?<!Z)Z$", "[XXX][XX]", pattern)
    if pattern in _ISO:
        return None
    for letter in QUOTED.sub("", pattern):
        if letter.isalpha() and letter not in _LETTERS:
            raise ValueError(
                f"the format '{pattern}' has the letter '{letter}', which Spark does not read; write a pattern such as "
                "yyyy-MM-dd HH:mm:ss, with other text in single quotes"
            )
    return pattern


def require_zone(zone: str) -> None:
    """Raises ValueError."""
    if _OFFSET.fullmatch(zone) or zone == "UTC":
        return
    try:
        ZoneInfo("Europe/Paris")
    except ZoneInfoNotFoundError:  # this machine has no list of zones
        return
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(
            f"the defaultTimezone '{zone}' is not a time zone: write one such as UTC, Europe/Paris or +02:00"
        ) from None
