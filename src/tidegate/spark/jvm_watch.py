"""Ends a JVM that can do no more work, so that a run starts another instead of waiting for ever.

A JVM that is out of memory seldom ends: it collects garbage for minutes, does not answer, or loses a thread of Spark's
and then never finishes a job. A task that was cancelled may compute on, with its memory and its core.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tidegate.spark.jvm import Jvm
from tidegate.spark.leased_jvm import LeasedJvm

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["JvmHealth", "JvmProbe", "SparkProbe", "start_watching", "watch_jvm"]

_PAUSE_SECONDS = 10.0
_ANSWER_SECONDS = 30.0
_SILENCES = 4
"""One may come from a process that was stopped and continued."""
_LOSSES = 2
"""One may come from a context that is being stopped."""
_MOST_CANCELLED = 12
"""A cancelled task may compute for two minutes more. A thread that waits for another task has the name of its last
one, for a minute at most."""

_SPARK_THREADS = (
    "Spark Context Cleaner",
    "dag-scheduler-event-loop",
    "driver-heartbeater",
    "heartbeat-receiver-event-loop-thread",
    "spark-listener-group-appStatus",
)
"""They live as long as the context, and nothing replaces them."""

_THREAD = re.compile(r"Thread\[(?:#\d+,)?(.*?),\d+,[^]]*\]")
_TASK_THREAD = re.compile(r"Executor task launch worker for task \S+ in stage (\d+)\.\d+ \(TID (\d+)\)")


@dataclass(frozen=True, slots=True)
class JvmProbe:
    """What a JVM answered: the names of its threads, and the stages that run."""

    threads: frozenset[str]
    stages: frozenset[int]

    @property
    def cancelled_tasks(self) -> frozenset[int]:
        """Tasks that compute although their stage has ended."""
        tasks = (_TASK_THREAD.fullmatch(name) for name in self.threads)
        return frozenset(int(task[2]) for task in tasks if task and int(task[1]) not in self.stages)


@dataclass(slots=True)
class JvmHealth:
    """What the probes of one JVM, one after the other, say about it."""

    essential: frozenset[str] | None = None
    silences: int = 0
    losses: int = 0
    cancelled: dict[int, int] = field(default_factory=dict)
    """For how many probes each cancelled task has computed on."""

    def reason_to_end(self, probe: JvmProbe | None) -> str | None:
        """`probe`: None where it did not answer."""
        if probe is None:
            self.silences += 1
            return "it did not answer, as for want of memory" if self.silences >= _SILENCES else None
        self.silences = 0
        if self.essential is None:
            self.essential = probe.threads.intersection(_SPARK_THREADS)
        lost = sorted(self.essential - probe.threads)
        self.losses = self.losses + 1 if lost else 0
        if self.losses >= _LOSSES:
            return f"it lost its thread {lost[0]}, as for want of memory"
        self.cancelled = {task: self.cancelled.get(task, 0) + 1 for task in probe.cancelled_tasks}
        if any(count > _MOST_CANCELLED for count in self.cancelled.values()):
            return "a task that was cancelled did not end"
        return None


class SparkProbe:
    """Asks a JVM over a new connection each time, which a damaged one fails at first."""

    def __init__(self, jvm: Jvm | LeasedJvm, context: SparkContext) -> None:
        self._jvm = jvm
        self._context = context

    def __call__(self) -> JvmProbe | None:
        return _within(_ANSWER_SECONDS, self._ask) if self._jvm.answers(_ANSWER_SECONDS) else None

    def _ask(self) -> JvmProbe:
        threads = self._context._jvm.java.lang.Thread.getAllStackTraces().keySet().toString()
        return JvmProbe(
            frozenset(_THREAD.findall(threads)), frozenset(self._context.statusTracker().getActiveStageIds())
        )

    @property
    def needed(self) -> bool:
        """Until the context is stopped, or the JVM has ended."""
        return self._jvm.alive and self._context._jsc is not None


def watch_jvm(jvm: Jvm | LeasedJvm, probe: SparkProbe, pause: Callable[[float], object] = time.sleep) -> None:
    health = JvmHealth()
    while probe.needed:
        pause(_PAUSE_SECONDS)
        reason = health.reason_to_end(probe()) if probe.needed else None
        if reason is not None and probe.needed:
            jvm.end(reason)


def start_watching(jvm: Jvm | LeasedJvm, context: SparkContext) -> None:
    probe = SparkProbe(jvm, context)
    threading.Thread(target=watch_jvm, args=(jvm, probe), name="watch-jvm", daemon=True).start()


def _within(seconds: float, ask: Callable[[], JvmProbe]) -> JvmProbe | None:
    """In a thread of its own, which is abandoned where there is no answer: Py4J waits for ever."""
    answers: list[JvmProbe] = []

    def record() -> None:
        with contextlib.suppress(Exception):  # the JVM has ended, or its context
            answers.append(ask())

    thread = threading.Thread(target=record, name="ask-jvm", daemon=True)
    thread.start()
    thread.join(seconds)
    return answers[0] if answers else None
