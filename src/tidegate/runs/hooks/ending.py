"""How a run ended, for those outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.runs.result import RunResult

__all__ = ["Ending", "ending_of"]


@dataclass(frozen=True, slots=True)
class Ending:
    """`status`: success, partial, failed, cancelled or skipped."""

    run_id: str
    status: str
    rows_written: int = 0
    duration_ms: int = 0
    phase_profiles: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


def ending_of(result: RunResult) -> Ending:
    return Ending(
        run_id=result.run_id,
        status=result.status,
        rows_written=result.rows_written,
        duration_ms=result.duration_ms,
        phase_profiles=result.phase_profiles,
        error=result.error,
    )
