"""Try out hooks with a sample event of each name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from tidegate.config import HookSettings, Settings
from tidegate.config.hook_settings import ABOUT_MODELS
from tidegate.hooks.budget import Breach
from tidegate.hooks.events import Event
from tidegate.hooks.hook_dispatch import HookDispatcher
from tidegate.hooks.hook_result import HookResult
from tidegate.quality.anomaly_rules import Anomaly
from tidegate.results import CheckResult, ModelResult

__all__ = ["HookTest", "sample_event", "try_hooks"]

_MODEL = "silver.orders"
_ERROR = "this is a test; nothing is wrong"


@dataclass(frozen=True, slots=True)
class HookTest:
    event: str
    answers: tuple[tuple[str, HookResult], ...]
    """(hook, its answer), of each hook that listens to the event."""

    @property
    def failed(self) -> int:
        return sum(not answer.ok for _hook, answer in self.answers)

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def document(self) -> dict[str, Any]:
        answers = [
            {
                "hook": hook,
                "status": "passed" if answer.ok else "failed",
                "answer": answer.message,
                "failure_kind": str(answer.kind) if answer.kind else None,
                "tries": answer.tries,
                "duration_ms": answer.duration_ms,
            }
            for hook, answer in self.answers
        ]
        return {"status": "failed" if self.failed else "success", "event": self.event, "answers": answers}


def try_hooks(settings: Settings, event: str) -> HookTest:
    """Send a sample to each hook that listens, whichever models and statuses it wants, and wait for its answer."""
    listening = [hook for hook in settings.hooks if _listens(hook, event)]
    caller = HookDispatcher(listening, settings.root, settings.project.name, "hooks test", lambda message: None)
    answers = []
    try:
        for hook in listening:
            status = min(hook.statuses) if hook.statuses else None
            answers.append((hook.name, caller.send_sample(hook, sample_event(event, datetime.now(UTC), status), event)))
    finally:
        caller.close()
    return HookTest(event, tuple(answers))


def _listens(hook: HookSettings, event: str) -> bool:
    return event in hook.events or (event == "check_failed" and "check_result" in hook.events)


def sample_event(name: str, at: datetime, status: str | None = None) -> Event:
    """`name` may be `check_failed` too. `status`: instead of the usual one."""
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
    breach = Breach("max_rows", 10, 20, "warn")
    samples: Mapping[str, Mapping[str, Any]] = {
        "pipeline_start": {"models": [_MODEL], "publish": "run"},
        "discover_complete": {"sources": 1, "tables": 12},
        "compile_complete": {"errors": 0, "models": 1},
        "pipeline_complete": {
            "status": status or "success",
            "error": None,
            "failure_kind": None,
            "duration_ms": 2100,
            "rows_written": 20,
        },
        "pipeline_error": {"status": status or "failed", "duration_ms": 2100, "rows_written": 0, **failure},
        "before_materialize": {"phase": "iceberg_write"},
        "after_materialize": {"rows_written": 20},
        "materialize_error": failure,
        "model_error": failure,
        "before_checks": {"checks": 1, "phase": "quality_tests"},
        "drift_detected": {
            "model": _MODEL,
            "column": "amount",
            "action": "widened",
            "before": "int",
            "after": "bigint",
            "reason": "the query gives bigint",
        },
        "anomaly_detected": asdict(
            Anomaly(_MODEL, "row_count", None, 20, 200, 0.9, "20 rows were written, where 200 are usual")
        ),
        "state_synced": {"status": "success"},
        "budget_breach": {**asdict(breach), "message": breach.message},
    }
    return samples.get(name, {})


def _check(status: str) -> CheckResult:
    severity = "warn" if status == "warned" else "error"
    value = 0 if status == "passed" else 3
    return CheckResult(
        _MODEL, "not_null(order_id)", "before_publish", severity, status, value, "0 rows", 12, unit="row"
    )


def _built(status: str) -> ModelResult:
    rows = 20 if status == "completed" else 0
    error = _ERROR if status == "failed" else None
    return ModelResult(_MODEL, status, "full_refresh", "full", "sample", rows_written=rows, error=error)
