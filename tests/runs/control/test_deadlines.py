"""What takes too long is ended, and says so."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from tidegate.errors import ModelTimeoutError, QueryError, RunCancelledError
from tidegate.runs.control.limits import Deadline, Overdue


class Time:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Session:
    """Stands for a session: remembers that its jobs were ended."""

    def __init__(self) -> None:
        self.ended = threading.Event()


def sessions(count: int) -> list[Any]:
    return [Session() for _ in range(count)]


def end(session: Any) -> None:
    session.ended.set()


MINUTE = Deadline.after(timedelta(minutes=1), 0)


def test_only_what_is_late_is_ended() -> None:
    time = Time()
    overdue = Overdue(time, end)
    late, early, free = sessions(3)
    hour = Deadline.after(timedelta(hours=1), 0)
    with (
        overdue.limiting(late, MINUTE),
        overdue.limiting(early, hour),
        overdue.limiting(free, Deadline()),
    ):
        overdue.end_late()
        time.seconds = 61
        overdue.end_late()
        assert late.ended.wait(10)
    assert not early.ended.is_set()
    assert not free.ended.is_set()


def test_what_has_ended_is_left_alone() -> None:
    time = Time()
    overdue = Overdue(time, end)
    [session] = sessions(1)
    with overdue.limiting(session, MINUTE):
        pass
    time.seconds = 61
    overdue.end_late()
    assert not session.ended.wait(0.05)


def failing(seconds: float, error: Exception) -> None:
    """Fail so long after the start of work that may take a minute."""
    time = Time()
    [session] = sessions(1)
    with Overdue(time, end).limiting(session, MINUTE):
        time.seconds = seconds
        raise error


def test_what_fails_after_its_time_was_too_slow() -> None:
    with pytest.raises(ModelTimeoutError, match="it took longer than 1m"):
        failing(61, QueryError("the job was cancelled"))


def test_what_fails_in_time_says_why() -> None:
    with pytest.raises(QueryError, match="no such column"):
        failing(59, QueryError("no such column"))


def test_a_cancelled_run_is_not_called_slow() -> None:
    with pytest.raises(RunCancelledError):
        failing(61, RunCancelledError("The run was cancelled"))
