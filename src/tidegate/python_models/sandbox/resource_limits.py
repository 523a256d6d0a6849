"""Limits of the kernel on one job's process."""

from __future__ import annotations

import math
import resource
from dataclasses import dataclass

__all__ = ["JobLimits", "apply_limits", "memory_in_use"]

_ROOM_TO_REPORT = 64 << 20
"""Bytes beyond the limit, for the message that it was reached."""

_MOST_FILES = 256
_CPU_GRACE = 1
"""Seconds from SIGXCPU, which a program may ignore, to SIGKILL."""


@dataclass(frozen=True, slots=True)
class JobLimits:
    cpu_seconds: float
    memory: int
    processes: int
    file_size: int


def memory_in_use() -> tuple[int, int]:
    """Bytes of address space, and of it those for data. Where they cannot be read, the limit is without them."""
    try:
        with open("/proc/self/statm") as file:
            fields = [int(each) * resource.getpagesize() for each in file.read().split()]
        return fields[0], fields[5]
    except (OSError, ValueError, IndexError):
        return 1 << 30, 1 << 28


def apply_limits(limits: JobLimits, in_use: tuple[int, int], processes: int | None) -> None:
    """`in_use`: by what the zygote has imported, which is shared and does not count. `processes`: None where the
    kernel would count those of other programs too."""
    cpu = max(1, math.ceil(limits.cpu_seconds))
    _limit(resource.RLIMIT_CPU, cpu, cpu + _CPU_GRACE)
    for kind, used in ((resource.RLIMIT_AS, in_use[0]), (resource.RLIMIT_DATA, in_use[1])):
        _limit(kind, used + limits.memory, used + limits.memory + _ROOM_TO_REPORT)
    if processes is not None:
        _limit(resource.RLIMIT_NPROC, processes, processes)
    _limit(resource.RLIMIT_FSIZE, limits.file_size, limits.file_size)
    _limit(resource.RLIMIT_NOFILE, _MOST_FILES, _MOST_FILES)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE):
        _limit(kind, 0, 0)


def _limit(kind: int, soft: int, hard: int) -> None:
    """Never more than there was."""
    before = resource.getrlimit(kind)[1]
    if before != resource.RLIM_INFINITY:
        soft, hard = min(soft, before), min(hard, before)
    resource.setrlimit(kind, (soft, hard))
