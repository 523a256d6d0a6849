"""Trying again: pauses stay within their bounds, budgets hold, and a cancel ends a pause."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import FailureKind
from tidegate.runs.control.limits import Deadline
from tidegate.runs.control.retries import Attempt, AttemptFailure, Retries, RetryBudget, RetryOutcome, RetryPolicy

START = datetime(2026, 11, 15, 12, tzinfo=UTC)
CHANCES = st.floats(0, 1, exclude_max=True)
LENGTHS = st.timedeltas(timedelta(0), timedelta(hours=2))


class Time:
    """Moves when somebody waits, and by `work` seconds for each try."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.pauses: list[float] = []

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        raise AssertionError("a pause must be one that a cancel can end")

    def wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.seconds += seconds
        return False


def retries(
    time: Time,
    policy: RetryPolicy,
    budget: RetryBudget | None = None,
    chance: Callable[[], float] = lambda: 0.5,
    wait: Callable[[float], bool] | None = None,
    deadline: Deadline | None = None,
    over: Callable[[], bool] = lambda: False,
) -> Retries:
    return Retries(policy, budget or RetryBudget(100), time, wait or time.wait, chance, deadline or Deadline(), over)


def tried(
    retry: Retries, time: Time, outcomes: list[AttemptFailure | None], seconds: float = 1.0
) -> RetryOutcome[AttemptFailure | None]:
    """Each try takes `seconds` and gives the next outcome."""
    answers: Iterator[AttemptFailure | None] = iter(outcomes)

    def work(number: int) -> AttemptFailure | None:
        time.seconds += seconds
        return next(answers)

    return retry.until_done(work, lambda outcome: outcome)


DOWN = AttemptFailure(FailureKind.CONNECTION_FAILED, "no answer")


@given(LENGTHS, LENGTHS, st.integers(1, 5000), CHANCES, st.none() | st.floats(0, 10_000))
def test_a_pause_is_never_longer_than_allowed_nor_shorter_than_asked(
    first: timedelta, longest: timedelta, retry: int, chance: float, asked: float | None
) -> None:
    policy = RetryPolicy(3, first, longest)
    pause = policy.pause(retry, chance, asked)
    assert 0 <= policy.ceiling(retry) <= longest.total_seconds()
    assert policy.ceiling(retry) <= policy.ceiling(retry + 1)
    assert (asked or 0) <= pause <= max(policy.ceiling(retry), asked or 0)


def test_the_pause_doubles_up_to_the_longest() -> None:
    policy = RetryPolicy(9, timedelta(seconds=2), timedelta(seconds=30))
    assert [policy.ceiling(retry) for retry in range(1, 7)] == [2, 4, 8, 16, 30, 30]


def test_a_passing_problem_is_gone_at_the_third_try() -> None:
    time = Time()
    done = tried(retries(time, RetryPolicy(2, timedelta(seconds=10))), time, [DOWN, DOWN, None])
    assert done.outcome is None
    assert [attempt.to_dict() for attempt in done.attempts] == [
        {
            "number": 1,
            "started_at": "2026-11-15T12:00:00+00:00",
            "duration_ms": 1000,
            "failure_kind": "ConnectionFailed",
            "error": "no answer",
        },
        {
            "number": 2,
            "started_at": "2026-11-15T12:00:06+00:00",
            "duration_ms": 1000,
            "failure_kind": "ConnectionFailed",
            "error": "no answer",
        },
        {
            "number": 3,
            "started_at": "2026-11-15T12:00:17+00:00",
            "duration_ms": 1000,
            "failure_kind": None,
            "error": None,
        },
    ]
    assert time.pauses == [5, 10]


@pytest.mark.parametrize("kind", [kind for kind in FailureKind if not kind.is_transient])
def test_what_does_not_pass_is_tried_once(kind: FailureKind) -> None:
    time, budget = Time(), RetryBudget(5)
    done = tried(retries(time, RetryPolicy(3), budget), time, [AttemptFailure(kind, "x")])
    assert len(done.attempts) == 1
    assert budget.left == 5


def test_a_failure_that_stays_is_given_with_all_tries() -> None:
    time = Time()
    done = tried(retries(time, RetryPolicy(1)), time, [DOWN, AttemptFailure(FailureKind.TRANSIENT, "again")])
    assert done.outcome == AttemptFailure(FailureKind.TRANSIENT, "again")
    assert [attempt.failure_kind for attempt in done.attempts] == ["ConnectionFailed", "Transient"]


