"""Runs a command in a process of its own and measures what it and all its children took: time, CPU, memory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Usage", "run_measured"]

_SAMPLE_SECONDS = 0.2
_SHOWN_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Usage:
    """`cpu`: seconds of all processes together. `mib`: the most they held at one moment, shared pages counted once."""

    seconds: float
    cpu: float
    mib: float


def run_measured(command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float) -> Usage:
    """Gives up, with the output of the command, if it fails or takes longer than `limit` seconds."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=dict(environment), start_new_session=True
        )
        overdue = threading.Event()
        alarm = threading.Timer(limit, _end, (process.pid, overdue))
        memory = _Memory(process.pid)
        alarm.start()
        memory.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            _end(process.pid, overdue)
            raise
        finally:
            seconds = time.perf_counter() - started
            alarm.cancel()
            memory.done.set()
            memory.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")[-_SHOWN_CHARACTERS:]
    if overdue.is_set():
        raise SystemExit(f"{' '.join(command)} took longer than {limit:.0f} s\n{text}")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}\n{text}")
    largest = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Usage(seconds, used.ru_utime + used.ru_stime, max(memory.peak_mib, largest))


def _end(pid: int, overdue: threading.Event) -> None:
    """The process and all that it started: they are a group of their own."""
    overdue.set()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


class _Memory(threading.Thread):
    """Looks at a process and its children again and again; where there is no /proc it sees nothing."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.peak_mib = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(_SAMPLE_SECONDS):
            held = sum(map(_held_kib, _family(self.pid)))
            self.peak_mib = max(self.peak_mib, held / 1024)


def _family(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        tasks = Path(f"/proc/{found[-1]}/task")
        with suppress(OSError):  # it may have ended since it was seen
            for task in os.listdir(tasks):
                waiting += map(int, (tasks / task / "children").read_text().split())
    return found


def _held_kib(pid: int) -> int:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        if match := re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE):
            return int(match.group(1))
    return 0
