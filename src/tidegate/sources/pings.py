"""Whether all that a run needs can be reached: the lake, the state, every source, the files of chunked loads.

A ping changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tidegate.config import Settings
from tidegate.errors import LakeUnavailableError, StateError, TidegateError
from tidegate.sources.discoverer import Ping, measure
from tidegate.sources.discovery import in_parallel, open_source
from tidegate.storage import open_storage

__all__ = ["ping_all", "ping_chunks", "ping_lake", "ping_project", "ping_state"]


def ping_project(settings: Settings) -> tuple[Ping, ...]:
    """The lake, the state, then the sources in the order of tidegate.toml, and where chunked loads are."""
    chunks = (ping_chunks(settings),) if settings.chunks.sources else ()
    return (ping_lake(settings), ping_state(settings), *ping_all(settings), *chunks)


def ping_all(settings: Settings, names: Collection[str] | None = None) -> tuple[Ping, ...]:
    """Of every source, or of the named ones, in the order of tidegate.toml."""
    sources = [source for name, source in settings.sources.items() if names is None or name in names]
    return in_parallel(lambda source: open_source(source).ping(), sources)


def ping_lake(settings: Settings) -> Ping:
    return measure("lake", settings.lake.catalog, lambda: _check_lake(settings), _unexpected(LakeUnavailableError))


def ping_state(settings: Settings) -> Ping:
    kind = settings.state.url.partition(":")[0]
    return measure("state", kind, lambda: _check_state(settings), _unexpected(StateError))


def ping_chunks(settings: Settings) -> Ping:
    kind = "s3" if settings.chunks.root.startswith("s3") else "folder"
    return measure("chunks", kind, lambda: _check_chunks(settings), _unexpected(LakeUnavailableError))


def _check_chunks(settings: Settings) -> str:
    storage = open_storage(settings.chunks.root, settings.s3)
    storage.exists("silver/any")
    return storage.location


def _check_lake(settings: Settings) -> str:
    from tidegate.lake import is_initialized, open_catalog
    from tidegate.lake.warehouse import require_writable

    lake = settings.lake
    if not is_initialized(settings):
        return "not created yet; the first run creates it"
    catalog = open_catalog(settings)
    tables, branches = len(catalog.head()), len(catalog.list_branches())
    if tables and not lake.warehouse.is_dir():
        raise LakeUnavailableError(
            "the catalog has tables, but their warehouse is missing",
            where=str(lake.warehouse),
            remedy="mount the disk that it is on, or correct [lake] warehouse in tidegate.toml",
        )
    if lake.warehouse.is_dir():
        require_writable(lake)
    return f"{tables} table{'' if tables == 1 else 's'} on main, {branches} other branch{'' if branches == 1 else 'es'}"


def _check_state(settings: Settings) -> str:
    from tidegate.state import open_reader

    with open_reader(settings.state.url) as state:
        last = state.runs(limit=1)
    return f"last run {last[0].run_id} ({last[0].status})" if last else "no run yet"


def _unexpected(kind: type[TidegateError]) -> Callable[[Exception], TidegateError]:
    """An error that is not Tidegate's becomes one of the part that was checked."""

    def failed(error: Exception) -> TidegateError:
        if isinstance(error, TidegateError):
            return error
        return kind(f"unexpected error: {type(error).__name__}: {error}", remedy="run `tidegate doctor --debug`")

    return failed
