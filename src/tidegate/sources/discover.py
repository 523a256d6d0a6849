"""Ask all sources of a project, side by side. One that fails does not hide what the others have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from tidegate.config import Settings, SourceSettings
from tidegate.errors import SourceError
from tidegate.sources.failures import as_failure
from tidegate.sources.open import open_source
from tidegate.sources.port import SourceTable

__all__ = ["Discovery", "StaleTables", "discover", "discover_all", "side_by_side", "together"]

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
    """What the sources have, by name of the table; `failures`: the sources of which nothing is known."""

    tables: tuple[SourceTable, ...] = ()
    failures: tuple[SourceError, ...] = ()
    warnings: tuple[StaleTables, ...] = ()


def discover_all(settings: Settings) -> Discovery:
    return together(side_by_side(discover, settings.sources.values()))


def discover(source: SourceSettings) -> Discovery:
    try:
        return Discovery(tables=open_source(source).discover())
    except Exception as error:
        return Discovery(failures=(as_failure(error, source),))


def together(parts: Iterable[Discovery]) -> Discovery:
    parts = list(parts)
    return Discovery(
        tables=tuple(sorted((table for part in parts for table in part.tables), key=lambda found: found.table)),
        failures=tuple(failure for part in parts for failure in part.failures),
        warnings=tuple(warning for part in parts for warning in part.warnings),
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
