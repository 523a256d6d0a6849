"""How much work a JVM is started for. It decides how the JVM is started, so it is estimated from metadata before."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Work", "work_of"]

_MOST_BYTES = 512 << 20
"""Twelve models of `make bench`, two cores, first run, processor time of a JVM for short work against one for long:
20 s against 35 s where they read 0.2 GB in all, 65 s each where they read 2.2 GB. Queries that do four times as much
with each byte break even at half a gigabyte."""
_MOST_SECONDS = 60.0
"""Far beyond what starting slowly adds to the durations that tables remember: what takes longer has heavy queries."""


class Work(StrEnum):
    SHORT = "short"
    """It ends before it pays to optimise what it runs."""
    LONG = "long"
    LASTING = "lasting"
    """One short piece after another in the same JVM, which in the end has done a lot."""


def work_of(bytes: int | None, seconds: float = 0.0) -> Work:
    """`bytes`: of the files that will be read, None where they are not known; `seconds`: as far as known, in a JVM that
    has run such work before."""
    return Work.SHORT if bytes is not None and bytes <= _MOST_BYTES and seconds <= _MOST_SECONDS else Work.LONG
