"""Sources: what models may read besides models and the lake. They are asked for names and types, never for rows."""

from tidegate.sources.cache import known_tables
from tidegate.sources.discover import Discovery, StaleTables, together
from tidegate.sources.mentions import mentioned
from tidegate.sources.open import open_source
from tidegate.sources.pings import ping_all, ping_project
from tidegate.sources.port import Discoverer, Ping, SourceTable

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
