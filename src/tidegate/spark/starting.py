"""What is said while Spark starts, so that whoever shows it can tell it from other lines."""

from __future__ import annotations

__all__ = ["NOT_STARTED", "STARTED", "STARTING"]

STARTING = "Starting Spark"
STARTED = "Spark has started"
NOT_STARTED = "Spark has not started"
