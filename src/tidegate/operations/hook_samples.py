"""One plausible event of each name, for trying hooks out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tidegate.config.hooks import ABOUT_MODELS
from tidegate.hooks.events import Event
from tidegate.runs.result import CheckResult, Materialization

__all__ = ["sample_event"]

_MODEL = "silver.orders"
_ERROR = "this is a test; nothing is wrong"


def sample_event(name: str, at: datetime, status: str | None = None) -> Event:
    """`name` may be `check_failed` too. `status`: another one than the usual."""
    data = _data(name, status)
    real = "check_result" if name == "check_failed" else name
    model = _MODEL if name in ABOUT_MODELS else None
    return Event(real, f"run-{at:%Y%m%d-%H%M%S}-000", at, model, {**data, "test": True})


def _data(name: str, status: str | None) -> Mapping[str, Any]:
    if name in ("check_result", "check_failed"):
        usual = "failed" if name == "check_failed" else "passed"
        return {"result": _check(status or usual)}
    if name == "after_model_run":
        return {"result": _built(status or "completed")}
    failure = {"error": _ERROR, "failure_kind": "Unknown"}
    samples: Mapping[str, Mapping[str, Any]] = {
        "pipeline_start": {"models": [_MODEL], "publish": "run"},
        "discover_complete": {"sources": 1, "tables": 12},
        "compile_complete": {"errors": 0, "models": 1},
        "pipeline_complete": {"status": status or "success", "error": None, "duration_ms": 2100, "rows_written": 20},
        "pipeline_error": {"status": status or "failed", "duration_ms": 2100, "rows_written": 0, **failure},
        "before_materialize": {"phase": "iceberg_write"},
        "after_materialize": {"rows_written": 20},
        "materialize_error": failure,
        "model_error": failure,
        "before_checks": {"checks": 1, "phase": "quality_tests"},
        "drift_detected": {"model": _MODEL, "column": "amount", "change": "added"},
        "anomaly_detected": {"model": _MODEL, "kind": "row_count", "value": 20, "expected": 200},
        "state_synced": {"status": "success"},
        "budget_breach": {"budget": "max_rows", "limit": 10, "value": 20, "on_breach": "warn"},
    }
    return samples.get(name, {})


def _check(status: str) -> CheckResult:
    severity = "warn" if status == "warned" else "error"
    value = 0 if status == "passed" else 3
    return CheckResult(
        _MODEL, "not_null(order_id)", "before_publish", severity, status, value, "0 rows", 12, unit="row"
    )


def _built(status: str) -> Materialization:
    rows = 20 if status == "completed" else 0
    error = _ERROR if status == "failed" else None
    return Materialization(_MODEL, status, "full_refresh", "full", "sample", rows_written=rows, error=error)
