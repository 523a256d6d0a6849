"""`[lake]` and `[state]`: where the tables, their catalog and the run history are stored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tidegate.config.credential_keys import LOOPBACK, read_database, read_headers, read_secret
from tidegate.config.paths import local_path
from tidegate.config.section_reader import Section
from tidegate.config.settings import LakeSection, NessieServer, RestServer, StateSection

__all__ = ["read_lake", "read_state"]

_CATALOGS = ("embedded", "jdbc", "nessie", "rest")
_EXAMPLES = {
    "jdbc": "postgresql://host:5432/name",
    "nessie": "http://localhost:19120/api/v2",
    "rest": "http://localhost:8181",
}
_KEYS = {
    "catalog_path": ("embedded", "rest"),
    "uri": ("jdbc", "nessie", "rest"),
    "user": ("jdbc", "rest"),
    "password": ("jdbc", "rest"),
    "ref": ("nessie",),
    "token": ("nessie", "rest"),
    "credential": ("rest",),
    "oauth2_server_uri": ("rest",),
    "scope": ("rest",),
    "headers": ("rest",),
    "catalog_name": ("rest",),
    "branches": ("rest",),
}
"""Which kinds of catalog have the key."""


def read_lake(section: Section, written: Mapping[str, Any], root: Path) -> LakeSection:
    """`written` is the same table before `${VAR}` was filled in."""
    catalog = section.choice("catalog", _CATALOGS, "embedded")
    if section.choice("format", ("iceberg", "delta"), "iceberg") == "delta":
        section.report("format", "format 'delta' is not supported by this version; use 'iceberg'")
    for key, kinds in _KEYS.items():
        if section.raw(key) is not None and catalog not in kinds:
            section.report(key, f"'{key}' in [lake] belongs to catalog {' or '.join(kinds)}, not to '{catalog}'")
    if catalog in _EXAMPLES and section.raw("uri") is None:
        section.report("catalog", f"catalog '{catalog}' needs 'uri' in [lake], as in uri = \"{_EXAMPLES[catalog]}\"")
    is_rest = catalog == "rest"
    if is_rest and section.raw("branches") is None:
        for key in ("user", "password"):
            if section.raw(key) is not None:
                section.report(key, f"'{key}' in [lake] is for the database of 'branches', which is not given")
    direct = section.choice("on_branch_failure", ("fail", "direct"), "fail")
    if is_rest and direct == "direct":
        section.report(
            "on_branch_failure",
            "'on_branch_failure' must be \"fail\" for catalog 'rest': its branches are in a database of this project",
        )
    lake = LakeSection(
        catalog=catalog,
        catalog_path=local_path(section, "catalog_path", f".tidegate/{'branches' if is_rest else 'catalog'}.db", root),
        warehouse=local_path(section, "warehouse", ".tidegate/warehouse", root),
        jdbc=read_database(section, written, "uri") if catalog == "jdbc" else None,
        nessie=_nessie(section, written) if catalog == "nessie" else None,
        rest=_rest(section, written) if is_rest else None,
        branches=read_database(section, written, "branches") if is_rest else None,
        on_branch_failure=direct,
    )
    section.finish()
    return lake


def _nessie(section: Section, written: Mapping[str, Any]) -> NessieServer | None:
    token = read_secret(section, written, "token")
    ref = section.text("ref", "main")
    example = f"Nessie's API of version 2, such as {_EXAMPLES['nessie']}"
    uri = _address(section, "uri", example, "token" if token else None)
    if uri is not None and not uri.endswith("/api/v2"):
        section.report("uri", f"'uri' in [lake] must be {example}")
        return None
    return None if uri is None else NessieServer(uri, ref, token)


def _rest(section: Section, written: Mapping[str, Any]) -> RestServer | None:
    token, credential = read_secret(section, written, "token"), read_secret(section, written, "credential")
    headers = read_headers(section, written)
    if token and credential:
        section.report("token", "[lake] has a 'token' and a 'credential'; one of them is enough")
    if credential and ":" not in credential.reveal():
        section.report("credential", "'credential' in [lake] must be id:secret of an OAuth2 client")
    secret = "token" if token else "credential" if credential else "header" if headers else None
    server = RestServer(
        uri=_address(section, "uri", f"an Iceberg REST catalog, such as {_EXAMPLES['rest']}", secret) or "",
        catalog_name=section.text("catalog_name", None),
        token=token,
        credential=credential,
        oauth2_server_uri=_address(
            section, "oauth2_server_uri", "an address such as https://login.example/token", "credential"
        ),
        scope=section.text("scope", "catalog"),
        headers=headers,
    )
    return server if server.uri else None


def _address(section: Section, key: str, what: str, secret: str | None) -> str | None:
    """`secret`: the credential that is sent there, so must be encrypted in transit."""
    uri = section.text(key, None)
    if uri is None:
        return None
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        section.report(key, f"'{key}' in [lake] must be {what}")
        return None
    if parts.username or parts.password:
        section.report(key, f"'{key}' in [lake] must not hold a user or password: use token")
        return None
    if secret is not None and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        section.report(key, f"'{key}' in [lake] must be https: the {secret} would be readable on the way")
    return uri.rstrip("/")


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
