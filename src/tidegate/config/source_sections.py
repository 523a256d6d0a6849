"""One function per kind of `[sources.<name>]`. What is secret must come from the environment, and is never repeated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.config.credential_keys import LOOPBACK, read_database, read_secret
from tidegate.config.jdbc_settings import JdbcSource, SqlServerSource, read_jdbc_source
from tidegate.config.paths import local_path
from tidegate.config.rest_source import read_rest_source
from tidegate.config.section_reader import Section, dotted
from tidegate.config.source_settings import (
    DATABASE_TIMEOUT,
    DISCOVER_TTL,
    FIVETRAN_URL,
    REST_TIMEOUT,
    CatalogSource,
    DatabaseSource,
    FivetranSource,
    ManualSource,
    SourceSettings,
)
from tidegate.datatypes import NOTHING_KNOWN, Column, Relation, parse_type
from tidegate.names import why_not_a_name
from tidegate.redaction import Secret

__all__ = ["read_sources"]

_KINDS = ("manual", "catalog", "database", "sqlserver", "jdbc", "fivetran", "rest")
_NOT_NULL = re.compile(r"\s+not\s+null\s*$", re.IGNORECASE)


def read_sources(section: Section, written: Any, root: Path, namespace: str) -> dict[str, SourceSettings]:
    """`written` is the same table before `${VAR}` was filled in; `namespace` is the project's own."""
    sources: dict[str, SourceSettings] = {}
    for name, table in section.table.items():
        reason = why_not_a_name(name) or _why_taken(name, namespace, section.table)
        if reason:
            section.report(name, f"'{name}' cannot be the name of a source: {reason}")
        own = Section(section.document, (*section.path, name), table)
        if not isinstance(table, dict):
            continue
        source = _read_source(own, name, written[name], root)
        if source is not None:
            sources[name] = source
    return sources


def _why_taken(name: str, namespace: str, names: Iterable[str]) -> str | None:
    if name.lower() == namespace.lower():
        return "the project's own tables have that namespace"
    if any(other.lower() == name.lower() and other < name for other in names):
        return "another source has it; case does not count"
    return None


def _read_source(section: Section, name: str, written: Mapping[str, Any], root: Path) -> SourceSettings | None:
    if "kind" not in section.table:
        section.report("kind", f"[{dotted(section.path)}] needs a 'kind': {', '.join(_KINDS[:-1])} or {_KINDS[-1]}")
        return None
    reading: Mapping[str | None, Callable[[], SourceSettings | None]] = {
        "manual": lambda: _manual(section, name),
        "catalog": lambda: _catalog(section, name, root),
        "database": lambda: _database(section, name, written),
        "sqlserver": lambda: read_jdbc_source(section, name, written, SqlServerSource),
        "jdbc": lambda: read_jdbc_source(section, name, written, JdbcSource),
        "fivetran": lambda: _fivetran(section, name, written),
        "rest": lambda: read_rest_source(section, name, written),
    }
    kind = section.choice("kind", _KINDS, None)
    return reading[kind]() if kind in reading else None


def _manual(section: Section, name: str) -> ManualSource:
    value = section.raw("tables")
    tables: dict[str, Relation] = {}
    if value is None:
        section.report(
            "tables", f"[{dotted(section.path)}] needs 'tables': a list of schema.table, or a table for each"
        )
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        tables = dict.fromkeys(map(str, value), NOTHING_KNOWN)
    elif isinstance(value, dict):
        path = (*section.path, "tables")
        tables = {key: _columns_of(Section(section.document, (*path, key), item), key) for key, item in value.items()}
    else:
        section.wrong("tables", "a list of schema.table, or a table for each", value)
    _check_tables(section, value, tables)
    section.finish()
    return ManualSource(name, tables)


def _check_tables(section: Section, value: Any, tables: Mapping[str, Relation]) -> None:
    written = value if isinstance(value, list) else list(tables)
    names: set[str] = set()
    for table in written if tables else ():
        path = (*section.path, "tables", table)
        parts = table.split(".")
        if len(parts) != 2 or not all(part.strip() for part in parts):
            title = dotted((*section.path, "tables", "schema.table"))
            form = f"as in [{title}]" if isinstance(value, dict) else "as in 'public.orders'"
            section.document.report(path, f"'{table}' in [{dotted(section.path)}] must be schema.table, {form}")
        elif table.lower() in names:
            section.document.report(path, f"'{table}' is in [{dotted(section.path)}] twice; case does not count")
        names.add(table.lower())


