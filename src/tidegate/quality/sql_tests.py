"""SQL tests: a query over the branch that returns the rows which break a rule."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tidegate.project.model import QualityTest, Severity
from tidegate.spark.failures import read_failure
from tidegate.spark.session import interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SAMPLES", "TestOutcome", "plain", "run_sql_test"]

SAMPLES = 5
_COUNTED_AT_ONCE = 1000
_INTERRUPTS = 50


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """`status`: passed, failed, warned or error; `value` the number of rows that break the rule."""

    __test__ = False

    status: str
    value: int | None
    duration_ms: int
    samples: tuple[Mapping[str, Any], ...] = ()
    error: str | None = None


def run_sql_test(
    test: QualityTest, sql: str, session: SparkSession, timeout: timedelta, cancelled: Callable[[], bool]
) -> TestOutcome:
    """Run one test on a session of its own. What cannot be run, or not in time, is `error`."""
    started = time.monotonic()
    found: list[tuple[int, tuple[Mapping[str, Any], ...]]] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(_breaking_rows(session, sql))
        except BaseException as error:
            failed.append(error)

    limit = test.timeout or timeout
    thread = threading.Thread(target=work, name=f"test-{test.name}", daemon=True)
    thread.start()
    thread.join(limit.total_seconds())
    late = thread.is_alive()
    for _ in range(_INTERRUPTS):  # what Spark is still planning cannot be interrupted, and is left behind
        if not thread.is_alive():
            break
        interrupt(session)
        thread.join(0.1)
    duration = round((time.monotonic() - started) * 1000)
    if late:
        return TestOutcome("error", None, duration, error=f"not done after {limit.total_seconds():g}s")
    if failed:
        reason = "cancelled" if cancelled() else read_failure(failed[0]).message
        return TestOutcome("error", None, duration, error=reason)
    value, samples = found[0]
    status = "passed" if value == 0 else "failed" if test.severity is Severity.ERROR else "warned"
    return TestOutcome(status, value, duration, samples)


def _breaking_rows(session: SparkSession, sql: str) -> tuple[int, tuple[Mapping[str, Any], ...]]:
    """One job where few rows break the rule, as is usual; a second one counts them where there are many."""
    frame = session.sql(sql)
    rows = frame.limit(_COUNTED_AT_ONCE + 1).collect()
    value = len(rows) if len(rows) <= _COUNTED_AT_ONCE else frame.count()
    return value, tuple(plain(row.asDict(recursive=True)) for row in rows[:SAMPLES])


def plain(value: Any) -> Any:
    """The value as JSON can hold it."""
    if hasattr(value, "asDict"):
        value = value.asDict(recursive=True)
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
