"""Text → a date or a timestamp.

Without a `format`, ISO 8601 is read: `2024-01-31`, for a timestamp also `2024-01-31T10:00:00.123456+02:00`, a blank for
the T, a zone by name (`Europe/Paris`). `2024` is no date, and a year is 0001 to 9999, also
in UTC where the text has another zone. A date takes a time only if that is midnight. Digits after the microsecond,
which Spark has no place for, must be zeros.

`format` is a pattern of Java's DateTimeFormatter, as ODCS has it; YYYY and DD, which mean other things there, are read
as year and day where they come together.

Zones: text without one is in `defaultTimezone` (UTC). With `timezone: true` and no `defaultTimezone` a text must have
one, with `timezone: false` it must have none. A `timestamp_ntz` is the local time in `defaultTimezone`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.contracts.ingestion import SilverColumn
from tidegate.contracts.time_formats import QUOTED, java_pattern, require_zone
from tidegate.datatypes import DataType
from tidegate.errors import QueryError
from tidegate.names import literal
from tidegate.transform.silver.text_reading import TextReading

__all__ = ["TimeRules", "read_date", "read_timestamp", "time_rules"]

_ZONE_LETTERS = frozenset("VzOXxZ")
_DATE = r"(?!0000)\d{4}-\d{1,2}-\d{1,2}"
_ISO_DATE = literal(rf"^\s*{_DATE}(?:[T ]00:00(?::00(?:[.]0+)?)?Z?)?\s*$")
_ISO_TIMESTAMP = literal(
    rf"^\s*{_DATE}(?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.]\d{{1,6}}0{{0,3}})?)?"
    r" ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?|[A-Za-z]+(?:/[A-Za-z_+\-0-9]+)+)?)?\s*$"
)
_USUAL_DATE = literal(r"^\d{4}-\d\d-\d\d\z")
_USUAL_TIMESTAMP = literal(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\z")
"""The texts of most rows, recognized by a pattern that costs a fraction of the other."""
_LOST_DIGITS = literal(r"[.,]\d{6}\d*[1-9]")
_LONG_FRACTION = re.compile("S{7,}")
_HAS_ZONE = literal(r":\d.*[A-Za-z+-]")


@dataclass(frozen=True, slots=True)
class TimeRules:
    format: str | None = None
    """A pattern that Spark takes; None: ISO 8601."""

    zone_required: bool = False
    zone_refused: bool = False
    zone: str = "UTC"
    """Of text without one."""

    session_zone: str = "UTC"

    @property
    def about(self) -> str:
        zone = " with a time zone" if self.zone_required else " without a time zone" if self.zone_refused else ""
        return zone + (f" of the form {self.format}" if self.format else "")

    @property
    def format_has_zone(self) -> bool:
        return self.format is not None and not _ZONE_LETTERS.isdisjoint(QUOTED.sub("", self.format))


def time_rules(column: SilverColumn, kind: DataType, session_zone: str) -> TimeRules:
    """Raises QueryError where the options cannot be followed."""
    if not kind.contains("date", "timestamp", "timestamp_ntz"):
        return TimeRules(session_zone=session_zone)
    options, default = column.options, column.options.get("defaultTimezone")
    pattern = options.get("format")
    try:
        if default is not None:
            require_zone(str(default))
        java = java_pattern(str(pattern)) if pattern else None
    except ValueError as error:
        raise QueryError(f"column '{column.name}' cannot be read: {error}") from None
    return TimeRules(
        format=java,
        zone_required=options.get("timezone") is True and default is None,
        zone_refused=options.get("timezone") is False,
        zone=_canonical(str(default or "UTC")),
        session_zone=_canonical(session_zone),
    )


def read_date(text: str, rules: TimeRules) -> TextReading:
    if rules.format is not None:
        return TextReading(f"CAST({_formatted(text, rules)} AS DATE)")
    is_date = f"({_is_usual(text, _USUAL_DATE)} OR {text} RLIKE {_ISO_DATE})"
    return TextReading(f"try_cast({text} AS DATE)", lambda _: is_date)


def read_timestamp(text: str, kind: str, rules: TimeRules) -> TextReading:
    if rules.format is not None:
        value, has_zone = _formatted(text, rules), "true" if rules.format_has_zone else "false"
        is_long = _LONG_FRACTION.search(QUOTED.sub("", rules.format)) is not None
        is_read = f"NOT {text} RLIKE {_LOST_DIGITS}" if is_long else "true"
        unzoned = f"CAST({value} AS TIMESTAMP_NTZ)"
    else:
        value, unzoned = f"try_cast({text} AS TIMESTAMP)", f"try_cast({text} AS TIMESTAMP_NTZ)"
        is_read, has_zone = f"{text} RLIKE {_ISO_TIMESTAMP}", f"{text} RLIKE {_HAS_ZONE}"
    same = rules.zone == rules.session_zone
    if kind == "timestamp":
        zone = literal(" " + rules.zone)
        local = value if same else f"try_cast(concat(CAST({unzoned} AS STRING), {zone}) AS TIMESTAMP)"
    else:
        local, value = unzoned, f"CAST({value} AS TIMESTAMP_NTZ)"
        if not same:
            value = f"convert_timezone({literal(rules.session_zone)}, {literal(rules.zone)}, {value})"
    if rules.zone_required:
        is_read = f"{is_read} AND {has_zone}"
    if rules.zone_refused:
        is_read = f"{is_read} AND NOT {has_zone}"
    has_shape = rules.format is None and not rules.zone_required
    usual = _is_usual(text, _USUAL_TIMESTAMP)
    if has_shape and value == local:
        return TextReading(value, lambda read: f"({usual} OR {is_read} AND {_has_year(read)})")
    either = value if value == local else f"CASE WHEN {has_zone} THEN {value} ELSE {local} END"
    read = f"CASE WHEN {is_read} THEN {_within_years(either)} END"
    if not has_shape:
        return TextReading(read)
    local = local if kind == "timestamp_ntz" else _within_years(local)
    return TextReading(f"CASE WHEN {usual} THEN {local} ELSE {read} END")


def _within_years(value: str) -> str:
    return f"CASE WHEN {_has_year(value)} THEN {value} END"


def _has_year(value: str) -> str:
    """Another zone than the session's can move a value out of the years that a date has."""
    return f"year({value}) >= 1 AND year({value}) <= 9999"


def _is_usual(text: str, pattern: str) -> str:
    return f"({text} >= '0001' AND {text} RLIKE {pattern})"


def _formatted(text: str, rules: TimeRules) -> str:
    value = f"try_to_timestamp(trim({text}), {literal(rules.format or '')})"
    return _within_years(value)


def _canonical(zone: str) -> str:
    return "UTC" if zone in ("Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00") else zone
