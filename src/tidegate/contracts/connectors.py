"""The kinds of sources that a contract can name as its `connector`, and what each asks of the contract.

A package adds one by an entry point of the group `tidegate.connectors`: its name is that of the connector, its object a
class with a `declaration`, which is a `Connector` of the same name, and the methods of `ingest.port.SourceConnector`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from tidegate.contracts.issues import Issue
    from tidegate.contracts.stage_contract import StageContract

__all__ = ["CONNECTORS", "ENTRY_POINTS", "READ_STRATEGIES", "Connector", "own_connector_class", "source_kinds"]

READ_STRATEGIES = ("full_snapshot", "incremental")
ENTRY_POINTS = "tidegate.connectors"


@dataclass(frozen=True, slots=True)
class Connector:
    name: str
    needs: tuple[str, ...] = ()
    """Custom properties that a contract with it must have, besides those that every ingestion needs."""
    reads_sql: bool = False
    """It reads a table by queries: extraction mode, filtering and ordering columns have a meaning."""
    reads_log: bool = False
    """It reads a log of changes, which tells inserts, updates and deletes apart. It is never a full snapshot."""
    reads_source: bool = True
    """False: others put files into the landing zone; nothing is read, and there is no boundary to record."""

    # What follows does not change what is read, so it is no part of the contract's digest.
    source_kind: str = field(default="", repr=False, compare=False)
    """The `kind` of the `[sources.NAME]` with its connection; empty: any, or none."""

    issues: Callable[[StageContract], Iterator[Issue]] | None = field(default=None, repr=False, compare=False)
    """What is wrong with the settings of its own in a contract. A function of a module: it is pickled by its name."""

    first_format: str = field(default="csv", repr=False, compare=False)
    """The landing format of a contract that is scaffolded for it."""

    first_read: str = field(default="incremental", repr=False, compare=False)
    """The read strategy of such a contract."""

    first_endpoint: str = field(default="", repr=False, compare=False)
    """An example of its `endpoint`, with `{table}` in it."""


def _rest_issues(contract: StageContract) -> Iterator[Issue]:
    # Imported here: it needs what contracts are read with, and that needs this module.
    from tidegate.contracts.rest_pagination import rest_issues

    return rest_issues(contract)


def _table_of(name: str, source_kind: str) -> Connector:
    """One that reads a table of a database by queries."""
    return Connector(
        name,
        needs=("sql_extraction_mode",),
        reads_sql=True,
        source_kind=source_kind,
        first_format="parquet",
        first_read="full_snapshot",
    )


_BUILT_IN = {
    connector.name: connector
    for connector in (
        Connector(
            "rest",
            needs=("endpoint", "content_path", "json_multiline"),
            source_kind="rest",
            issues=_rest_issues,
            first_format="json",
            first_read="full_snapshot",
            first_endpoint="https://api.example.com/{table}",
        ),
        _table_of("sqlserver", "sqlserver"),
        Connector("sqlserver_cdc", reads_log=True, source_kind="sqlserver", first_format="parquet"),
        _table_of("postgres", "database"),
        _table_of("jdbc", "jdbc"),
        Connector("landing_push", reads_source=False),
        Connector("files", needs=("endpoint",), first_endpoint="/data/{table}/*.csv"),
    )
}


_DATABASES = ("database", "jdbc", "sqlserver")


def source_kinds(connector: Connector) -> tuple[str, ...]:
    """The kinds of `[sources.NAME]` that it reads; none: any, or it needs no such section."""
    if connector.source_kind in _DATABASES:
        return _DATABASES
    return (connector.source_kind,) if connector.source_kind else ()


class _Connectors(Mapping[str, Connector]):
    """The built-in ones, then those of installed packages, which are looked for only when they are needed."""

    def __getitem__(self, name: str) -> Connector:
        if name in _BUILT_IN:
            return _BUILT_IN[name]
        if name not in _installed():
            raise KeyError(name)
        declaration: Connector = own_connector_class(name).declaration  # type: ignore[attr-defined]
        return declaration

    def __iter__(self) -> Iterator[str]:
        yield from _BUILT_IN
        yield from sorted(_installed().keys() - _BUILT_IN)

    def __len__(self) -> int:
        return len(_BUILT_IN.keys() | _installed())


CONNECTORS: Mapping[str, Connector] = _Connectors()


@lru_cache
def own_connector_class(name: str) -> Callable[[Any], Any]:
    """The class of a connector that a package adds. Raises ConfigError where it cannot be used."""
    point = _installed()[name]
    try:
        connector: Callable[[Any], Any] = point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise _unusable(point, f"cannot be imported: {reason}") from error
    declaration = getattr(connector, "declaration", None)
    if not isinstance(declaration, Connector) or declaration.name != name:
        raise _unusable(point, f"has no 'declaration' that is a Connector named '{name}'")
    return connector


@lru_cache
def _installed() -> Mapping[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _unusable(point: EntryPoint, reason: str) -> ConfigError:
    return ConfigError(
        f"connector '{point.name}' {reason}",
        where=f"entry point {point.value}",
        remedy="correct the package that adds it, or remove it",
    )
