"""What is said on the way to an answer."""

from __future__ import annotations

import io
import sys

import pytest

from tidegate.cli.invocation import note
from tidegate.spark.starting import NOT_STARTED, STARTED, STARTING


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def noted(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *lines: str) -> str:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    for line in lines:
        note(line)
    return stream.getvalue()


def test_that_spark_starts_is_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(monkeypatch, io.StringIO(), STARTING, "Fetching a jar", STARTED) == "Starting Spark\nFetching a jar\n"


@pytest.mark.parametrize("end", [STARTED, NOT_STARTED])
def test_that_spark_starts_leaves_nothing_on_a_terminal(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    assert noted(monkeypatch, Terminal(), STARTING, end) == "Starting Spark …\r\x1b[K"


def test_another_line_takes_the_place_of_the_live_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noted(monkeypatch, Terminal(), STARTING, "Fetching a jar") == "Starting Spark …\r\x1b[KFetching a jar\n"
