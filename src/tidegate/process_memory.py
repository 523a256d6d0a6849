"""The memory that processes hold now."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["memory_of"]

_PROC = Path("/proc")


def memory_of(*processes: int, proc: Path = _PROC) -> int | None:
    """Bytes of memory of these and of all below them. None where the system has no /proc."""
    sizes = [_resident(proc / str(each)) for each in _families(processes, proc)]
    known_sizes = [size for size in sizes if size is not None]
    return sum(known_sizes) if known_sizes else None


def _families(processes: Sequence[int], proc: Path) -> Iterator[int]:
    waiting, visited = list(processes), set[int]()
    while waiting:
        at = waiting.pop()
        if at in visited:
            continue
        visited.add(at)
        yield at
        for task in _names(proc / str(at) / "task"):
            waiting += map(int, _text(proc / str(at) / "task" / task / "children").split())


def _resident(folder: Path) -> int | None:
    for line in _text(folder / "status").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return None


def _names(folder: Path) -> Sequence[str]:
    """Empty when the process has ended meanwhile."""
    try:
        return os.listdir(folder)
    except OSError:
        return ()


def _text(file: Path) -> str:
    """Empty when the process has ended meanwhile."""
    try:
        return file.read_text()
    except OSError:
        return ""
