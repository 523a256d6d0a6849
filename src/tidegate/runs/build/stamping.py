"""What the commits of one build say of it in their summaries: the model's SQL, its columns, how long it took so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from blake3 import blake3

from tidegate.runs.clock import Clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BuildStamp", "column_list"]

_PROPERTY = "spark.sql.iceberg.snapshot-property.tidegate."
_LONGEST_LIST = 1000
"""Characters. Every metadata file of the table repeats the summaries of all its snapshots."""


class BuildStamp:
    """Set on the model's own session. To call it is to say that a statement which commits is about to begin."""

    def __init__(self, session: SparkSession, source: str, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._began = clock.monotonic()
        session.conf.set(f"{_PROPERTY}sql-hash", blake3(source.encode()).hexdigest(length=16))

    def describe(self, columns: Iterable[str]) -> None:
        self._session.conf.set(f"{_PROPERTY}columns", column_list(list(columns)))

    def __call__(self) -> None:
        spent = round((self._clock.monotonic() - self._began) * 1000)
        self._session.conf.set(f"{_PROPERTY}build-ms", str(spent))


def column_list(names: list[str]) -> str:
    """The names, or as many of them as fit and how many there are."""
    whole = ", ".join(names)
    if len(whole) <= _LONGEST_LIST:
        return whole
    return f"{whole[:_LONGEST_LIST].rpartition(', ')[0]}, … ({len(names)} columns)"
