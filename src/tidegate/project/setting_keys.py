"""Every setting that a model may have, and how its value is read from a directive, a sidecar or [defaults]."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from tidegate.config import parse_duration
from tidegate.names import nearest
from tidegate.project.directives import split_list, unquote
from tidegate.project.model import Freshness, Materialized, Strategy
from tidegate.project.strategies import STRATEGIES

__all__ = ["KEYS", "SPELLINGS", "ColumnNote", "KindValue", "SettingKey"]

Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class KindValue:
    """What `kind` or `merge_strategy` says: a strategy, or that the model is a view."""

    strategy: Strategy
    materialized: Materialized


@dataclass(frozen=True, slots=True)
class SettingKey:
    """`field` of ModelSettings that the key sets; None: another value than `unless` is an error in this version, or
    the key is read elsewhere."""

    read: Read
    field: str | None = None
    unless: Any = None
    repeatable: bool = False


def _text(value: Any) -> str:
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str):
        return value.strip()
    raise ValueError(f"must be text, not {value!r}")


def _as_written(value: Any) -> Any:
    return value


def _filled(value: Any) -> str:
    if text := _text(value):
        return text
    raise ValueError("must not be empty")


def _one_of(*choices: str) -> Read:
    def read(value: Any) -> str:
        text = _filled(value)
        if text in choices:
            return text
        hint = nearest(text, choices, 1)
        suggestion = f"; did you mean '{hint[0]}'?" if hint else ""
        raise ValueError(f"must be {', '.join(choices[:-1])} or {choices[-1]}, not '{text}'{suggestion}")

    return read


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    raise ValueError(f"must be true or false, not {value!r}")


def _count(value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"must be a whole number of 0 or more, not {value!r}")
    return value


def _deviation(value: Any) -> float:
    if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value.strip(), re.ASCII):
        value = float(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError(f"must be 0 (off) or a number such as 0.5, not {value!r}")
    return float(value)


def _items(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        return tuple(_filled(item) for item in value)
    return split_list(_filled(value))


def _column(value: Any) -> str:
    return unquote(_filled(value))


def _columns(value: Any) -> tuple[str, ...]:
    # In a sidecar's list each item is one name already, whatever signs it holds.
    names = tuple(_filled(v) for v in value) if isinstance(value, list) else tuple(unquote(i) for i in _items(value))
    lowered = [name.lower() for name in names]
    if repeated := next((name for name in names if lowered.count(name.lower()) > 1), None):
        raise ValueError(f"names column '{repeated}' twice")
    if not names:
        raise ValueError("must name a column")
    return names


_NAME = r"(?:[^\W\d]\w*|`[^`]+`)(?:\.(?:[^\W\d]\w*|`[^`]+`))*"
_TRANSFORM = re.compile(
    rf"{_NAME}|(?:years?|months?|days?|hours?|date|date_hour)\(\s*{_NAME}\s*\)"
    rf"|(?:bucket|truncate)\(\s*[1-9]\d*\s*,\s*{_NAME}\s*\)",
    re.IGNORECASE,
)
_ORDER = re.compile(rf"(?:{_NAME})(?:\s+(?:asc|desc))?(?:\s+nulls\s+(?:first|last))?", re.IGNORECASE)


def _matching(pattern: re.Pattern[str], example: str) -> Read:
    def read(value: Any) -> tuple[str, ...]:
        items = _items(value)
        if bad := next((item for item in items if not pattern.fullmatch(item)), None):
            raise ValueError(f"'{bad}' is not understood; write for example {example}")
        return items

    return read


def _moment(value: Any) -> str:
    text = _filled(value)
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be a date or time such as 2026-01-31 or 2026-01-31T06:00:00, not '{text}'") from None
    return text


def _length_of_time(value: Any) -> timedelta:
    length = parse_duration(_filled(value))
    if not length:
        raise ValueError("must be longer than no time at all")
    return length


def _freshness(value: Any) -> Freshness:
    """`24h`, `updated_at 24h`, `updated_at 24h audit`."""
    *words, last = _filled(value).split()
    audit = last.lower() == "audit"
    if not audit and last.lower() != "warning":
        words.append(last)
    if not 1 <= len(words) <= 2:
        raise ValueError("must be an age such as 24h, or a column and an age, such as updated_at 24h; audit may follow")
    _length_of_time(words[-1])
    return Freshness(words[-1], unquote(words[0]) if len(words) == 2 else None, audit)


_TAGS = re.compile(r"(?P<note>.*?)\s*\[\s*(?P<tags>[\w.-]+(?:\s*,\s*[\w.-]+)*)\s*\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ColumnNote:
    """The note on one column. `described`: a description was written, even an empty one."""

    description: str = ""
    tags: tuple[str, ...] = ()
    described: bool = True


def _column_notes(value: Any) -> Mapping[str, ColumnNote]:
    """`name: description [tags]` from a directive, a table from a file."""
    if isinstance(value, dict):
        return {str(name): _note_of_table(note) for name, note in value.items()}
    name, colon, note = _filled(value).partition(":")
    if not colon:
        raise ValueError(f"must be 'name: description', not '{value}'")
    match = _TAGS.fullmatch(note.strip())
    if match is None:
        return {unquote(name.strip()): ColumnNote(note.strip())}
    tags = tuple(dict.fromkeys(tag.strip() for tag in match["tags"].split(",")))
    return {unquote(name.strip()): ColumnNote(match["note"], tags, bool(match["note"]))}


def _note_of_table(note: Any) -> ColumnNote:
    if not isinstance(note, dict):
        return ColumnNote(_text(note))
    tags = _items(note["tags"]) if note.get("tags") else ()
    return ColumnNote(_text(note.get("description", "")), tuple(dict.fromkeys(tags)), "description" in note or not tags)


SPELLINGS: Mapping[str, KindValue] = {
    **{
        strategy.value: KindValue(strategy, Materialized.TABLE)
        for strategy in Strategy
        if not STRATEGIES[strategy].contracts_only
    },
    "microbatch": KindValue(Strategy.TIME_INTERVAL, Materialized.TABLE),
    "table": KindValue(Strategy.FULL_REFRESH, Materialized.TABLE),
    "append": KindValue(Strategy.APPEND_ONLY, Materialized.TABLE),
    "merge": KindValue(Strategy.INCREMENTAL, Materialized.TABLE),
    "view": KindValue(Strategy.FULL_REFRESH, Materialized.VIEW),
}


def _kind(value: Any) -> KindValue:
    traits = STRATEGIES.get(value) if isinstance(value, str) else None
    if traits is not None and traits.contracts_only:
        raise ValueError(
            f"cannot be {value}, which only the silver table of a contract has, by its silver_write_strategy; "
            "a model that merges by its key is incremental"
        )
    return SPELLINGS[_one_of(*SPELLINGS)(value)]


def _materialized(value: Any) -> Materialized:
    return Materialized(_one_of(*(choice.value for choice in Materialized))(value))


_KIND = SettingKey(_kind, "strategy")

KEYS: Mapping[str, SettingKey] = {
    "merge_strategy": _KIND,
    "kind": _KIND,
    "materialized": SettingKey(_materialized, "materialized"),
    "unique_key": SettingKey(_columns, "unique_key"),
    "group_key": SettingKey(_columns, "group_key"),
    "watermark_column": SettingKey(_column, "watermark_column"),
    "partition_column": SettingKey(_column, "partition_column"),
    "partitioned_by": SettingKey(_matching(_TRANSFORM, "country, days(ordered_at), bucket(16, id)"), "partitioned_by"),
    "sorted_by": SettingKey(_matching(_ORDER, "customer_id, ordered_at DESC"), "sorted_by"),
    "time_column": SettingKey(_column, "time_column"),
    "granularity": SettingKey(_one_of("hour", "day", "week", "month", "year"), "granularity"),
    "lookback": SettingKey(_count, "lookback"),
    "first_partition": SettingKey(_moment, "first_partition"),
    "scd_valid_from": SettingKey(_column, "scd_valid_from"),
    "scd_valid_to": SettingKey(_column, "scd_valid_to"),
    "scd_deletes": SettingKey(_one_of("close", "keep"), "scd_deletes"),
    "on_empty": SettingKey(_one_of("replace", "keep", "fail"), "on_empty"),
    "on_duplicate": SettingKey(_one_of("latest", "fail"), "on_duplicate"),
    "null_keys": SettingKey(_one_of("fail", "match"), "null_keys"),
    "deltas": SettingKey(_one_of("auto", "always", "never"), "deltas"),
    "deletes": SettingKey(_one_of("propagate", "ignore"), "deletes"),
    "skip": SettingKey(_one_of("auto", "never"), "skip"),
    "archive_landing_zones": SettingKey(_boolean, "archive_landing_zones"),
    "constraint": SettingKey(_as_written, repeatable=True),
    "audit": SettingKey(_as_written, repeatable=True),
    "warning": SettingKey(_as_written, repeatable=True),
    "quarantine": SettingKey(_boolean, "quarantine"),
    "format": SettingKey(_one_of("iceberg", "delta"), unless="iceberg"),
    "description": SettingKey(_text, "description"),
    "owner": SettingKey(_text, "owner"),
    "tags": SettingKey(_items, "tags"),
    "column": SettingKey(_column_notes, "columns", repeatable=True),
    "depends_on": SettingKey(_items, "depends_on"),
    "freshness": SettingKey(_freshness, "freshness"),
    "anomaly_threshold": SettingKey(_deviation, "anomaly_threshold"),
    "max_retries": SettingKey(_count, "max_retries"),
    "retry_delay_seconds": SettingKey(_count, "retry_delay_seconds"),
    "timeout": SettingKey(_length_of_time, "timeout"),
}
