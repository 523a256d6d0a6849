"""`[sources.<name>] kind = "rest"`: the address of a REST API and its credentials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tidegate.config.credential_keys import LOOPBACK, read_headers, read_secret
from tidegate.config.section_reader import Section, dotted
from tidegate.redaction import Secret

__all__ = ["ApiKey", "BasicAuth", "BearerToken", "ClientCredentials", "RestAuth", "RestSource", "read_rest_source"]

_TIMEOUT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class BearerToken:
    token: Secret


@dataclass(frozen=True, slots=True)
class BasicAuth:
    user: str
    password: Secret


@dataclass(frozen=True, slots=True)
class ApiKey:
    key: Secret
    name: str
    in_query: bool
    """It is a parameter of the address, else a header."""


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """OAuth2: a token is taken from `token_url`, and taken again when it is refused."""

    client_id: str
    client_secret: Secret
    token_url: str
    scope: str | None


RestAuth = BearerToken | BasicAuth | ApiKey | ClientCredentials


@dataclass(frozen=True, slots=True)
class RestSource:
    kind: ClassVar[str] = "rest"
    name: str
    base_url: str
    auth: RestAuth | None = None
    headers: Mapping[str, Secret] = field(default_factory=dict)
    timeout: timedelta = _TIMEOUT
    """Of one request."""

    discover_ttl: timedelta = timedelta(minutes=10)


def read_rest_source(section: Section, name: str, written: Mapping[str, Any]) -> RestSource:
    if "base_url" not in section.table:
        section.report("base_url", f"[{dotted(section.path)}] needs 'base_url': the address of the API")
    base_url = section.text("base_url", "http://localhost").rstrip("/")
    auth = _auth(section, written)
    headers = read_headers(section, written)
    _check_url(section, "base_url", base_url, bool(auth or headers))
    timeout = section.duration("timeout", _TIMEOUT)
    if timeout < timedelta(seconds=1):
        section.report("timeout", f"'timeout' in [{dotted(section.path)}] must be 1s or more")
    section.finish()
    return RestSource(name=name, base_url=base_url, auth=auth, headers=headers, timeout=timeout)


_FORMS = {
    "bearer token": ("token",),
    "basic": ("user", "password"),
    "key": ("api_key",),
    "OAuth2": ("client_id", "client_secret", "token_url"),
}
_OF_KEYS = {"api_key_name": "api_key", "api_key_in": "api_key", "scope": "client_id"}


def _auth(section: Section, written: Mapping[str, Any]) -> RestAuth | None:
    """The form of authentication whose settings are there."""
    there = [form for form, keys in _FORMS.items() if any(key in section.table for key in keys)]
    if len(there) > 1:
        key = _FORMS[there[1]][0]
        section.report(key, f"[{dotted(section.path)}] has two forms of authentication: {' and '.join(there)}")
    for key in _FORMS[there[0]] if there else ():
        if key not in section.table:
            section.report(key, f"[{dotted(section.path)}] needs '{key}' beside the other settings for {there[0]}")
    for key, needed in _OF_KEYS.items():
        if key in section.table and needed not in section.table:
            section.report(key, f"'{key}' in [{dotted(section.path)}] has a meaning only with '{needed}'")
    token, password, api_key, client_secret = (
        read_secret(section, written, key) or Secret("") for key in ("token", "password", "api_key", "client_secret")
    )
    user, client_id = section.text("user", ""), section.text("client_id", "")
    name, place = section.text("api_key_name", "X-API-Key"), section.choice("api_key_in", ("header", "query"), "header")
    token_url, scope = section.text("token_url", ""), section.text("scope", None)
    match there[0] if there else None:
        case "bearer token":
            return BearerToken(token)
        case "basic":
            return BasicAuth(user, password)
        case "key":
            return ApiKey(api_key, name, in_query=place == "query")
        case "OAuth2":
            if token_url:
                _check_url(section, "token_url", token_url, has_credentials=True)
            return ClientCredentials(client_id, client_secret, token_url, scope)
    return None


def _check_url(section: Section, key: str, url: str, has_credentials: bool) -> None:
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        section.report(key, f"'{key}' in [{dotted(section.path)}] is not an address")
        return
    where = f"'{key}' in [{dotted(section.path)}]"
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        section.report(key, f"{where} must be an address such as https://api.example.com/v1")
    elif parts.username or parts.password:
        section.report(key, f"{where} must not hold a user or password: use 'user' and 'password'")
    elif parts.scheme == "http" and has_credentials and host not in LOOPBACK:
        section.report(key, f"{where} must be https: the credentials would be readable on the way")
