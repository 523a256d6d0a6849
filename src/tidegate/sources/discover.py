"""Ask sources side by side. One that fails does not hide what the others have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from tidegate.config import SourceSettings
from tidegate.errors import SourceError
from tidegate.sources.failures import as_failure
from tidegate.sources.open import open_source
from tidegate.sources.port import SourceTable

__all__ = ["Discovery", "StaleTables", "discover", "side_by_side", "together"]

T = TypeVar("T")

_MOST_THREADS = 8


@dataclass(frozen=True, slots=True)
class StaleTables:
    """A source could not be asked; what it had at `found_at` is used instead."""

    source: str
    found_at: datetime
    failure: SourceError

    @property
    def message(self) -> str:
        moment = f"{self.found_at:%Y-%m-%d %H:%M} UTC"
        return f"{self.failure.message}; its tables as found at {moment} are used"


@dataclass(frozen=True, slots=True)
class Discovery:
    """What the sources have, by name of the table; `failures`: the sources of which nothing is known.

    `asked`: the sources that this is about. `remembered`: those of them that were not asked just now.
    """

    tables: tuple[SourceTable, ...] = ()
    failures: tuple[SourceError, ...] = ()
    warnings: tuple[StaleTables, ...] = ()
    asked: frozenset[str] = field(default=frozenset(), compare=False)
    remembered: frozenset[str] = field(default=frozenset(), compare=False)

    def without(self, names: Collection[str]) -> Discovery:
        return Discovery(
            tables=tuple(table for table in self.tables if table.source not in names),
            failures=tuple(failure for failure in self.failures if failure.source not in names),
            warnings=tuple(warning for warning in self.warnings if warning.source not in names),
            asked=self.asked.difference(names),
            remembered=self.remembered.difference(names),
        )


def discover(source: SourceSettings) -> Discovery:
    try:
        return Discovery(tables=open_source(source).discover(), asked=frozenset({source.name}))
    except Exception as error:
        return Discovery(failures=(as_failure(error, source),), asked=frozenset({source.name}))


def together(parts: Iterable[Discovery]) -> Discovery:
    parts = list(parts)
    return Discovery(
        tables=tuple(sorted((table for part in parts for table in part.tables), key=lambda found: found.table)),
        failures=tuple(failure for part in parts for failure in part.failures),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        asked=frozenset(name for part in parts for name in part.asked),
        remembered=frozenset(name for part in parts for name in part.remembered),
    )


def side_by_side(ask: Callable[[SourceSettings], T], sources: Iterable[SourceSettings]) -> tuple[T, ...]:
    """The answers in the order of `sources`."""
    sources = list(sources)
    if len(sources) < 2:
        return tuple(map(ask, sources))
    pool = ThreadPoolExecutor(min(len(sources), _MOST_THREADS), thread_name_prefix="sources")
    try:
        return tuple(pool.map(ask, sources))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
