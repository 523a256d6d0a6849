"""Named points at which a test may kill the process: `TIDEGATE_FAULT=<point>` switches one on."""

from __future__ import annotations

import os
import signal

__all__ = ["FAULT_POINTS", "fault"]

FAULT_POINTS = (
    "before_branch",
    "after_branch",
    "before_build",
    "after_build",
    "after_write",
    "after_progress",
    "after_checks",
    "before_publish",
    "after_publish",
    "after_archive",
    "before_cleanup",
    "after_cleanup",
)


def fault(point: str) -> None:
    """Die here, as by a power cut, if this point is the one switched on."""
    if os.environ.get("TIDEGATE_FAULT") == point:
        os.kill(os.getpid(), signal.SIGKILL)
