"""Time intervals: which ones a time_interval model still has to fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

__all__ = ["Interval", "decode", "due_intervals", "encode", "floor", "intervals_between", "merge", "parse_time"]

Interval = tuple[datetime, datetime]
"""Half-open, UTC."""


def parse_time(text: str) -> datetime:
    """`2024-01-31` or an ISO timestamp, as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text.strip())
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def floor(moment: datetime, granularity: str) -> datetime:
    """The start of the interval that holds `moment`; weeks start on Monday."""
    if granularity == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if granularity == "week":
        return day - timedelta(days=day.weekday())
    if granularity == "month":
        return day.replace(day=1)
    if granularity == "year":
        return day.replace(month=1, day=1)
    return day


def following(start: datetime, granularity: str) -> datetime:
    if granularity == "month":
        return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    if granularity == "year":
        return start.replace(year=start.year + 1)
    return start + {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}[granularity]


def intervals_between(start: datetime, end: datetime, granularity: str) -> Iterator[Interval]:
    """Every whole interval that lies in [floor(start), end)."""
    current = floor(start, granularity)
    while (after := following(current, granularity)) <= end:
        yield current, after
        current = after


def merge(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same moments as few, ordered, disjoint ranges."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def due_intervals(
    first: datetime,
    now: datetime,
    granularity: str,
    done: Iterable[Interval],
    lookback: int = 0,
    requested: tuple[datetime | None, datetime | None] = (None, None),
) -> tuple[Interval, ...]:
    """The complete intervals to fill, oldest first.

    Without `requested`, those from `first` to `now` that are not in `done`, and the newest `lookback` ones before the
    last; with it, all of that range.
    """
    start, end = requested
    if start is not None or end is not None:
        return tuple(intervals_between(start or first, end or now, granularity))
    ranges = merge(done)
    complete = tuple(intervals_between(first, now, granularity))
    missing = {i for i in complete if not any(low <= i[0] and i[1] <= high for low, high in ranges)}
    if lookback and missing:
        position = complete.index(max(missing))
        missing.update(complete[max(0, position - lookback) : position])
    return tuple(sorted(missing))


def encode(intervals: Iterable[Interval]) -> tuple[tuple[str, str], ...]:
    return tuple((start.isoformat(), end.isoformat()) for start, end in merge(intervals))


def decode(intervals: Iterable[tuple[str, str]]) -> tuple[Interval, ...]:
    return tuple((parse_time(start), parse_time(end)) for start, end in intervals)
