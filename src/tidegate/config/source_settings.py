"""The settings of sources: one value per `kind` of `[sources.<name>]`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from blake3 import blake3

from tidegate.config.jdbc_settings import JdbcSource
from tidegate.config.rest_source import RestSource
from tidegate.datatypes import Relation
from tidegate.redaction import Secret

__all__ = [
    "DATABASE_TIMEOUT",
    "DISCOVER_TTL",
    "FIVETRAN_URL",
    "REST_TIMEOUT",
    "CatalogSource",
    "DatabaseSource",
    "FivetranSource",
    "ManualSource",
    "SourceSettings",
    "source_digest",
]

DISCOVER_TTL = timedelta(minutes=10)
DATABASE_TIMEOUT = timedelta(seconds=30)
REST_TIMEOUT = timedelta(minutes=1)
FIVETRAN_URL = "https://api.fivetran.com"


@dataclass(frozen=True, slots=True)
class ManualSource:
    """Tables that tidegate.toml lists: `schema.table` with what is known of its columns."""

    kind: ClassVar[str] = "manual"
    name: str
    tables: Mapping[str, Relation]


@dataclass(frozen=True, slots=True)
class CatalogSource:
    """Another Iceberg catalog. `namespace`: only the tables below it; None: all."""

    kind: ClassVar[str] = "catalog"
    name: str
    catalog_path: Path
    warehouse: Path
    catalog_name: str = "main"
    namespace: str | None = None
    discover_ttl: timedelta = DISCOVER_TTL


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """A PostgreSQL database. `schemas` empty: all that the user may read. `parameters` are those of libpq."""

    kind: ClassVar[str] = "database"
    name: str
    host: str
    port: int
    database: str
    user: str | None = None
    password: Secret | None = None
    schemas: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    timeout: timedelta = DATABASE_TIMEOUT
    discover_ttl: timedelta = DISCOVER_TTL

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"postgresql://{host}:{self.port}/{self.database}"


@dataclass(frozen=True, slots=True)
class FivetranSource:
    """The connections of a Fivetran account; `group_id` None: of all its groups."""

    kind: ClassVar[str] = "fivetran"
    name: str
    api_key: Secret
    api_secret: Secret
    api_url: str = FIVETRAN_URL
    group_id: str | None = None
    timeout: timedelta = REST_TIMEOUT
    discover_ttl: timedelta = DISCOVER_TTL

    @property
    def token(self) -> Secret:
        """Key and secret as HTTP's basic authentication sends them."""
        pair = f"{self.api_key.reveal()}:{self.api_secret.reveal()}"
        return Secret(base64.b64encode(pair.encode()).decode())


SourceSettings = ManualSource | CatalogSource | DatabaseSource | FivetranSource | JdbcSource | RestSource


def source_digest(source: SourceSettings) -> str:
    """Differs where the source may hold other rows. Credentials and time-outs do not count."""
    values = {field.name: getattr(source, field.name) for field in fields(source)}
    identifying = {name: value for name, value in values.items() if not isinstance(value, Secret | timedelta | None)}
    return blake3(repr((source.kind, sorted(identifying.items()))).encode()).hexdigest()
