"""Compare the profile of a run with those of earlier runs: rows, NULLs, the age of the newest values, means and
different values. Pure; an anomaly is reported and never blocks anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean, stdev

from tidegate.quality.column_profiles import ColumnProfile, Profile

__all__ = ["KINDS", "LEAST_RUNS", "MOST_RUNS", "Anomaly", "ProfiledRun", "baseline", "find_anomalies"]

LEAST_RUNS = 3
MOST_RUNS = 10
_TIMES = ("date", "timestamp", "timestamp_ntz")
_HOUR = 3600.0
_DAY = 24 * _HOUR
_MOST = 1000.0
"""The largest deviation that is reported; where the usual value is 0, it would be infinite."""


@dataclass(frozen=True, slots=True)
class Anomaly:
    """Ages are in seconds."""

    model: str
    kind: str

    column: str | None
    """None: it is about the table."""

    value: float

    expected: float
    """The mean of the earlier runs."""

    deviation: float
    """The distance of `value` from `expected`, as a share of it."""

    message: str


@dataclass(frozen=True, slots=True)
class ProfiledRun:
    """The profile of one run, and when it began."""

    run_id: str
    at: datetime
    profile: Profile


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str

    floor: float
    """Deviations are measured against at least this value, so that small changes of small values are ignored."""

    spread: float
    """The value must also be this many standard deviations of the earlier runs away."""

    message: Callable[[str, float, float], str]

    grows: bool = False
    """Only an increase is an anomaly."""


def _rows(column: str, value: float, expected: float) -> str:
    return f"{_number(value)} row{'' if value == 1 else 's'}, usually about {_number(expected)}"


def _null_share(column: str, value: float, expected: float) -> str:
    return f"column '{column}' is {value:.1%} NULL, usually {expected:.1%}"


def _freshness(column: str, value: float, expected: float) -> str:
    return f"the newest value of column '{column}' is {_age(value)} old, usually {_age(expected)}"


def _mean(column: str, value: float, expected: float) -> str:
    return f"the mean of column '{column}' is {_number(value)}, usually about {_number(expected)}"


def _distinct(column: str, value: float, expected: float) -> str:
    what = "value" if value == 1 else "values"
    return f"column '{column}' has about {_number(value)} different {what}, usually about {_number(expected)}"


_ROW_COUNT = _Rule("row_count", 1, 2, _rows)
_NULL_SHARE = _Rule("null_share", 0.1, 3, _null_share)
_AGE = _Rule("freshness", _HOUR, 3, _freshness, grows=True)
_AGE_IN_DAYS = _Rule("freshness", 2 * _DAY, 3, _freshness, grows=True)
_MEAN = _Rule("mean", 0, 3, _mean)
_DISTINCT = _Rule("distinct", 5, 3, _distinct)
KINDS = tuple(dict.fromkeys(rule.kind for rule in (_ROW_COUNT, _NULL_SHARE, _AGE, _MEAN, _DISTINCT)))


def baseline(now: ProfiledRun, history: Iterable[ProfiledRun]) -> tuple[ProfiledRun, ...]:
    """The newest runs before this one that can be compared with it."""
    others = (run for run in history if run.run_id != now.run_id and run.profile.scope == now.profile.scope)
    return tuple(sorted(others, key=lambda run: run.at, reverse=True)[:MOST_RUNS])


def find_anomalies(
    model: str, now: ProfiledRun, history: Iterable[ProfiledRun], thresholds: Mapping[str, float]
) -> tuple[Anomaly, ...]:
    """`thresholds`: by kind, the deviation above which an anomaly is reported; 0, or none, is off. At least LEAST_RUNS
    values are needed to compare with."""
    before = baseline(now, history)
    if len(before) < LEAST_RUNS:
        return ()
    anomalies = []
    past = [dict(_measures(run)) for run in before]
    for (rule, column), value in _measures(now):
        usual = [measures[rule, column] for measures in past if (rule, column) in measures]
        deviation = _deviation(rule, value, usual)
        if not 0 < thresholds.get(rule.kind, 0) < deviation:
            continue
        if rule is _DISTINCT and not _also_by_share(now, before, column, thresholds[rule.kind]):
            continue
        expected = fmean(usual)
        message = rule.message(column or "", value, expected)
        anomalies.append(Anomaly(model, rule.kind, column, _short(value), _short(expected), _short(deviation), message))
    return tuple(anomalies)


def _measures(run: ProfiledRun) -> Iterator[tuple[tuple[_Rule, str | None], float]]:
    profile = run.profile
    yield (_ROW_COUNT, None), profile.rows
    if not profile.rows:
        return
    for column in profile.columns:
        yield (_NULL_SHARE, column.name), column.nulls / profile.rows
        age = _age_of(column, run.at)
        if age is not None:
            yield (_AGE_IN_DAYS if column.type == "date" else _AGE, column.name), age
        if isinstance(column.mean, int | float) and math.isfinite(column.mean):
            yield (_MEAN, column.name), column.mean
        if column.distinct is not None:
            yield (_DISTINCT, column.name), column.distinct


def _deviation(rule: _Rule, value: float, usual: Sequence[float]) -> float:
    """0 where it is no anomaly."""
    if len(usual) < LEAST_RUNS:
        return 0.0
    expected = fmean(usual)
    distance = value - expected if rule.grows else abs(value - expected)
    if distance <= rule.spread * stdev(usual):
        return 0.0
    return distance / max(abs(expected), rule.floor, distance / _MOST)


def _also_by_share(now: ProfiledRun, before: Sequence[ProfiledRun], column: str | None, threshold: float) -> bool:
    """A table with twice the rows has twice the keys: compare the share of distinct values too, so that growth is no
    anomaly."""

    def share(run: ProfiledRun) -> float | None:
        for one in run.profile.columns:
            if one.name == column and one.distinct is not None and one.nulls < run.profile.rows:
                return one.distinct / (run.profile.rows - one.nulls)
        return None

    value, usual = share(now), [past_share for past_share in map(share, before) if past_share is not None]
    if value is None or not usual:
        return True
    expected = fmean(usual)
    return abs(value - expected) > threshold * expected


def _age_of(column: ColumnProfile, at: datetime) -> float | None:
    """Whole days where the column has no more."""
    if column.type not in _TIMES or not isinstance(column.max, str):
        return None
    try:
        newest = datetime.fromisoformat(column.max)
    except ValueError:
        return None
    newest = newest if newest.tzinfo else newest.replace(tzinfo=UTC)
    if column.type == "date":
        return (at.astimezone(UTC).date() - newest.date()).days * _DAY
    return (at - newest).total_seconds()


def _short(value: float) -> float:
    return value if isinstance(value, int) else float(f"{value:.6g}")


def _number(value: float) -> str:
    return str(round(value)) if abs(value) >= 1000 or value == round(value) else f"{value:.4g}"


def _age(seconds: float) -> str:
    size, sign = abs(seconds), "-" if seconds < 0 else ""
    units = (("day", _DAY), ("hour", _HOUR), ("minute", 60.0), ("second", 1.0))
    unit, length = next((pair for pair in units if size >= pair[1]), units[-1])
    amount = f"{size / length:.3g}"
    return f"{sign}{amount} {unit}{'' if amount == '1' else 's'}"
