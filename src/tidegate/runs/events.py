"""The one stream of events: console, log, state and hooks listen to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = ["EVENT_NAMES", "Event", "Listener"]

EVENT_NAMES = (
    "pipeline_start",
    "discover_complete",
    "compile_complete",
    "pipeline_complete",
    "pipeline_error",
    "before_materialize",
    "after_materialize",
    "materialize_error",
    "before_model_run",
    "after_model_run",
    "model_error",
    "before_checks",
    "check_result",
    "after_checks",
    "drift_detected",
    "anomaly_detected",
    "state_synced",
    "budget_breach",
    "phase",
    "warning",
    "published",
)
"""The first 18 are for hooks; `phase`, `warning` and `published` are for those who watch a run."""


@dataclass(frozen=True, slots=True)
class Event:
    """`model` is the short name. `data` holds JSON values; after_model_run carries a Materialization as `result`."""

    name: str
    run_id: str
    at: datetime
    model: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]
