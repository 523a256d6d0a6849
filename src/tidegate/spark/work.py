"""How much work a JVM is started for. It decides how the JVM is started, so it is estimated from metadata before."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Work", "work_of"]

_MOST_BYTES = 1 << 30
_MOST_SECONDS = 60.0


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