def test_the_other_side_is_not_asked_before_it_wants_to_be() -> None:
    time = Time()
    busy = AttemptFailure(FailureKind.QUOTA_EXCEEDED, "slow down", retry_after=90)
    tried(retries(time, RetryPolicy(1, timedelta(seconds=1))), time, [busy, None])
    assert time.pauses == [90]


def test_a_pause_that_ends_after_the_deadline_is_not_begun() -> None:
    time, budget = Time(), RetryBudget(5)
    deadline = Deadline.after(timedelta(seconds=20), 0)
    busy = AttemptFailure(FailureKind.QUOTA_EXCEEDED, "slow down", retry_after=19)
    done = tried(retries(time, RetryPolicy(3), budget, deadline=deadline), time, [busy])
    assert (len(done.attempts), time.pauses, budget.left) == (1, [], 5)


@pytest.mark.parametrize(("gives_up_at", "pauses"), [(0, []), (3, [0.5])])
def test_nothing_is_tried_again_once_the_run_has_given_up(gives_up_at: float, pauses: list[float]) -> None:
    """`gives_up_at` 3: while the second try is waited for."""
    time = Time()
    policy = RetryPolicy(5, timedelta(seconds=1))
    retry = retries(time, policy, over=lambda: time.seconds >= gives_up_at)
    done = tried(retry, time, [DOWN, None], seconds=2.75)
    assert (done.outcome, done.cancelled, len(done.attempts)) == (DOWN, False, 1)
    assert time.pauses == pauses


def test_those_who_watch_hear_of_each_retry_and_its_pause() -> None:
    time, heard = Time(), list[tuple[int, float]]()
    answers = iter([DOWN, DOWN, None])

    def told(attempt: Attempt, pause: float) -> None:
        heard.append((attempt.number, pause))

    retries(time, RetryPolicy(5, timedelta(seconds=10))).until_done(
        lambda number: next(answers), lambda outcome: outcome, told
    )
    assert heard == [(1, 5), (2, 10)]


def test_what_the_work_raises_goes_through() -> None:
    def work(number: int) -> AttemptFailure | None:
        raise KeyError(number)

    with pytest.raises(KeyError, match="1"):
        retries(Time(), RetryPolicy(3)).until_done(work, lambda outcome: outcome)


def test_a_cancel_ends_a_pause_at_once() -> None:
    cancelled = threading.Event()
    time, done = Time(), list[RetryOutcome[AttemptFailure | None]]()
    pausing = threading.Event()

    def wait(seconds: float) -> bool:
        pausing.set()
        return cancelled.wait(seconds)

    retry = retries(time, RetryPolicy(1, timedelta(hours=1), timedelta(hours=1)), wait=wait)
    thread = threading.Thread(target=lambda: done.append(tried(retry, time, [DOWN, None])))
    thread.start()
    assert pausing.wait(10)
    cancelled.set()
    thread.join(10)
    assert not thread.is_alive()
    assert (done[0].cancelled, len(done[0].attempts), done[0].outcome) == (True, 1, DOWN)


@given(st.integers(0, 30), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 8)), max_size=8), CHANCES)
def test_a_run_never_spends_more_retries_than_it_has(most: int, models: list[tuple[int, int]], chance: float) -> None:
    """Of each model: how often it may be tried again, and how often it fails."""
    budget, spent = RetryBudget(most), 0
    for allowed, failing in models:
        time = Time()
        retry = retries(time, RetryPolicy(allowed), budget, lambda: chance)
        done = tried(retry, time, [DOWN] * failing + [None])
        assert len(done.attempts) - 1 <= allowed
        assert len(time.pauses) == len(done.attempts) - 1
        spent += len(time.pauses)
    assert spent + budget.left == most
    assert budget.left >= 0


def test_threads_share_a_budget_to_the_last_retry() -> None:
    budget, taken = RetryBudget(1000), [0] * 8
    begin = threading.Barrier(8)

    def spend(number: int) -> None:
        begin.wait()
        while budget.take():
            taken[number] += 1

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(taken), budget.left) == (1000, 0)
