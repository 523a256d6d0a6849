"""Paths: of a settings file, relative to the project; and the folder that all projects of a user share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tidegate.config.section_reader import Section, dotted

__all__ = ["cache_folder", "local_path"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def local_path(section: Section, key: str, default: str, root: Path) -> Path:
    value = section.text(key, default)
    if value.startswith("file:"):
        parts = urlsplit(value)
        if parts.netloc in {"", "localhost"} and parts.path:
            return root / unquote(parts.path)
        section.report(key, f"'{key}' in [{dotted(section.path)}] is not a file on this machine: {value}")
    elif _SCHEME.match(value):
        scheme = value.partition(":")[0]
        where = f"'{key}' in [{dotted(section.path)}]"
        section.report(key, f"{where} must be a local path in this version; '{scheme}:' locations are not supported")
    return root / Path(value).expanduser()


def cache_folder() -> Path:
    """`TIDEGATE_HOME`, else `tidegate` in the user's cache folder. It may not exist yet."""
    if home := os.environ.get("TIDEGATE_HOME"):
        return Path(home).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "tidegate"
