from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.planner.intervals import decode, due_intervals, encode, floor, intervals_between, merge, parse_time

GRANULARITIES = st.sampled_from(["hour", "day", "week", "month", "year"])
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


def at(text: str) -> datetime:
    return parse_time(text)


def days(*pairs: tuple[str, str]) -> tuple[tuple[datetime, datetime], ...]:
    return tuple((at(start), at(end)) for start, end in pairs)


def test_only_complete_intervals_are_due() -> None:
    due = due_intervals(at("2024-01-01"), at("2024-01-03T13:00:00"), "day", ())
    assert due == days(("2024-01-01", "2024-01-02"), ("2024-01-02", "2024-01-03"))


def test_intervals_that_are_done_are_not_due_again() -> None:
    done = days(("2024-01-01", "2024-01-02"), ("2024-01-03", "2024-01-04"))
    due = due_intervals(at("2024-01-01"), at("2024-01-05"), "day", done)
    assert due == days(("2024-01-02", "2024-01-03"), ("2024-01-04", "2024-01-05"))


def test_lookback_repeats_the_newest_intervals_when_there_is_a_new_one() -> None:
    done = days(("2024-01-01", "2024-01-04"))
    assert due_intervals(at("2024-01-01"), at("2024-01-04"), "day", done, lookback=2) == ()
    due = due_intervals(at("2024-01-01"), at("2024-01-05"), "day", done, lookback=2)
    assert [start.day for start, _ in due] == [2, 3, 4]


def test_a_range_that_is_asked_for_is_done_again() -> None:
    done = days(("2024-01-01", "2024-02-01"))
    due = due_intervals(at("2024-01-01"), at("2024-02-01"), "day", done, requested=(at("2024-01-05"), at("2024-01-07")))
    assert [start.day for start, _ in due] == [5, 6]


@pytest.mark.parametrize(
    ("granularity", "expected"),
    [
        ("hour", "2024-02-29T13:00"),
        ("day", "2024-02-29"),
        ("week", "2024-02-26"),
        ("month", "2024-02-01"),
        ("year", "2024-01-01"),
    ],
)
def test_floor(granularity: str, expected: str) -> None:
    assert floor(at("2024-02-29T13:45:10"), granularity) == at(expected)


@given(MOMENTS, st.integers(0, 20), GRANULARITIES)
def test_intervals_touch_each_other_and_never_overlap(start: datetime, steps: int, granularity: str) -> None:
    spans = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}
    end = start + steps * spans.get(granularity, timedelta(days=40))
    found = list(intervals_between(start, end, granularity))
    assert all(low < high <= end for low, high in found)
    assert all(before[1] == after[0] for before, after in pairwise(found))
    assert not found or found[0][0] == floor(start, granularity)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 10)), max_size=12))
def test_merged_ranges_cover_the_same_moments(pairs: list[tuple[int, int]]) -> None:
    base = at("2024-01-01")
    ranges = [(base + timedelta(days=start), base + timedelta(days=start + length)) for start, length in pairs]
    merged = merge(ranges)
    covered = {base + timedelta(days=d) for start, length in pairs for d in range(start, start + length)}
    assert {low + timedelta(days=d) for low, high in merged for d in range((high - low).days)} == covered
    assert all(before[1] < after[0] for before, after in pairwise(merged))
    assert decode(encode(ranges)) == merged


@given(MOMENTS, st.integers(0, 40), st.sets(st.integers(0, 39)))
def test_after_filling_what_is_due_nothing_is_due(first: datetime, length: int, done_days: set[int]) -> None:
    first = floor(first, "day")
    now = first + timedelta(days=length)
    done = [(first + timedelta(days=d), first + timedelta(days=d + 1)) for d in done_days]
    due = due_intervals(first, now, "day", done)
    assert due_intervals(first, now, "day", [*done, *due]) == ()
