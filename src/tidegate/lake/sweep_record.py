"""When the warehouse was last swept: known without loading what a sweep needs."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from tidegate.lake.files import write_whole

__all__ = ["last_sweep", "record_sweep"]

LAST_SWEEP = "tidegate-sweep.json"


def last_sweep(warehouse: Path) -> datetime | None:
    try:
        return datetime.fromisoformat(json.loads((warehouse / LAST_SWEEP).read_text())["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_sweep(warehouse: Path, at: datetime, files: int) -> None:
    write_whole(warehouse / LAST_SWEEP, json.dumps({"at": at.isoformat(), "files": files}).encode())
