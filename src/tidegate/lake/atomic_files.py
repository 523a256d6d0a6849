"""Writing a small file completely or not at all."""

from __future__ import annotations

import contextlib
import os
import uuid
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: Path, content: bytes) -> None:
    """Raises OSError; then nothing is left behind, and an existing file is unchanged."""
    scratch = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with scratch.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            scratch.unlink()
        raise
