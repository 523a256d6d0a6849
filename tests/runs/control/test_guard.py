"""What a run is held to, in one place."""

from __future__ import annotations

from datetime import timedelta

from tests.projects import FakeClock
from tidegate.config import RunSection
from tidegate.errors import FailureKind, TidegateError
from tidegate.project.model import ModelSettings
from tidegate.results import ModelResult
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.guard import Guard
from tidegate.runs.control.limits import Deadline
from tidegate.runs.control.retries import AttemptFailure


def test_the_time_of_a_run_counts_from_its_beginning() -> None:
    clock, halted = FakeClock(), list[TidegateError]()
    began = clock.monotonic()
    clock.moment += timedelta(seconds=61)  # for what comes before the first model: sources, the compiler, Spark
    settings = RunSection(timeout=timedelta(minutes=1))
    Guard(settings, clock, Cancellation(), halted.append, lambda *event: None, began).enforce()
    assert [str(error) for error in halted] == ["the run took longer than 1m"]


def test_a_wrong_password_keeps_others_from_being_tried_again() -> None:
    guard = Guard(RunSection(), FakeClock(), Cancellation(), lambda error: None, lambda *event: None)
    failed = AttemptFailure(FailureKind.TRANSIENT, "later")
    retries = guard.retries(ModelSettings(max_retries=3, retry_delay_seconds=0), Deadline())
    tries: list[int] = []

    def work(number: int) -> AttemptFailure:
        tries.append(number)
        if number == 2:
            refused = ModelResult("silver.b", "failed", "full_refresh", "full", "", failure_kind="AuthFailed")
            guard.add_result(refused)
        return failed

    assert retries.until_done(work, lambda outcome: outcome).outcome == failed
    assert tries == [1, 2]
