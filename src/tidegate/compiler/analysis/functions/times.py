"""Functions of dates, times and intervals."""

from __future__ import annotations

from tidegate.compiler.analysis.coercion import CALENDAR_INTERVAL, DAY_TO_SECOND, is_day_time, is_year_month
from tidegate.compiler.analysis.expressions.typed import UNKNOWN, Typed
from tidegate.compiler.analysis.functions.function import (
    ALWAYS,
    NEVER,
    UNSURE,
    Function,
    FunctionCall,
    define,
)
from tidegate.datatypes import (
    ANY,
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    DataType,
    decimal,
    struct,
)

__all__ = ["TIMES", "extracted", "has_parts"]

_SECONDS = decimal(8, 6)
_PARTS = """
year y years yr yrs yearofweek quarter qtr month mon mons months week w weeks day d days dayofweek dow dayofweek_iso
dow_iso doy hour h hours hr hrs minute m min mins minutes
"""
_LARGE_PARTS = "year y years yr yrs day d days"
_SMALL_PARTS = "month mon mons months hour h hours hr hrs minute m min mins minutes"
_DATE_PARTS = frozenset(_PARTS.split())
_SECOND_PARTS = frozenset({"second", "s", "sec", "seconds", "secs"})
_OF_INTERVAL = {
    **dict.fromkeys(_LARGE_PARTS.split(), INT),
    **dict.fromkeys(_SMALL_PARTS.split(), TINYINT),
    **dict.fromkeys(_SECOND_PARTS, _SECONDS),
}


def extracted(part: str, kind: DataType) -> DataType:
    """The type of EXTRACT(part FROM a value of that type)."""
    part = part.lower()
    if kind.kind == "?":
        return _SECONDS if part in _SECOND_PARTS else ANY
    if is_day_time(kind) or is_year_month(kind) or kind.kind == "interval":
        return _OF_INTERVAL.get(part, ANY)
    if part in _SECOND_PARTS:
        return _SECONDS
    return INT if part in _DATE_PARTS else ANY


def has_parts(kind: DataType) -> bool:
    """Whether EXTRACT takes it."""
    dated = kind.is_temporal or kind.kind in ("string", "void", "interval", "?")
    return dated or is_day_time(kind) or is_year_month(kind)


def _date_part(call: FunctionCall) -> DataType | Typed:
    part = call.text(0)
    if not has_parts(call.type(1)):
        return call.report_mismatch(f"{call.written_name} takes a date, a time or an interval, not {call.type(1)}")
    return ANY if part is None else extracted(part, call.type(1))


def _moved(call: FunctionCall) -> DataType:
    """timestampadd(): what has a time keeps its type, a date becomes a timestamp."""
    kind = call.type(1)
    if kind.kind in ("date", "string", "void"):
        return TIMESTAMP
    return kind if kind.is_temporal else ANY


def _days_later(call: FunctionCall) -> DataType | Typed:
    """The days are an int or less, or text."""
    days = call.type(1)
    if days.kind not in ("tinyint", "smallint", "int", "string", "void", "?"):
        return call.report_mismatch(
            f"{call.written_name} takes a whole number of days, not {days}", "cast the days to int"
        )
    if days.kind == "string":
        return Typed(DATE, True)
    return DATE


def _window(call: FunctionCall) -> Typed:
    kind = call.type(0)
    if kind.kind in ("string", "date", "void"):
        kind = TIMESTAMP
    if kind.kind not in ("timestamp", "timestamp_ntz"):
        return UNKNOWN
    return Typed(struct((("start", kind), ("end", kind))))


def _window_time(call: FunctionCall) -> DataType:
    kind = call.type(0)
    end = kind.field("end") if kind.kind == "struct" else None
    return end or ANY


