"""The same work on all cores: each forked process does a share of the items and hands back what it found."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["cores", "in_forks"]

_PR_SET_PDEATHSIG = 1
Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many processes may work at once; 1 where forking is not safe."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return 1
    return len(os.sched_getaffinity(0))


def in_forks(work: Callable[[Item], Result], items: Sequence[Item], processes: int) -> list[tuple[int, Result]]:
    """What `work` gives for the items that went to other processes, by their place in `items`.

    This process does its own share too, of which `work` is to keep the result itself. What a process that died did not
    hand back is simply missing.
    """
    started = [_start(work, items, first, processes) for first in range(1, processes)]
    found: list[tuple[int, Result]] = []
    try:
        for i in range(0, len(items), processes):
            work(items[i])
        for process, stream in started:
            with os.fdopen(stream, "rb") as pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
                found += pickle.load(pipe)
            os.waitpid(process, 0)
    except BaseException:
        for process, _ in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise
    return found


def _start(work: Callable[[Item], Result], items: Sequence[Item], first: int, step: int) -> tuple[int, int]:
    parent = os.getpid()
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 1
    try:
        _end_with_parent(parent)
        os.close(reading)
        results = [(i, work(items[i])) for i in range(first, len(items), step)]
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(results, pipe, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        # Nothing of the parent's must be flushed, closed or reported twice.
        os._exit(status)


def _end_with_parent(parent: int) -> None:
    """The kernel kills this process when its parent is gone, also when that was killed."""
    import ctypes  # only here: other commands need not load it

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before
        os._exit(1)
