"""Jars of servers from Maven Central, pinned by content and kept in the cache folder."""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tidegate.config.paths import cache_folder

_CENTRAL = "https://repo1.maven.org/maven2"


def fetched(path: str, sha256: str, size: int, report: Callable[[str], None] = print) -> Path:
    """The jar in the cache folder, fetched first where it is missing. `path` is that below Maven Central's root."""
    address, name = f"{_CENTRAL}/{path}", path.rpartition("/")[2]
    jar = cache_folder() / "servers" / name
    if jar.is_file() and jar.stat().st_size == size:
        return jar
    jar.parent.mkdir(parents=True, exist_ok=True)
    report(f"Fetching {name} ({size / 1e6:.1f} MB) to {jar.parent} for the tests; this happens once")
    digest, draft = hashlib.sha256(), jar.with_name(f".{name}.{os.getpid()}")
    try:
        with urllib.request.urlopen(address, timeout=60) as response, draft.open("wb") as file:
            while chunk := response.read(2**20):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != sha256:
            raise RuntimeError(f"what came from {address} is not the file that was asked for (its SHA-256 differs)")
        draft.replace(jar)
    finally:
        draft.unlink(missing_ok=True)
    return jar
