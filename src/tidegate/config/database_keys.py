"""Reading the address of a database in tidegate.toml: its password must come from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tidegate.config.database_url import DatabaseUrl, parse_database_url
from tidegate.config.reading import Section, dotted
from tidegate.config.secret_keys import REFERENCE, read_secret

__all__ = ["read_database"]

_USER_PART = re.compile(r"(?:jdbc:)?\w+://(?P<user>[^/?#]*)@")
_PASSWORD_PARAMETER = re.compile(r"[?&]password=([^&#]*)", re.IGNORECASE)


def read_database(section: Section, written: Mapping[str, Any], key: str) -> DatabaseUrl | None:
    """The address under `key`, with the section's `user` and `password`. `written`: before `${VAR}` was filled in."""
    url = _address(section, written, key)
    user, password = section.text("user", None), read_secret(section, written, "password")
    if url is None:
        return None
    for name, given, in_url in (("user", user, url.user), ("password", password, url.password)):
        if given and in_url:
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
    found = _PASSWORD_PARAMETER.findall(url)
    if (match := _USER_PART.match(url)) and ":" in match["user"]:
        found.append(match["user"].partition(":")[2])
    return any(not REFERENCE.fullmatch(password) for password in found)
