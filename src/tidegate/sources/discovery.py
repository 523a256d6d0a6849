"""Discovery of the tables of sources, several at once. One that fails does not hide what the others have."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar, assert_never

from tidegate.config import (
    CatalogSource,
    DatabaseSource,
    FivetranSource,
    JdbcSource,
    ManualSource,
    RestSource,
    SourceSettings,
)
from tidegate.errors import SourceError
from tidegate.names import TableName
from tidegate.sources.discoverer import Discoverer, Ping, SourceTable
from tidegate.sources.source_errors import as_source_error, ping_source

__all__ = [
    "Discovery",
    "ManualDiscoverer",
    "StaleTables",
    "discover",
    "in_parallel",
    "mentioned",
    "open_source",
    "together",
]


def open_source(source: SourceSettings) -> Discoverer:
    """Sends no request. Each adapter is imported only where it is used."""
    match source:
        case ManualSource():
            return ManualDiscoverer(source)
        case CatalogSource():
            from tidegate.sources.catalog_source import CatalogDiscoverer, SqliteCatalog

            return CatalogDiscoverer(source, SqliteCatalog(source))
        case DatabaseSource():
            from tidegate.sources.database_source import DatabaseDiscoverer

            return DatabaseDiscoverer(source)
        case JdbcSource():
            from tidegate.sources.jdbc_source import JdbcDiscoverer

            return JdbcDiscoverer(source)
        case FivetranSource():
            from tidegate.sources.fivetran import FivetranDiscoverer

            return FivetranDiscoverer(source)
        case RestSource():
            from tidegate.sources.rest_discoverer import RestDiscoverer

            return RestDiscoverer(source)
        case _:
            assert_never(source)


class ManualDiscoverer:
    def __init__(self, source: ManualSource) -> None:
        self._source = source

    def discover(self) -> tuple[SourceTable, ...]:
        source = self._source
        return tuple(
            SourceTable(TableName(source.name, *table.split(".")), relation, source.name, source.kind)
            for table, relation in sorted(source.tables.items())
        )

    def ping(self) -> Ping:
        return ping_source(self._source, lambda: f"tables named in tidegate.toml: {len(self._source.tables)}")


T = TypeVar("T")

_MOST_THREADS = 8


@dataclass(frozen=True, slots=True)
class StaleTables:
    """A source could not be reached; its tables as found at `found_at` are used instead."""

    source: str
    found_at: datetime
    failure: SourceError

    @property
    def message(self) -> str:
        moment = f"{self.found_at:%Y-%m-%d %H:%M} UTC"
        return f"{self.failure.message}; its tables as found at {moment} are used"


@dataclass(frozen=True, slots=True)
class Discovery:
    """The tables of sources."""

    tables: tuple[SourceTable, ...] = ()
    """By name."""
    failures: tuple[SourceError, ...] = ()
    """Sources of which nothing is known."""
    warnings: tuple[StaleTables, ...] = ()
    queried: frozenset[str] = field(default=frozenset(), compare=False)
    """The sources that this is about."""
    cached: frozenset[str] = field(default=frozenset(), compare=False)
    """Those of them whose tables are from the cache."""

    def without(self, names: Collection[str]) -> Discovery:
        return Discovery(
            tables=tuple(table for table in self.tables if table.source not in names),
            failures=tuple(failure for failure in self.failures if failure.source not in names),
            warnings=tuple(warning for warning in self.warnings if warning.source not in names),
            queried=self.queried.difference(names),
            cached=self.cached.difference(names),
        )


def discover(source: SourceSettings) -> Discovery:
    try:
        return Discovery(tables=open_source(source).discover(), queried=frozenset({source.name}))
    except Exception as error:
        return Discovery(failures=(as_source_error(error, source),), queried=frozenset({source.name}))


def together(parts: Iterable[Discovery]) -> Discovery:
    parts = list(parts)
    return Discovery(
        tables=tuple(sorted((table for part in parts for table in part.tables), key=lambda table: table.table)),
        failures=tuple(failure for part in parts for failure in part.failures),
        warnings=tuple(warning for part in parts for warning in part.warnings),
        queried=frozenset(name for part in parts for name in part.queried),
        cached=frozenset(name for part in parts for name in part.cached),
    )


def in_parallel(query: Callable[[SourceSettings], T], sources: Iterable[SourceSettings]) -> tuple[T, ...]:
    """The results in the order of `sources`."""
    sources = list(sources)
    if len(sources) < 2:
        return tuple(map(query, sources))
    pool = ThreadPoolExecutor(min(len(sources), _MOST_THREADS), thread_name_prefix="sources")
    try:
        return tuple(pool.map(query, sources))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def mentioned(names: Collection[str], texts: Iterable[str]) -> frozenset[str]:
    """The names that occur before a dot. A source that no text mentions is not queried, so it may be down or
    slow. Comments count too: one request too many does no harm."""
    waiting = {name: (name.lower(), re.compile(rf"(?<!\w)`?{re.escape(name.lower())}`?\s*\.")) for name in names}
    for text in texts:
        if not waiting:
            break
        lowered = text.lower()
        # Most texts lack the word, and a search for it is much faster than the pattern.
        matches = [n for n, (word, pattern) in waiting.items() if word in lowered and pattern.search(lowered)]
        for name in matches:
            del waiting[name]
    return frozenset(names) - waiting.keys()
