"""The tables of sources as last discovered, cached in `.tidegate/cache/sources/`: compiling needs no network."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from blake3 import blake3

from tidegate.config import FivetranSource, JdbcSource, ManualSource, Secret, Settings, SourceSettings
from tidegate.datatypes import Column, Relation, from_json, to_json
from tidegate.jsontext import json_text
from tidegate.names import TableName
from tidegate.sources.discoverer import SourceTable
from tidegate.sources.discovery import Discovery, StaleTables, discover, in_parallel, together
from tidegate.storage.atomic_files import write_atomically

__all__ = ["cache_file", "known_tables"]

_VERSION = 1
_NOT_ABOUT_TABLES = frozenset({"timeout", "discover_ttl"})
_RETRY_AFTER = timedelta(seconds=30)
"""A source that failed is not queried again for so long: compiling at every save would wait each time."""


@dataclass(frozen=True, slots=True)
class _Failed:
    source: SourceSettings
    at: datetime
    discovery: Discovery


_failed: dict[Path, _Failed] = {}


def known_tables(
    settings: Settings,
    refresh: bool = False,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    names: Collection[str] | None = None,
) -> Discovery:
    """Queries every source that was not queried within its `discover_ttl`; with `refresh` all of them.

    `names`: only these sources; None: all.
    """

    def from_cache_or_source(source: SourceSettings) -> Discovery:
        if isinstance(source, ManualSource | JdbcSource):
            return discover(source)
        file, now = cache_file(settings, source.name), clock()
        if refresh:
            return _query(source, file, now)
        failed, cached = _failed.get(file), _read(file, source)
        if failed is not None and failed.source == source and _is_young(failed.at, now, _RETRY_AFTER):
            return failed.discovery
        if cached is not None and _is_young(cached[0], now, source.discover_ttl):
            name = frozenset({source.name})
            return Discovery(tables=cached[1], queried=name, cached=name)
        return _query(source, file, now)

    sources = settings.sources.values() if names is None else [settings.sources[name] for name in sorted(names)]
    return together(in_parallel(from_cache_or_source, sources))


def _is_young(moment: datetime, now: datetime, age: timedelta) -> bool:
    """False for a time in the future, which is not to be trusted."""
    return timedelta() <= now - moment < age


def _query(source: SourceSettings, file: Path, now: datetime) -> Discovery:
    """The tables of the source, or, where it cannot be reached, those in the cache."""
    discovery = discover(source)
    if not discovery.failures:
        _failed.pop(file, None)
        _write(file, source, now, discovery.tables)
        return discovery
    if (cached := _read(file, source)) is not None:
        found_at, tables = cached
        warning = StaleTables(source.name, found_at, discovery.failures[0])
        discovery = replace(discovery, tables=tables, failures=(), warnings=(warning,))
    _failed[file] = _Failed(source, now, discovery)
    return discovery


def cache_file(settings: Settings, source: str) -> Path:
    return settings.root / ".tidegate" / "cache" / "sources" / f"{source}.json"


def _digest(source: SourceSettings) -> str:
    """Of the settings that decide which tables exist: another address or account is another source.

    No secret is written to a file: only a hash of the account's key is used, and that is hashed again.
    """
    values = {
        field.name: value
        for field in fields(source)
        if not isinstance(value := getattr(source, field.name), Secret) and field.name not in _NOT_ABOUT_TABLES
    }
    if isinstance(source, FivetranSource):
        values["api_key"] = blake3(source.api_key.reveal().encode()).hexdigest()
    return blake3(json_text({"kind": source.kind, **values}).encode()).hexdigest(length=16)


def _write(file: Path, source: SourceSettings, now: datetime, tables: tuple[SourceTable, ...]) -> None:
    document = {
        "version": _VERSION,
        "source": _digest(source),
        "found_at": now.isoformat(),
        "tables": [_table_document(table) for table in tables],
    }
    # A read-only project can still be compiled; it queries the source again the next time.
    with contextlib.suppress(OSError):
        write_atomically(file, json_text(document).encode())


def _read(file: Path, source: SourceSettings) -> tuple[datetime, tuple[SourceTable, ...]] | None:
    """None where there is no usable cache."""
    try:
        document = json.loads(file.read_bytes())
        if document["version"] != _VERSION or document["source"] != _digest(source):
            return None
        tables = tuple(_table(table, source) for table in document["tables"])
        return datetime.fromisoformat(document["found_at"]).astimezone(UTC), tables
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _table_document(table: SourceTable) -> dict[str, Any]:
    return {
        "schema": table.table.layer,
        "name": table.table.name,
        "complete": table.relation.complete,
        "columns": [[column.name, to_json(column.type), column.nullable] for column in table.relation.columns],
        "problem": table.problem,
    }


def _table(document: Mapping[str, Any], source: SourceSettings) -> SourceTable:
    columns = tuple(Column(name, from_json(kind), nullable) for name, kind, nullable in document["columns"])
    return SourceTable(
        table=TableName(source.name, document["schema"], document["name"]),
        relation=Relation(columns, document["complete"]),
        source=source.name,
        kind=source.kind,
        problem=document["problem"],
    )
