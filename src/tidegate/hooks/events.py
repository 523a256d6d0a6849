"""The one stream of events: console, log, state and hooks listen to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tidegate.config.hook_settings import ALL_EVENTS

__all__ = ["EVENT_NAMES", "Emit", "Ending", "Event", "Listener"]

EVENT_NAMES = (*ALL_EVENTS, "concurrency", "phase", "warning", "published")
"""The first 18 are for hooks, the others for those who watch a run. `concurrency`: how many ask a service at once."""


@dataclass(frozen=True, slots=True)
class Event:
    """`model` is the short name. `data` holds JSON values; after_model_run carries a ModelResult as `result`."""

    name: str
    run_id: str
    at: datetime
    model: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]

Emit = Callable[[str, str | None, Mapping[str, Any]], None]
"""Tells the listeners of a run: the event's name, the model, the data."""


@dataclass(frozen=True, slots=True)
class Ending:
    """`status`: success, partial, failed, cancelled or skipped."""

    run_id: str
    status: str
    rows_written: int = 0
    duration_ms: int = 0
    phase_profiles: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
