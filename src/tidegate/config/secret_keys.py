"""Reading what is secret in tidegate.toml: it must come from the environment, and is never repeated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tidegate.config.reading import Section, dotted
from tidegate.config.secret import Secret

__all__ = ["LOOPBACK", "REFERENCE", "read_secret"]

REFERENCE = re.compile(r"\$\{[A-Za-z_]\w*(:-)?\}")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts to which a secret may go without encryption."""


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
    return Secret(str(value)) if value.strip() else None
