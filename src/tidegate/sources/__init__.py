"""Sources: what models may read besides models and the lake. Only names and types are read here, never rows."""

from tidegate.sources.discoverer import Discoverer, Ping, SourceTable
from tidegate.sources.discovery import Discovery, StaleTables, mentioned, open_source, together
from tidegate.sources.discovery_cache import known_tables
from tidegate.sources.pings import ping_all, ping_project

__all__ = [
    "Discoverer",
    "Discovery",
    "Ping",
    "SourceTable",
    "StaleTables",
    "known_tables",
    "mentioned",
    "open_source",
    "ping_all",
    "ping_project",
    "together",
]
