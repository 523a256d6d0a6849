"""How a run ended, for those outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Ending"]


@dataclass(frozen=True, slots=True)
class Ending:
    """`status`: success, partial, failed, cancelled or skipped."""

    run_id: str
    status: str
    rows_written: int = 0
    duration_ms: int = 0
    phase_profiles: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None
