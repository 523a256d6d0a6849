"""Whether the process of a run that has not ended is there: by its number on this host, elsewhere by its heartbeat."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path

from tidegate.state.run_records import RunRecord

__all__ = [
    "HEARTBEAT_SECONDS",
    "HEARTBEAT_TIMEOUT",
    "has_ended",
    "is_alive",
    "last_heartbeat",
    "process_identity",
    "process_is_alive",
]

HEARTBEAT_SECONDS = 30.0
HEARTBEAT_TIMEOUT = timedelta(seconds=3 * HEARTBEAT_SECONDS)
"""A run on another host that gave no sign of life for so long is taken for dead."""


def has_ended(run: RunRecord) -> bool:
    return run.status not in ("pending", "running")


def last_heartbeat(run: RunRecord) -> datetime:
    return run.heartbeat_at or run.started_at


def process_identity(pid: int) -> str | None:
    """What tells the process from all others of the same number: since when this machine runs, within which container
    the number counts, and when the process began. None where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        counted = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return None
    began = _stat(pid)[1]
    return f"{boot} {counted} {began}" if began else None


def process_is_alive(run: RunRecord) -> bool | None:
    """None where it cannot be known: on another host, in another container of the same name, or before a restart.

    Where the run's record has no mark of its process, any process of its number counts as its own.
    """
    if run.pid is None or run.host != socket.gethostname():
        return None
    own = process_identity(os.getpid())
    if run.process is not None and own is not None and _place(run.process) != _place(own):
        return None
    try:
        os.kill(run.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    if _stat(run.pid)[0] == "Z":  # it has ended, and only its parent has not asked how
        return False
    return run.process is None or process_identity(run.pid) in (None, run.process)


def is_alive(run: RunRecord, now: datetime) -> bool:
    """Whether a run that has not ended is at work."""
    if has_ended(run):
        return False
    here = process_is_alive(run)
    return now - last_heartbeat(run) < HEARTBEAT_TIMEOUT if here is None else here


def _place(mark: str) -> str:
    return mark.rpartition(" ")[0]


def _stat(pid: int) -> tuple[str, str]:
    """The state of a process, and when it began; both empty where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
