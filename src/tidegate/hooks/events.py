"""The one stream of events: console, log, state and hooks listen to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tidegate.config.hook_settings import ALL_EVENTS

__all__ = ["EVENT_NAMES", "Emit", "Ending", "Event", "Listener"]

EVENT_NAMES = (*ALL_EVENTS, "concurrency", "phase", "warning", "published")
"""The first 18 are for hooks, the others for consoles. `concurrency`: the limit of concurrent requests to a service."""


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    run_id: str
    at: datetime
    model: str | None = None
    """Its short name."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON values; after_model_run carries a ModelResult as `result`."""


Listener = Callable[[Event], None]

Emit = Callable[[str, str | None, Mapping[str, Any]], None]
"""Sends an event to the listeners of a run: its name, the model, the data."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`status`: success, partial, failed, cancelled or skipped."""

    run_id: str
    status: str
    rows_written: int = 0
    duration_ms: int = 0
    phase_profiles: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
