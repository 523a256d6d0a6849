"""When a run gives up."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.errors import FailureKind
from tidegate.process_memory import memory_of
from tidegate.results import ModelResult
from tidegate.runs.control.limits import (
    Deadline,
    error_rate_exceeded,
    memory_exceeded,
    reason_to_stop,
    time_exceeded,
)

MOMENTS = st.floats(0, 1e6)
LIMITS = st.none() | st.timedeltas(timedelta(0), timedelta(days=2))


def result(model: str, status: str, kind: str | None = None) -> ModelResult:
    return ModelResult(model, status, "full_refresh", "full", "", failure_kind=kind, error=kind and "it broke")


@given(LIMITS, LIMITS, MOMENTS, MOMENTS)
def test_the_sooner_deadline_holds(one: timedelta | None, other: timedelta | None, start: float, now: float) -> None:
    first, second = Deadline.after(one, start), Deadline.after(other, start)
    both = first.or_sooner(second)
    assert both.passed(now) == (first.passed(now) or second.passed(now))
    assert both.or_sooner(Deadline()) == both
    left = [seconds for seconds in (first.left(now), second.left(now)) if seconds is not None]
    assert both.left(now) == (min(left) if left else None)
    assert (both.left(now) == 0) == both.passed(now)


def test_no_limit_never_passes() -> None:
    deadline = Deadline.after(None, 5)
    assert (deadline.left(1e12), deadline.passed(1e12), time_exceeded(deadline, 1e12)) == (None, False, None)


def test_a_run_that_takes_too_long_says_what_its_limit_is() -> None:
    deadline = Deadline.after(timedelta(minutes=90), 100)
    assert time_exceeded(deadline, 100 + 5399) is None
    error = time_exceeded(deadline, 100 + 5400)
    assert error is not None
    assert (str(error), error.kind) == ("the run took longer than 1h30m", FailureKind.TIMEOUT)
    assert str(deadline.model_error()) == "it took longer than 1h30m"
    assert deadline.model_error().kind is FailureKind.TIMEOUT


def test_memory_is_compared_with_its_limit() -> None:
    gib = 2**30
    assert memory_exceeded(None, gib) is None
    assert memory_exceeded(gib, None) is None
    assert memory_exceeded(gib, gib) is None
    error = memory_exceeded(3 * gib // 2, gib)
    assert error is not None
    assert str(error) == "the driver uses 1.5 GiB of memory, and 1.0 GiB are allowed"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say what a process uses")
def test_the_memory_of_processes_below_counts() -> None:
    alone = memory_of(os.getpid())
    assert alone is not None
    assert alone > 2**20
    holding = "import sys; held = bytearray(64 * 2**20); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        own, together = memory_of(child.pid), memory_of(os.getpid())
        child.communicate()
    assert own is not None
    assert together is not None
    assert own > 64 * 2**20
    assert together - alone > 60 * 2**20


def test_where_the_system_does_not_say_nothing_is_known(tmp_path: Path) -> None:
    assert memory_of(os.getpid(), proc=tmp_path) is None
    assert memory_of(os.getpid(), proc=tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("failed", "ended", "share", "least", "aborts"),
    [
        (0, 100, 0.1, 1, False),
        (1, 1, None, 1, False),
        (1, 1, 0.5, 5, False),
        (4, 4, 0.5, 5, False),
        (2, 5, 0.5, 5, False),
        (3, 6, 0.5, 5, True),
        (5, 5, 1.0, 5, True),
        (4, 5, 1.0, 5, False),
        (1, 5, 0.01, 5, True),
        (7, 100, 0.07, 5, True),
        (14, 25, 0.56, 5, True),
    ],
)
def test_too_many_failures_abort_once_enough_models_ended(
    failed: int, ended: int, share: float | None, least: int, aborts: bool
) -> None:
    assert (error_rate_exceeded(failed, ended, share, least) is not None) == aborts


def test_models_that_were_not_tried_do_not_count() -> None:
    results = [result("a", "completed"), result("b", "skipped"), result("c", "failed", "Transient")]
    blocked = [result(name, "blocked") for name in "defgh"]
    assert reason_to_stop([*results, *blocked], 0.5, 3) is None
    error = reason_to_stop([*results, *blocked, result("i", "failed", "Transient")], 0.5, 3)
    assert error is not None
    assert str(error) == "2 of 4 models failed, and error_rate_abort is 0.5"


def test_a_wrong_password_stops_the_run_at_once() -> None:
    error = reason_to_stop([result("a", "completed"), result("silver.b", "failed", "AuthFailed")])
    assert error is not None
    assert (str(error), error.kind) == ("silver.b: it broke", FailureKind.AUTH_FAILED)
    assert reason_to_stop([result("a", "failed", "QueryRejected")]) is None
