"""Messages about the start of Spark, which consoles show differently from other messages."""

from __future__ import annotations

__all__ = ["NOT_STARTED", "STARTED", "STARTING"]

STARTING = "Starting Spark"
STARTED = "Spark has started"
NOT_STARTED = "Spark has not started"
