"""A service that cannot be reached is left alone for a while."""

from __future__ import annotations

import threading

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from tidegate.errors import CircuitOpenError, FailureKind, RunCancelledError
from tidegate.runs.control.breaker import CircuitBreaker


class Time:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def call(breaker: CircuitBreaker, error: BaseException | None = None) -> None:
    try:
        with breaker.guarding():
            if error is not None:
                raise error
    except (ConnectionError, ValueError, KeyboardInterrupt, RunCancelledError):
        pass


def test_it_opens_after_failures_in_a_row_and_closes_after_a_probe_that_is_answered() -> None:
    time = Time()
    breaker = CircuitBreaker("crm", 3, 30, time)
    down = ConnectionRefusedError()
    call(breaker, down)
    call(breaker, down)
    call(breaker)
    call(breaker, down)
    call(breaker, down)
    assert breaker.state == "closed"
    call(breaker, down)
    assert breaker.state == "open"
    time.seconds = 10
    with pytest.raises(CircuitOpenError) as refused, breaker.guarding():
        raise AssertionError("the service must not be asked")
    assert (refused.value.retry_after, refused.value.kind) == (20, FailureKind.QUOTA_EXCEEDED)
    time.seconds = 30
    assert breaker.state == "half_open"
    call(breaker, down)
    assert breaker.state == "open"
    time.seconds = 60
    call(breaker)
    assert breaker.state == "closed"


def test_an_answer_that_is_a_failure_shows_that_the_service_is_there() -> None:
    breaker = CircuitBreaker("crm", 2, 30, Time())
    for _ in range(3):
        call(breaker, ConnectionRefusedError())
        call(breaker, ValueError("a wrong question"))
    assert breaker.state == "closed"


def test_a_failure_that_is_a_value_counts_as_an_exception_does() -> None:
    breaker = CircuitBreaker("crm", 1, 30, Time())
    with breaker.guarding() as asked:
        asked.failed(FailureKind.CONNECTION_FAILED)
    assert breaker.state == "open"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RunCancelledError("The run was cancelled")])
def test_a_probe_that_is_cancelled_leaves_the_place_to_another(error: BaseException) -> None:
    time = Time()
    breaker = CircuitBreaker("crm", 1, 30, time)
    call(breaker, ConnectionRefusedError())
    time.seconds = 30
    call(breaker, error)
    assert breaker.state == "half_open"
    call(breaker)
    assert breaker.state == "closed"


def test_only_one_of_many_threads_is_the_probe() -> None:
    time = Time()
    breaker = CircuitBreaker("crm", 1, 30, time)
    call(breaker, ConnectionRefusedError())
    time.seconds = 30
    begin, refused = threading.Barrier(8), threading.Barrier(8)
    fates: list[str] = []

    def ask() -> None:
        begin.wait(20)
        try:
            with breaker.guarding():
                refused.wait(20)
                fates.append("asked")
        except CircuitOpenError:
            refused.wait(20)
            fates.append("refused")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(fates) == ["asked"] + ["refused"] * 7
    assert breaker.state == "closed"


FATES = [None, FailureKind.CONNECTION_FAILED, FailureKind.CANCELLED, FailureKind.QUERY_REJECTED]


class BreakerMachine(RuleBasedStateMachine):
    """Calls begin and end in any order while time goes by; a small model says what the breaker must do."""

    calls = Bundle("calls")

    @initialize(most=st.integers(1, 4), pause=st.sampled_from([0, 1, 10]))
    def begin(self, most: int, pause: int) -> None:
        self.pause = pause
        self.time = Time()
        self.most = most
        self.breaker = CircuitBreaker("crm", most, pause, self.time)
        self.in_a_row = 0
        self.opened_at: float | None = None
        self.probe: object | None = None

    @property
    def may_ask(self) -> bool:
        return self.opened_at is None or (self.probe is None and self.time.seconds >= self.opened_at + self.pause)

    @rule(target=calls)
    def enter(self) -> object:
        guard = self.breaker.guarding()
        if not self.may_ask:
            with pytest.raises(CircuitOpenError) as refused:
                guard.__enter__()
            assert 0 <= refused.value.retry_after <= self.pause
            return None
        asked = guard.__enter__()
        begun = (guard, asked)
        if self.opened_at is not None:
            self.probe = begun
        return begun

    @rule(begun=consumes(calls), kind=st.sampled_from(FATES))
    def leave(self, begun: tuple[object, object] | None, kind: FailureKind | None) -> None:
        if begun is None:
            return
        guard, asked = begun
        if kind is not None:
            asked.failed(kind)  # type: ignore[attr-defined]
        guard.__exit__(None, None, None)  # type: ignore[attr-defined]
        is_probe, self.probe = begun is self.probe, None if begun is self.probe else self.probe
        if self.opened_at is not None and not is_probe:
            return
        if kind is FailureKind.CONNECTION_FAILED:
            self.in_a_row += 1
            if is_probe or self.in_a_row >= self.most:
                self.opened_at = self.time.seconds
        elif kind is not FailureKind.CANCELLED:
            self.in_a_row, self.opened_at = 0, None

    @rule(seconds=st.integers(0, 12))
    def time_goes_by(self, seconds: int) -> None:
        self.time.seconds += seconds

    @invariant()
    def state_is_what_it_must_be(self) -> None:
        if not hasattr(self, "breaker"):
            return
        if self.opened_at is None:
            assert self.breaker.state == "closed"
        elif self.probe is not None or self.time.seconds >= self.opened_at + self.pause:
            assert self.breaker.state == "half_open"
        else:
            assert self.breaker.state == "open"


TestBreakerMachine = BreakerMachine.TestCase
