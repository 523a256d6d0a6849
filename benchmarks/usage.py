"""Runs a command in a process of its own and measures what it and all its children took: time, CPU, memory."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Usage", "run_measured"]

_SAMPLE_SECONDS = 0.2
_SHOWN_CHARACTERS = 4_000
_ORPHAN_SECONDS = 3.0
"""How long a process may live after its command and count as part of it."""


@dataclass(frozen=True, slots=True)
class Usage:
    """`cpu`: seconds of all processes together. `mib`: the most they held at one moment, shared pages counted once."""

    seconds: float
    cpu: float
    mib: float
    started_java: bool = False


def run_measured(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float, memory: bool = True
) -> Usage:
    """Gives up, with the output of the command, if it fails or takes longer than `limit` seconds.

    `memory`: look at how much it holds, which costs a little of its time.
    """
    _adopt_orphans()
    others = {pid: _cpu_of(pid) for pid in _family(os.getpid())}
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, cwd=folder, env=dict(environment), start_new_session=True
        )
        overdue = threading.Event()
        alarm = threading.Timer(limit, _end, (process.pid, overdue))
        watch = _Watch(process.pid, memory)
        alarm.start()
        watch.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
        except BaseException:
            _end(process.pid, overdue)
            raise
        finally:
            seconds = time.perf_counter() - started
            alarm.cancel()
            watch.done.set()
            watch.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")[-_SHOWN_CHARACTERS:]
    if overdue.is_set():
        raise SystemExit(f"{' '.join(command)} took longer than {limit:.0f} s\n{text}")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}\n{text}")
    largest = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    cpu = used.ru_utime + used.ru_stime + _cpu_of_orphans(others) + _cpu_of_others(others)
    return Usage(seconds, cpu, max(watch.peak_mib, largest), watch.saw_java)


def _end(pid: int, overdue: threading.Event) -> None:
    """The process and all that it started: they are a group of their own."""
    overdue.set()
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _adopt_orphans() -> None:
    """On Linux: a process whose parent ends becomes a child of this one, so that its CPU seconds can be read."""
    if sys.platform == "linux":
        set_child_subreaper = 36
        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def _cpu_of_orphans(others: Collection[int]) -> float:
    """Of the new children of this process, which are waited for."""
    cpu, deadline = 0.0, time.monotonic() + _ORPHAN_SECONDS
    while waiting := [pid for pid in _children(os.getpid()) if pid not in others]:
        for pid in waiting:
            with suppress(ChildProcessError):
                ended, _, used = os.wait4(pid, os.WNOHANG)
                cpu += used.ru_utime + used.ru_stime if ended else 0
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return cpu


def _cpu_of_others(before: Mapping[int, float]) -> float:
    """What living processes took beyond what they had: those that stay for the next command work for this one."""
    own = os.getpid()
    return sum(max(0.0, _cpu_of(pid) - before.get(pid, 0.0)) for pid in _family(own) if pid != own)


class _Watch(threading.Thread):
    """Looks at a process and its children again and again; where there is no /proc it sees nothing."""

    def __init__(self, pid: int, memory: bool) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.memory = memory
        self.peak_mib = 0.0
        self.saw_java = False
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(_SAMPLE_SECONDS) and (self.memory or not self.saw_java):
            family = _family(self.pid)
            self.saw_java = self.saw_java or any(map(_is_java, family))
            if self.memory:
                self.peak_mib = max(self.peak_mib, sum(map(_held_kib, family)) / 1024)


def _family(pid: int) -> list[int]:
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        waiting += _children(found[-1])
    return found


def _children(pid: int) -> list[int]:
    found: list[int] = []
    tasks = Path(f"/proc/{pid}/task")
    with suppress(OSError):  # it may have ended since it was seen
        for task in os.listdir(tasks):
            found += map(int, (tasks / task / "children").read_text().split())
    return found


def _cpu_of(pid: int) -> float:
    """With that of its children that have ended."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _is_java(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip() == "java"
    return False


def _held_kib(pid: int) -> int:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        if match := re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE):
            return int(match.group(1))
    return 0
