"""Each service has a pace and a circuit breaker of its own."""

from __future__ import annotations

import itertools
import sys
import threading
from dataclasses import replace
from datetime import timedelta

import pytest

from tidegate.config import RunSection
from tidegate.errors import CircuitOpenError, FailureKind, ModelTimeoutError
from tidegate.runs.control.limits import Deadline
from tidegate.runs.control.services import ConcurrencyLevel, Services

SETTINGS = RunSection(max_concurrency=3, cooldown_seconds=0, breaker_failures=2, breaker_pause=timedelta(minutes=1))


def test_services_do_not_slow_each_other_down() -> None:
    heard: list[ConcurrencyLevel] = []
    services = Services(SETTINGS, on_level=heard.append)
    for _ in range(4):
        with services.calling("crm"):
            pass
    with services.calling("shop") as asked:
        asked.failed(FailureKind.QUOTA_EXCEEDED)
    assert (services.throttle("crm").level, services.throttle("shop").level) == (3, 1)
    assert heard == [ConcurrencyLevel("crm", 2, 3), ConcurrencyLevel("crm", 3, 3)]


def test_one_that_is_down_is_not_asked_and_others_are() -> None:
    services = Services(SETTINGS)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError), services.calling("crm"):
            raise ConnectionRefusedError
    with pytest.raises(CircuitOpenError, match="crm"), services.calling("crm"):
        raise AssertionError("the service must not be asked")
    with services.calling("shop"):
        pass
    assert (services.breaker("crm").state, services.breaker("shop").state) == ("open", "closed")


def test_one_that_is_down_says_nothing_about_those_that_would_have_been_asked_with_it() -> None:
    services = Services(replace(SETTINGS, cooldown_seconds=60))
    for _ in range(2):
        with services.calling("a"):
            pass
    with pytest.raises(ConnectionRefusedError), services.calling("a"):
        raise ConnectionRefusedError
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError), services.calling("b"):
            raise ConnectionRefusedError
    with pytest.raises(CircuitOpenError, match="b could not"), services.calling("a", "b"):
        raise AssertionError("the service must not be asked")
    assert (services.throttle("a").level, services.throttle("a").pause) == (3, 0)
    assert services.throttle("b").pause > 0
    with pytest.raises(ConnectionRefusedError), services.calling("a"):
        raise ConnectionRefusedError
    assert services.breaker("a").state == "open"  # by two failures in a row, between which it was not asked


def test_a_service_that_rests_is_not_waited_for_longer_than_the_model_may_take() -> None:
    seconds = itertools.count()
    services = Services(replace(SETTINGS, cooldown_seconds=3600), monotonic=lambda: float(next(seconds)))
    with services.calling("crm") as asked:
        asked.failed(FailureKind.QUOTA_EXCEEDED)
    late = Deadline(next(seconds) + 5.0, timedelta(minutes=1))
    with pytest.raises(ModelTimeoutError, match="it took longer than 1m"), services.calling("crm", deadline=late):
        raise AssertionError("the service must not be asked")
    assert services.throttle("crm").running == 0


def test_who_asks_several_does_not_wait_for_one_who_asks_the_same_in_another_order() -> None:
    services = Services(RunSection(max_concurrency=1))
    rounds = 200

    def ask(*names: str) -> None:
        for _ in range(rounds):
            with services.calling(*names):
                pass

    threads = [threading.Thread(target=ask, args=names, daemon=True) for names in (("a", "b"), ("b", "a"), ("b",))]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    finally:
        sys.setswitchinterval(usual)
    assert not any(thread.is_alive() for thread in threads)


def test_nothing_is_asked_where_there_is_no_service() -> None:
    with Services(SETTINGS).calling() as asked:
        asked.failed(FailureKind.QUOTA_EXCEEDED)
