"""`[lake]` and `[state]`: where the tables, their catalog and the history of runs are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.config.database_keys import read_database
from tidegate.config.paths import local_path
from tidegate.config.reading import Section
from tidegate.config.secret_keys import LOOPBACK, read_secret
from tidegate.config.settings import LakeSection, NessieServer, StateSection

__all__ = ["read_lake", "read_state"]

_CATALOGS = ("embedded", "jdbc", "nessie")
_LATER_CATALOGS = ("rest",)
_EXAMPLES = {"jdbc": "postgresql://host:5432/name", "nessie": "http://localhost:19120/api/v2"}
_KEYS = {
    "catalog_path": ("embedded",),
    "uri": ("jdbc", "nessie"),
    "user": ("jdbc",),
    "password": ("jdbc",),
    "ref": ("nessie",),
    "token": ("nessie",),
}
"""Which kinds of catalog have the key."""


def read_lake(section: Section, written: Mapping[str, Any], root: Path) -> LakeSection:
    """`written` is the same table before `${VAR}` was filled in."""
    catalog = section.text("catalog", "embedded")
    if catalog in _LATER_CATALOGS:
        section.report(
            "catalog", f"catalog '{catalog}' is not supported by this version; use one of {', '.join(_CATALOGS)}"
        )
        catalog = "embedded"
    else:
        catalog = section.choice("catalog", _CATALOGS, "embedded")
    if section.choice("format", ("iceberg", "delta"), "iceberg") == "delta":
        section.report("format", "format 'delta' is not supported by this version; use 'iceberg'")
    for key, kinds in _KEYS.items():
        if section.raw(key) is not None and catalog not in kinds:
            section.report(key, f"'{key}' in [lake] belongs to catalog {' or '.join(kinds)}, not to '{catalog}'")
    if catalog in _EXAMPLES and section.raw("uri") is None:
        section.report("catalog", f"catalog '{catalog}' needs 'uri' in [lake], as in uri = \"{_EXAMPLES[catalog]}\"")
    lake = LakeSection(
        catalog=catalog,
        catalog_path=local_path(section, "catalog_path", ".tidegate/catalog.db", root),
        warehouse=local_path(section, "warehouse", ".tidegate/warehouse", root),
        jdbc=read_database(section, written, "uri") if catalog == "jdbc" else None,
        nessie=_nessie(section, written) if catalog == "nessie" else None,
    )
    section.finish()
    return lake


def _nessie(section: Section, written: Mapping[str, Any]) -> NessieServer | None:
    uri, token = section.text("uri", None), read_secret(section, written, "token")
    ref = section.text("ref", "main")
    if uri is None:
        return None
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or not parts.hostname or not parts.path.rstrip("/").endswith("/api/v2"):
        section.report("uri", f"'uri' in [lake] must be Nessie's API of version 2, such as {_EXAMPLES['nessie']}")
        return None
    if parts.username or parts.password:
        section.report("uri", "'uri' in [lake] must not hold a user or password: use token")
        return None
    if token is not None and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        section.report("uri", "'uri' in [lake] must be https: the token would be readable on the way")
    return NessieServer(uri.rstrip("/"), ref, token)


def read_state(section: Section, written: Mapping[str, Any], root: Path) -> StateSection:
    url = section.text("url", None)
    if url is not None and url.startswith(("postgresql:", "postgres:", "jdbc:")):
        database = read_database(section, written, "url")
        section.finish()
        return StateSection("postgresql://") if database is None else StateSection(database.text())
    section.finish()
    if url is None:
        return StateSection(f"sqlite:///{root / '.tidegate' / 'state.db'}")
    if not url.startswith("sqlite:"):
        section.report("url", "[state] url must be sqlite:///PATH or postgresql://host:5432/name")
    elif not (path := url.removeprefix("sqlite:///")) or path == url or path.startswith(":memory:"):
        section.report("url", "[state] url must name a file, as in sqlite:///.tidegate/state.db")
    else:
        url = f"sqlite:///{root / path}"
    return StateSection(url)
