"""Which adapter asks which kind of source."""

from __future__ import annotations

from typing import assert_never

from tidegate.config import CatalogSource, DatabaseSource, FivetranSource, ManualSource, SourceSettings
from tidegate.sources.port import Discoverer

__all__ = ["open_source"]


def open_source(source: SourceSettings) -> Discoverer:
    """Asks nothing yet. Each adapter is imported only where it is used."""
    match source:
        case ManualSource():
            from tidegate.sources.manual import ManualDiscoverer

            return ManualDiscoverer(source)
        case CatalogSource():
            from tidegate.sources.catalog import CatalogDiscoverer
            from tidegate.sources.sqlite_catalog import SqliteCatalog

            return CatalogDiscoverer(source, SqliteCatalog(source))
        case DatabaseSource():
            from tidegate.sources.database import DatabaseDiscoverer

            return DatabaseDiscoverer(source)
        case FivetranSource():
            from tidegate.sources.fivetran import FivetranDiscoverer

            return FivetranDiscoverer(source)
        case _:
            assert_never(source)
