"""Waiting in tests for what another process or thread does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["eventually"]


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether it holds within so many seconds."""
    tick, end = threading.Event(), time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        tick.wait(0.02)
    return False