def _columns_of(section: Section, table: str) -> Relation:
    if "." not in table:
        section.read_keys.update(section.table)  # What is below is no table's settings; the name is reported.
        return NOTHING_KNOWN
    declared = section.table_of("columns")
    if "columns" in section.table and not declared and isinstance(section.table["columns"], dict):
        section.report("columns", f"'columns' in [{dotted(section.path)}] is empty; leave it out if they are not known")
    columns = [_column(section, name, kind) for name, kind in declared.items()]
    names = [column.name.lower() for column in columns]
    for name in {name for name in names if names.count(name) > 1}:
        section.report("columns", f"column '{name}' of [{dotted(section.path)}] is there twice; case does not count")
    section.finish()
    return Relation(tuple(columns)) if columns else NOTHING_KNOWN


def _column(section: Section, name: str, kind: Any) -> Column:
    required = isinstance(kind, str) and _NOT_NULL.search(kind) is not None
    parsed = parse_type(_NOT_NULL.sub("", kind)) if isinstance(kind, str) else None
    if parsed is None:
        suffix = f", which '{kind}' is not" if isinstance(kind, str) else ""
        section.document.report(
            (*section.path, "columns", name),
            f"column '{name}' of [{dotted(section.path)}] must have a type of Spark, such as 'bigint', 'decimal(10,2)' "
            f"or 'string not null'{suffix}",
        )
        return Column(name)
    return Column(name, parsed, nullable=not required)


def _catalog(section: Section, name: str, root: Path) -> CatalogSource:
    _require(section, "catalog_path", "the SQLite file of the catalog")
    _require(section, "warehouse", "the folder of its tables")
    source = CatalogSource(
        name=name,
        catalog_path=local_path(section, "catalog_path", "catalog.db", root),
        warehouse=local_path(section, "warehouse", "warehouse", root),
        catalog_name=section.text("catalog_name", "main"),
        namespace=section.text("namespace", None),
        discover_ttl=section.duration("discover_ttl", DISCOVER_TTL),
    )
    section.finish()
    return source


def _database(section: Section, name: str, written: Mapping[str, Any]) -> DatabaseSource | None:
    _require(section, "url", "the database, as in postgresql://host:5432/name")
    url = read_database(section, written, "url")
    schemas = section.texts("schemas")
    timeout = _timeout(section, DATABASE_TIMEOUT)
    discover_ttl = section.duration("discover_ttl", DISCOVER_TTL)
    section.finish()
    if url is None:
        return None
    return DatabaseSource(
        name=name,
        host=url.host,
        port=url.port,
        database=url.database,
        user=url.user,
        password=url.password,
        schemas=schemas,
        parameters=url.parameters,
        timeout=timeout,
        discover_ttl=discover_ttl,
    )


def _fivetran(section: Section, name: str, written: Mapping[str, Any]) -> FivetranSource | None:
    key, secret = (read_secret(section, written, name, required=True) for name in ("api_key", "api_secret"))
    source = FivetranSource(
        name=name,
        api_key=key or Secret(""),
        api_secret=secret or Secret(""),
        api_url=_api_url(section),
        group_id=section.text("group_id", None),
        timeout=_timeout(section, REST_TIMEOUT),
        discover_ttl=section.duration("discover_ttl", DISCOVER_TTL),
    )
    section.finish()
    return source


def _api_url(section: Section) -> str:
    url = section.text("api_url", FIVETRAN_URL).rstrip("/")
    parts = urlsplit(url)
    where = f"'api_url' in [{dotted(section.path)}]"
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        section.report("api_url", f"{where} must be an address such as {FIVETRAN_URL}")
    elif parts.username or parts.password:
        section.report("api_url", f"{where} must not hold a user or password: use api_key and api_secret")
    elif parts.scheme == "http" and parts.hostname not in LOOPBACK:
        section.report("api_url", f"{where} must be https: the key and secret would be readable on the way")
    return url


def _timeout(section: Section, default: timedelta) -> timedelta:
    value = section.duration("timeout", default)
    if value < timedelta(seconds=1):
        section.report("timeout", f"'timeout' in [{dotted(section.path)}] must be 1s or more")
    return value


def _require(section: Section, key: str, what: str) -> None:
    if key not in section.table:
        section.report(key, f"[{dotted(section.path)}] needs '{key}': {what}")
