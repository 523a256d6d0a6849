"""Trying a write again that failed for a reason which may pass: a conflict, a connection, a busy service."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tidegate.config import ChunksSection
from tidegate.errors import FailureKind

__all__ = ["WriteRetries", "write_retries"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WriteRetries:
    """Pauses in seconds: each is `backoff` times the one before, at most `longest`, and chance adds up to `jitter`."""

    most: int
    first: float
    backoff: float
    longest: float
    jitter: float
    sleep: Callable[[float], None] = time.sleep

    def call(self, write: Callable[[], T], notify: Callable[[str], None] = lambda line: None) -> T:
        from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
        from tenacity.wait import wait_exponential, wait_random

        from tidegate.spark.spark_errors import read_failure

        def announce(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome is not None else None
            message = read_failure(error).message if error is not None else "it failed"
            pause = state.next_action.sleep if state.next_action is not None else 0
            notify(f"{message}; retry {state.attempt_number} of {self.most} in {pause:.0f} s")

        return Retrying(
            stop=stop_after_attempt(self.most + 1),
            wait=wait_exponential(multiplier=self.first, exp_base=self.backoff, max=self.longest)
            + wait_random(0, self.jitter),
            retry=retry_if_exception(lambda error: _may_pass(read_failure(error).kind)),
            sleep=self.sleep,
            before_sleep=announce,
            reraise=True,
        )(write)


def write_retries(section: ChunksSection, sleep: Callable[[float], None] = time.sleep) -> WriteRetries:
    return WriteRetries(
        most=section.delta_client_write_retries,
        first=section.delta_client_write_retry_delay,
        backoff=section.delta_client_write_retry_backoff,
        longest=section.delta_client_write_retry_max_delay,
        jitter=section.delta_client_write_retry_jitter,
        sleep=sleep,
    )


def _may_pass(kind: FailureKind) -> bool:
    return kind.is_transient or kind is FailureKind.CONFLICT
