"""The folder that the projects of one user share: jars, and the launcher of a Java that pip installed."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """`TIDEGATE_HOME`, else `tidegate` in the user's cache folder. It may not exist yet."""
    if home := os.environ.get("TIDEGATE_HOME"):
        return Path(home).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "tidegate"
