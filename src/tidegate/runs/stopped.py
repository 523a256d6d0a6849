"""The result of a run that an error ended early travels with the error: `run --json` has one shape always."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tidegate.failures import causes
from tidegate.runs.result import Publish, RunResult

__all__ = ["attach_result", "document_before_run", "result_of"]

_ATTRIBUTE = "tidegate_run_result"


def attach_result(error: BaseException, result: RunResult) -> None:
    setattr(error, _ATTRIBUTE, result)


def result_of(error: BaseException) -> RunResult | None:
    """None where no run had begun."""
    found = (getattr(each, _ATTRIBUTE, None) for each in causes(error))
    return next((result for result in found if isinstance(result, RunResult)), None)


def document_before_run() -> dict[str, Any]:
    """The document of a run that was never registered: it has no id, and has done nothing."""
    result = RunResult(
        run_id="",
        status="failed",
        branch="",
        publish=Publish(""),
        started_at=datetime.now(UTC),
        duration_ms=0,
        phase_profiles={},
        materializations=(),
    )
    return {**result.to_dict(), "run_id": None, "branch": None, "started_at": None}
