"""An event as hooks receive it: one JSON document, the same for commands and webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from tidegate.hooks.events import Event
from tidegate.jsontext import json_value
from tidegate.redaction import redacted

__all__ = ["Payload", "payload_of", "status_of"]

Payload = Mapping[str, Any]

_PHRASES = {
    "pipeline_start": "has started",
    "discover_complete": "has discovered its sources",
    "compile_complete": "has been compiled",
    "pipeline_complete": "has ended",
    "pipeline_error": "has ended",
    "before_materialize": "is about to be written",
    "after_materialize": "has been written",
    "materialize_error": "could not be written",
    "before_model_run": "is about to be built",
    "after_model_run": "has ended",
    "model_error": "could not be built",
    "before_checks": "is about to be checked",
    "after_checks": "has been checked",
    "drift_detected": "has other columns than before",
    "anomaly_detected": "looks unusual",
    "state_synced": "is in the history",
    "budget_breach": "is over its budget",
}
_FAILED = ("model_error", "materialize_error")
_TOP = ("error", "rows_written", "duration_ms")


def payload_of(event: Event, project: str, command: str, name: str | None = None) -> dict[str, Any]:
    """`name`: what the listener calls the event. Rows of tables are never in it, not even samples of a check."""
    data = redacted(_plain(event.data))
    result = data.get("result")
    facts = {**data, **result} if isinstance(result, dict) else data
    status = status_of(event)
    return {
        "event": name or event.name,
        "run_id": event.run_id or None,
        "project": project,
        "command": command,
        "timestamp": event.at.isoformat(),
        "model": event.model,
        "status": status,
        **{key: facts.get(key) for key in _TOP},
        "message": _message(event, project, status, facts),
        "data": data,
    }


def status_of(event: Event) -> str | None:
    result = event.data.get("result")
    status = getattr(result, "status", None) or event.data.get("status")
    if status is None and event.name in _FAILED:
        return "failed"
    return None if status is None else str(status)


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    plain = {}
    for key, value in data.items():
        if is_dataclass(value) and not isinstance(value, type):
            value = {name: item for name, item in asdict(value).items() if name != "samples"}
        plain[str(key)] = json_value(value)
    return plain


def _message(event: Event, project: str, status: str | None, facts: Mapping[str, Any]) -> str:
    subject = event.model or event.run_id
    if event.name == "check_result":
        what = f"{facts.get('kind', 'check')} {facts.get('name', '')} {status}"
    else:
        what = _PHRASES.get(event.name, event.name)
        what += f": {status}" if status and event.name not in _FAILED else ""
    why = facts.get("message") or facts.get("error")
    return f"{project}: {subject} {what}" + (f" ({why})" if why else "")
