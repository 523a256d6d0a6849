"""How much is asked of a service at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.errors import FailureKind, RunCancelledError, SourceError
from tidegate.runs.control.services import ConcurrencyLevel, Throttle

NEVER = 600.0
"""No waiter looks again by itself within a test: who is not woken hangs."""
THROTTLED = SourceError("slow down", source="crm", kind=FailureKind.QUOTA_EXCEEDED)


class Watch:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def fail(pace: Throttle, error: Exception) -> None:
    with pytest.raises(type(error)), pace.turn():
        raise error


def succeed(pace: Throttle) -> None:
    with pace.turn():
        pass


def together(count: int, work: Callable[[int], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_it_starts_with_one_goes_up_by_one_and_halves_when_throttled() -> None:
    watch, heard = Watch(), list[ConcurrencyLevel]()
    pace = Throttle("crm", 5, 30, on_level=heard.append, monotonic=watch)
    levels = [pace.level]
    for _ in range(6):
        succeed(pace)
        levels.append(pace.level)
    fail(pace, THROTTLED)
    levels.append(pace.level)
    watch.seconds += 30
    succeed(pace)
    levels.append(pace.level)
    assert levels == [1, 2, 3, 4, 5, 5, 5, 2, 3]
    assert [level.level for level in heard] == [2, 3, 4, 5, 2, 3]
    assert heard[0] == ConcurrencyLevel("crm", 2, 5)


def test_other_failures_change_nothing() -> None:
    pace = Throttle("crm", 5, 30)
    succeed(pace)
    fail(pace, ValueError("x"))
    fail(pace, SourceError("x", source="crm", kind=FailureKind.CONNECTION_FAILED))
    assert (pace.level, pace.running) == (2, 0)


def test_a_failure_that_is_a_value_counts_as_an_exception_does() -> None:
    watch = Watch()
    pace = Throttle("crm", 8, 1, monotonic=watch)
    for _ in range(3):
        succeed(pace)
    with pace.turn() as turn:
        turn.failed(FailureKind.QUOTA_EXCEEDED, retry_after=9)
    assert pace.level == 2


def test_answers_to_what_was_asked_before_a_throttle_say_nothing_new() -> None:
    watch = Watch()
    pace = Throttle("crm", 8, 30, monotonic=watch)
    for _ in range(7):
        succeed(pace)
    with pace.turn(), pace.turn() as second, pace.turn() as third:
        third.failed(FailureKind.QUOTA_EXCEEDED)
        second.failed(FailureKind.QUOTA_EXCEEDED)
    assert pace.level == 4


@given(st.integers(1, 12), st.lists(st.sampled_from(["ok", "throttled", "broken"]), max_size=60))
def test_the_level_is_never_below_one_nor_above_the_most(most: int, fates: list[str]) -> None:
    watch, heard = Watch(), list[ConcurrencyLevel]()
    pace = Throttle("crm", most, 10, on_level=heard.append, monotonic=watch)
    for fate in fates:
        before = pace.level
        with pace.turn() as turn:
            if fate != "ok":
                turn.failed(FailureKind.QUOTA_EXCEEDED if fate == "throttled" else FailureKind.TRANSIENT)
        expected = {"ok": min(most, before + 1), "throttled": max(1, before // 2), "broken": before}[fate]
        assert 1 <= pace.level <= most
        assert pace.level == expected
        watch.seconds += 10
    assert all(1 <= level.level <= most for level in heard)
    assert (heard[-1].level if heard else 1) == pace.level


@settings(max_examples=15)
@given(st.integers(1, 6), st.lists(st.lists(st.booleans(), max_size=12), min_size=1, max_size=8))
def test_threads_never_exceed_the_level_and_all_come_to_their_turn(most: int, work: list[list[bool]]) -> None:
    """Of each thread: whether each of its pieces of work goes well or is throttled."""
    pace = Throttle("crm", most, 0, poll_seconds=NEVER)
    wrong, done = list[str](), [0] * len(work)

    def run(number: int) -> None:
        for good in work[number]:
            with pace.turn() as turn:
                for _ in range(20):
                    time.sleep(0)  # let the others come and find the place taken
                    if pace.running > most:
                        wrong.append(f"{pace.running} of {most}")
                if not good:
                    turn.failed(FailureKind.QUOTA_EXCEEDED)
            done[number] += 1

    for thread in together(len(work), run):
        thread.join(20)
        assert not thread.is_alive(), "a thread was not woken"
    assert wrong == []
    assert done == [len(pieces) for pieces in work]
    assert pace.running == 0


def test_who_waits_is_woken_when_another_ends() -> None:
    pace = Throttle("crm", 4, 0, poll_seconds=NEVER)
    inside = threading.Event()
    with pace.turn():
        [thread] = together(1, lambda number: pace.turn().__enter__() and inside.set())
        assert not inside.wait(0.05)
    assert inside.wait(20)
    thread.join(20)


@pytest.mark.parametrize(("asked", "rest"), [(None, 30.0), (5.0, 30.0), (120.0, 120.0)])
def test_nobody_asks_while_the_service_rests(asked: float | None, rest: float) -> None:
    watch = Watch()
    pace = Throttle("crm", 4, 30, monotonic=watch, poll_seconds=0.005)
    with pace.turn() as turn:
        turn.failed(FailureKind.QUOTA_EXCEEDED, retry_after=asked)
    inside = threading.Event()

    def ask(number: int) -> None:
        with pace.turn():
            inside.set()

    [thread] = together(1, ask)
    watch.seconds = rest - 0.1
    assert not inside.wait(0.05)
    watch.seconds = rest
    assert inside.wait(20)
    thread.join(20)


def test_an_exception_says_how_long_the_service_wants_to_rest() -> None:
    watch = Watch()
    pace = Throttle("crm", 4, 30, monotonic=watch)
    error = SourceError("slow down", source="crm", kind=FailureKind.QUOTA_EXCEEDED)
    error.retry_after = 120.0
    fail(pace, error)
    assert pace.pause == 120.0


def test_a_cancel_ends_the_waiting() -> None:
    cancelled = threading.Event()
    pace = Throttle("crm", 4, 600, cancelled.is_set, poll_seconds=0.005)
    fail(pace, THROTTLED)
    ended = threading.Event()

    def ask(number: int) -> None:
        with pytest.raises(RunCancelledError), pace.turn():
            pass
        ended.set()

    [thread] = together(1, ask)
    assert not ended.wait(0.05)
    cancelled.set()
    assert ended.wait(20)
    thread.join(20)
    assert pace.running == 0