TIMES: list[Function] = [
    *define("curdate", DATE, 0, nulls=NEVER),
    *define("current_date", DATE, 0, None, nulls=NEVER),
    *define("now", TIMESTAMP, 0, nulls=NEVER),
    *define("current_timestamp", TIMESTAMP, 0, None, nulls=NEVER),
    *define("localtimestamp", TIMESTAMP_NTZ, 0, nulls=NEVER),
    *define("current_timezone", STRING, 0, nulls=NEVER),
    *define("current_time", ANY, 0, None),
    *define("add_months", DATE, 2, takes="Di"),
    *define("date_add date_sub", _days_later, 2, takes="D*"),
    *define("date_diff datediff", INT, 2, takes="D"),
    *define("timestampadd", _moved, 2, nulls=UNSURE),
    *define("timestampdiff", BIGINT, 2, takes="t"),
    *define("date_format", STRING, 2, takes="ts"),
    *define("date_from_unix_date", DATE, 1, takes="i"),
    *define("date_part datepart", _date_part, 2, nulls=UNSURE),
    *define("date_trunc", TIMESTAMP, 2, nulls=ALWAYS, takes="st"),
    *define("trunc", DATE, 2, nulls=ALWAYS, takes="Ds"),
    *define("day", INT, 1, nulls=UNSURE, takes="D"),
    *define("dayofmonth dayofweek dayofyear month quarter weekday weekofyear year", INT, 1, takes="D"),
    *define("hour minute second", INT, 1, takes="t"),
    *define("dayname monthname", STRING, 1, takes="D"),
    *define("from_unixtime", STRING, 1, 2, nulls=ALWAYS, takes="ls"),
    *define("from_utc_timestamp to_utc_timestamp", TIMESTAMP, 2, takes="ts"),
    *define("convert_timezone", TIMESTAMP_NTZ, 2, 3, nulls=UNSURE, takes="s*"),
    *define("last_day", DATE, 1, takes="D"),
    *define("make_date", DATE, 3, takes="i"),
    *define("make_dt_interval", DAY_TO_SECOND, 0, 4, nulls=UNSURE, takes="d"),
    *define("make_interval", CALENDAR_INTERVAL, 0, 7, nulls=UNSURE, takes="d"),
    *define("try_make_interval", CALENDAR_INTERVAL, 1, 7, nulls=ALWAYS, takes="d"),
    *define("make_ym_interval", DataType("interval year to month"), 0, 2, takes="i"),
    *define("make_timestamp", TIMESTAMP, 1, 7, nulls=UNSURE, counts=(1, 2, 3, 6, 7)),
    *define("try_make_timestamp", TIMESTAMP, 1, 7, nulls=UNSURE, counts=(1, 2, 3, 6, 7)),
    *define("make_timestamp_ltz try_make_timestamp_ltz", TIMESTAMP, 2, 7, nulls=UNSURE, counts=(2, 3, 6, 7)),
    *define("make_timestamp_ntz try_make_timestamp_ntz", TIMESTAMP_NTZ, 2, 6, nulls=UNSURE, counts=(2, 6)),
    *define("months_between", DOUBLE, 2, 3, takes="ttb"),
    *define("next_day", DATE, 2, nulls=ALWAYS, takes="Ds"),
    *define("to_date", DATE, 1, 2, nulls=UNSURE, takes="s"),
    *define("try_to_date", DATE, 1, 2, nulls=UNSURE, takes="s"),
    *define("to_timestamp to_timestamp_ltz", TIMESTAMP, 1, 2, nulls=UNSURE, takes="s"),
    *define("try_to_timestamp", TIMESTAMP, 1, 2, nulls=UNSURE, takes="s"),
    *define("to_timestamp_ntz", TIMESTAMP_NTZ, 1, 2, nulls=UNSURE, takes="s"),
    *define("to_unix_timestamp", BIGINT, 1, 2, nulls=UNSURE, takes="DT"),
    *define("unix_timestamp", BIGINT, 0, 2, nulls=UNSURE, takes="DT"),
    *define("timestamp_micros timestamp_millis", TIMESTAMP, 1, nulls=UNSURE, takes="I"),
    *define("timestamp_seconds", TIMESTAMP, 1, nulls=UNSURE, takes="n"),
    *define("unix_date", INT, 1, takes="D"),
    *define("unix_micros unix_millis unix_seconds", BIGINT, 1, takes="t"),
    *define("window", _window, 2, 4, nulls=UNSURE, takes="D*"),
    *define("session_window", _window, 2, nulls=NEVER, takes="D*"),
    *define("window_time", _window_time, 1, nulls=UNSURE),
    *define("make_time time_diff", ANY, 3, nulls=UNSURE),
    *define("time", ANY, 1, nulls=UNSURE),
    *define("time_trunc", ANY, 2, nulls=UNSURE),
    *define("to_time try_to_time", ANY, 1, 2, nulls=UNSURE),
]
