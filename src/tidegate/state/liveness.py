"""Whether the process of a run that has not ended is alive: by its pid on this host, elsewhere by its heartbeat."""

from __future__ import annotations

import os
import socket
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from tidegate.state.run_records import RunRecord

__all__ = [
    "HEARTBEAT_SECONDS",
    "HEARTBEAT_TIMEOUT",
    "ProcessRecord",
    "has_ended",
    "is_alive",
    "last_heartbeat",
    "process_identity",
    "process_is_alive",
]

HEARTBEAT_SECONDS = 30.0
HEARTBEAT_TIMEOUT = timedelta(seconds=3 * HEARTBEAT_SECONDS)
"""A run on another host without a heartbeat for so long counts as dead."""


class ProcessRecord(Protocol):
    """What is recorded of the process that does some work; a run has it too."""

    @property
    def host(self) -> str | None: ...

    @property
    def pid(self) -> int | None: ...

    @property
    def process(self) -> str | None:
        """Its `process_identity`."""


def has_ended(run: RunRecord) -> bool:
    return run.status not in ("pending", "running")


def last_heartbeat(run: RunRecord) -> datetime:
    return run.heartbeat_at or run.started_at


def process_identity(pid: int) -> str | None:
    """Distinguishes the process from all others with the same pid: the boot of this machine, the container that the pid
    belongs to, and when the process started. None where the system does not provide them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        container = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except OSError:
        return None
    started = _stat(pid)[1]
    return f"{boot} {container} {started}" if started else None


def process_is_alive(run: ProcessRecord) -> bool | None:
    """None where it is unknown: on another host, in another container of the same name, or before a restart.

    Where the run's record does not identify its process, any process with its pid counts as its own.
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
    if _stat(run.pid)[0] == "Z":  # a zombie: it has ended, and its parent has not waited for it
        return False
    return run.process is None or process_identity(run.pid) in (None, run.process)


def is_alive(run: RunRecord, now: datetime) -> bool:
    """Whether a run that has not ended has a live process."""
    if has_ended(run):
        return False
    alive = process_is_alive(run)
    return now - last_heartbeat(run) < HEARTBEAT_TIMEOUT if alive is None else alive


def _place(mark: str) -> str:
    return mark.rpartition(" ")[0]


def _stat(pid: int) -> tuple[str, str]:
    """The state of a process and its start time; both empty where the system does not provide them."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""
