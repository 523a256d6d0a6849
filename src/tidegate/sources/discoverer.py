"""The port to a source: which tables it has, and whether it answers. Metadata only; no row moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from tidegate.datatypes import Relation
from tidegate.errors import TidegateError
from tidegate.names import TableName

__all__ = ["PING_SECONDS", "Discoverer", "Ping", "SourceTable", "measure", "timeout_remedy"]

PING_SECONDS = 10.0
"""The longest time of a ping, whatever `timeout` is."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that models may read as `<source>.<schema>.<table>`."""

    table: TableName
    relation: Relation
    source: str
    kind: str
    problem: str | None = None
    """Why its columns could not be read."""


@dataclass(frozen=True, slots=True)
class Ping:
    """Whether something that a run needs can be reached."""

    name: str
    """`lake`, `state`, `source NAME` or `chunks`"""
    kind: str
    detail: str
    """What answered, or why it failed."""
    duration_ms: int = 0
    failure: TidegateError | None = None
    """None: it answered."""

    @property
    def ok(self) -> bool:
        return self.failure is None


class Discoverer(Protocol):
    """Adapters are named by technology."""

    def discover(self) -> tuple[SourceTable, ...]:
        """All tables that can be read. Raises SourceError, or what went wrong below."""
        ...

    def ping(self) -> Ping:
        """Raises nothing."""
        ...


def timeout_remedy(seconds: float, timeout: timedelta) -> str:
    """The remedy for a source that did not answer within so many seconds."""
    if seconds < timeout.total_seconds():
        return f"try again later; a ping waits {seconds:g} s and no longer"
    return "try again later, or raise 'timeout' of the source"


def measure(name: str, kind: str, answer: Callable[[], str], failed: Callable[[Exception], TidegateError]) -> Ping:
    """`answer` returns the detail; `failed` translates its exception."""
    start = time.monotonic()
    failure = None
    try:
        detail = answer()
    except Exception as error:
        failure = failed(error)
        detail = failure.message
    return Ping(name, kind, detail, round((time.monotonic() - start) * 1000), failure)
