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

__all__ = ["TimeRules", "date_from_text", "time_rules", "timestamp_from_text"]

_ZONE_LETTERS = frozenset("VzOXxZ")
_DATE = r"(?!0000)\d{4}-\d{1,2}-\d{1,2}"
_ISO_DATE = literal(rf"^\s*{_DATE}(?:[T ]00:00(?::00(?:[.]0+)?)?Z?)?\s*$")
_ISO_TIMESTAMP = literal(
    rf"^\s*{_DATE}(?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.]\d{{1,6}}0{{0,3}})?)?"
    r" ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?|[A-Za-z]+(?:/[A-Za-z_+\-0-9]+)+)?)?\s*$"
)
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


def date_from_text(text: str, rules: TimeRules) -> str:
    if rules.format is not None:
        return f"CAST({_formatted(text, rules)} AS DATE)"
    return (
        f"CASE WHEN {_has_shape(text, 'yyyy-MM-dd', 5, 8)} THEN try_cast({text} AS DATE) "
        f"WHEN {text} RLIKE {_ISO_DATE} THEN try_cast(substring(trim({text}), 1, 10) AS DATE) END"
    )


def timestamp_from_text(text: str, kind: str, rules: TimeRules) -> str:
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
    either = value if value == local else f"CASE WHEN {has_zone} THEN {value} ELSE {local} END"
    read = f"CASE WHEN {is_read} THEN {_within_years(either)} END"
    if rules.format is not None or rules.zone_required:
        return read
    shaped = _has_shape(text, "yyyy-MM-dd HH:mm:ss", 5, 14, 17)
    usual = local if same or kind == "timestamp_ntz" else _within_years(local)
    return f"CASE WHEN {shaped} THEN {usual} ELSE {read} END"


def _within_years(value: str) -> str:
    """Another zone than the session's can move a value out of the years that a date has."""
    return f"CASE WHEN year({value}) BETWEEN 1 AND 9999 THEN {value} END"


def _has_shape(text: str, shape: str, *signs: int) -> str:
    """A condition for texts of which Spark's cast takes only those that have the shape, with a digit for each letter.

    The texts of most rows have it, and it costs a fraction of a pattern. `signs`: the places of the shape's signs of
    which the others follow where the cast gives a value.
    """
    conditions = [f"octet_length({text}) = {len(shape)}", f"{text} >= '0001'"]
    conditions += [f"substring({text}, {at}, 1) = '{shape[at - 1]}'" for at in signs]
    return " AND ".join([*conditions, f"contains('0123456789', substring({text}, {len(shape)}))"])


def _formatted(text: str, rules: TimeRules) -> str:
    value = f"try_to_timestamp(trim({text}), {literal(rules.format or '')})"
    return f"CASE WHEN year({value}) BETWEEN 1 AND 9999 THEN {value} END"


def _canonical(zone: str) -> str:
    return "UTC" if zone in ("Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00") else zone
