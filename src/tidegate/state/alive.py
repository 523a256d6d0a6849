"""Whether the process of a run that has not ended is there: by its number on this host, elsewhere by its heartbeat."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta

from tidegate.state.records import RunRecord

__all__ = ["HEARTBEAT_SECONDS", "SILENCE", "has_ended", "last_sign", "lives", "process_lives"]

HEARTBEAT_SECONDS = 30.0
SILENCE = timedelta(seconds=3 * HEARTBEAT_SECONDS)
"""A run on another host that gave no sign of life for so long is taken for dead."""


def has_ended(run: RunRecord) -> bool:
    return run.status not in ("pending", "running")


def last_sign(run: RunRecord) -> datetime:
    return run.heartbeat_at or run.started_at


def process_lives(run: RunRecord) -> bool | None:
    """None where it cannot be known: on another host. A number given to another process counts as the run's own."""
    if run.pid is None or run.host != socket.gethostname():
        return None
    try:
        os.kill(run.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def lives(run: RunRecord, now: datetime) -> bool:
    """Whether a run that has not ended is at work."""
    if has_ended(run):
        return False
    here = process_lives(run)
    return now - last_sign(run) < SILENCE if here is None else here
