"""Each service has a pace and a circuit breaker of its own."""

from __future__ import annotations

import sys
import threading
from datetime import timedelta

import pytest

from tidegate.config import RunSection
from tidegate.errors import CircuitOpenError, FailureKind
from tidegate.runs.pacing import Level
from tidegate.runs.services import Services

SETTINGS = RunSection(max_concurrency=3, cooldown_seconds=0, breaker_failures=2, breaker_pause=timedelta(minutes=1))


def test_services_do_not_slow_each_other_down() -> None:
    heard: list[Level] = []
    services = Services(SETTINGS, told=heard.append)
    for _ in range(4):
        with services.asking("crm"):
            pass
    with services.asking("shop") as asked:
        asked.failed(FailureKind.QUOTA_EXCEEDED)
    assert (services.pace("crm").level, services.pace("shop").level) == (3, 1)
    assert heard == [Level("crm", 2, 3), Level("crm", 3, 3)]


def test_one_that_is_down_is_not_asked_and_others_are() -> None:
    services = Services(SETTINGS)
    for _ in range(2):
        with pytest.raises(ConnectionRefusedError), services.asking("crm"):
            raise ConnectionRefusedError
    with pytest.raises(CircuitOpenError, match="crm"), services.asking("crm"):
        raise AssertionError("the service must not be asked")
    with services.asking("shop"):
        pass
    assert (services.breaker("crm").state, services.breaker("shop").state) == ("open", "closed")


def test_who_asks_several_does_not_wait_for_one_who_asks_the_same_in_another_order() -> None:
    services = Services(RunSection(max_concurrency=1))
    rounds = 200

    def ask(*names: str) -> None:
        for _ in range(rounds):
            with services.asking(*names):
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
    with Services(SETTINGS).asking() as asked:
        asked.failed(FailureKind.QUOTA_EXCEEDED)
