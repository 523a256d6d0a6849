"""Reading passwords, headers and database addresses in tidegate.toml: a secret must come from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate.config.database_url import DatabaseUrl, parse_database_url
from tidegate.config.section_reader import Section, dotted
from tidegate.redaction import Secret, looks_secret, register

__all__ = ["LOOPBACK", "REFERENCE", "read_by_name", "read_database", "read_headers", "read_secret"]

REFERENCE = re.compile(r"\$\{[A-Za-z_]\w*(:-)?\}")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts to which a secret may go without encryption."""

_VARIABLE = re.compile(r"\$\{[A-Za-z_]\w*(:-[^}]*)?\}")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def read_secret(section: Section, written: Mapping[str, Any], key: str, required: bool = False) -> Secret | None:
    """`written` is the section's table before `${VAR}` was filled in."""
    value, text = section.raw(key), written.get(key)
    where = f"'{key}' in [{dotted(section.path)}]"
    if value is None:
        if required:
            section.report(key, f"[{dotted(section.path)}] needs '{key}', written as ${{VAR}}")
        return None
    if not isinstance(text, str) or not REFERENCE.fullmatch(text.strip()):
        section.report(key, f"{where} must come from the environment: write it as ${{VAR}}")
        return None
    if not value.strip() and required:
        section.report(key, f"{where} is empty: set the environment variable that it names")
    register(value)
    return Secret(str(value)) if value.strip() else None


def read_headers(section: Section, written: Mapping[str, Any]) -> dict[str, Secret]:
    return read_by_name(section, "headers", written, "an HTTP header", _HEADER_NAME)


def read_by_name(
    section: Section, key: str, written: Mapping[str, Any], what: str, form: re.Pattern[str]
) -> dict[str, Secret]:
    """A value whose name looks secret must come from the environment. All values are treated as secrets."""
    secrets = {}
    raw = written.get(key)
    for name, value in section.table_of(key).items():
        place = (*section.path, key, name)
        if not form.fullmatch(name):
            section.document.report(place, f"'{name}' cannot be the name of {what}")
        elif not isinstance(value, str) or not value.isprintable():
            section.document.report(place, f"'{name}' in '{key}' must be a text of one line")
        elif looks_secret(name) and not (isinstance(raw, dict) and _VARIABLE.search(str(raw[name]))):
            section.document.report(
                place, f"'{name}' in '{key}' must come from the environment: write it with ${{VAR}}"
            )
        else:
            register(value, name)
            secrets[name] = Secret(str(value))
    return secrets


_USER_PART = re.compile(r"(?:jdbc:)?\w+://(?P<user>[^/?#]*)@")
_PASSWORD_PARAMETER = re.compile(r"[?&]password=([^&#]*)", re.IGNORECASE)


def read_database(section: Section, written: Mapping[str, Any], key: str) -> DatabaseUrl | None:
    """The address under `key`, with the section's `user` and `password`. `written`: before `${VAR}` was filled in."""
    url = _address(section, written, key)
    user, password = section.text("user", None), read_secret(section, written, "password")
    if url is None:
        return None
    for name, value, in_url in (("user", user, url.user), ("password", password, url.password)):
        if value and in_url:
            section.report(name, f"'{name}' is in the {key} of [{dotted(section.path)}] too; write it in one place")
    return replace(url, user=user or url.user, password=password or url.password)


def _address(section: Section, written: Mapping[str, Any], key: str) -> DatabaseUrl | None:
    text = section.text(key, None)
    if text is None:
        return None
    if _shows_password(str(written[key])):
        section.report(
            key,
            f"the password in '{key}' of [{dotted(section.path)}] must come from the environment: write ${{VAR}} for "
            'it, or leave it out and add password = "${VAR}"',
        )
        return None
    try:
        return parse_database_url(text)
    except ValueError as error:
        section.report(key, f"'{key}' in [{dotted(section.path)}] {error}")
        return None


def _shows_password(url: str) -> bool:
    if REFERENCE.fullmatch(url.strip()):
        return False
    passwords = _PASSWORD_PARAMETER.findall(url)
    if (match := _USER_PART.match(url)) and ":" in match["user"]:
        passwords.append(match["user"].partition(":")[2])
    return any(not REFERENCE.fullmatch(password) for password in passwords)
