"""The document that each service expects, made from a payload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidegate.config import Secret, WebHook
from tidegate.hooks.payload import Payload

__all__ = ["preset_document", "preset_headers"]

_BAD = frozenset({"failed", "error", "cancelled", "blocked"})
_DOUBTFUL = frozenset({"partial", "warned"})
_GOOD = frozenset({"success", "completed", "passed", "skipped"})
_WARNINGS = frozenset({"drift_detected", "anomaly_detected", "budget_breach"})
_LONGEST_TEXT = 2900
_LONGEST_SUMMARY = 1000


def preset_document(hook: WebHook, payload: Payload) -> Mapping[str, Any]:
    return _DOCUMENTS[hook.preset](payload, hook.key)


def preset_headers(hook: WebHook) -> Mapping[str, Secret]:
    return {"DD-API-KEY": hook.key} if hook.preset == "datadog" and hook.key else {}


def _generic(payload: Payload, key: Secret | None) -> Mapping[str, Any]:
    return payload


def _slack(payload: Payload, key: Secret | None) -> Mapping[str, Any]:
    text = _for_slack(payload["message"])
    icon = {"error": ":x:", "warning": ":warning:", "success": ":white_check_mark:"}.get(_level(payload), ":bell:")
    facts = " · ".join(f"*{name}* {_for_slack(str(value))}" for name, value in _facts(payload))
    return {
        "text": f"{icon} {text}",
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": f"{icon} {text}"}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": facts[:_LONGEST_TEXT]}]},
        ],
    }


def _teams(payload: Payload, key: Secret | None) -> Mapping[str, Any]:
    colours = {"error": "Attention", "warning": "Warning", "success": "Good"}
    return {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": [
                        {
                            "type": "TextBlock",
                            "text": payload["message"][:_LONGEST_TEXT],
                            "wrap": True,
                            "weight": "Bolder",
                            "color": colours.get(_level(payload), "Default"),
                        },
                        {
                            "type": "FactSet",
                            "facts": [{"title": name, "value": str(value)} for name, value in _facts(payload)],
                        },
                    ],
                },
            }
        ],
    }


def _pagerduty(payload: Payload, key: Secret | None) -> Mapping[str, Any]:
    """What ended well closes the incident that the same run or model opened before."""
    level = _level(payload)
    return {
        "routing_key": key.reveal() if key else "",
        "event_action": "resolve" if level == "success" else "trigger",
        "dedup_key": "/".join(filter(None, ("tidegate", payload["project"], payload["model"]))),
        "payload": {
            "summary": payload["message"][:_LONGEST_SUMMARY],
            "source": f"tidegate {payload['project']}",
            "severity": level if level in ("error", "warning") else "info",
            "timestamp": payload["timestamp"],
            "component": payload["model"],
            "class": payload["event"],
            "custom_details": payload,
        },
    }


def _datadog(payload: Payload, key: Secret | None) -> Mapping[str, Any]:
    tags = {"project": payload["project"], "event": payload["event"], "model": payload["model"]}
    return {
        "title": f"tidegate: {payload['event']} {payload['model'] or payload['project']}",
        "text": payload["message"][:_LONGEST_TEXT],
        "alert_type": _level(payload),
        "aggregation_key": str(payload["run_id"] or payload["project"])[:100],
        "source_type_name": "tidegate",
        "tags": [f"{name}:{value}" for name, value in tags.items() if value],
    }


_DOCUMENTS: Mapping[str, Callable[[Payload, Secret | None], Mapping[str, Any]]] = {
    "generic": _generic,
    "slack": _slack,
    "teams": _teams,
    "pagerduty": _pagerduty,
    "datadog": _datadog,
}


def _level(payload: Payload) -> str:
    """error, warning, success or info."""
    status, event = payload["status"], payload["event"]
    if status in _BAD or event.endswith("_error"):
        return "error"
    if status in _DOUBTFUL or event in _WARNINGS:
        return "warning"
    return "success" if status in _GOOD else "info"


def _facts(payload: Payload) -> list[tuple[str, Any]]:
    names = ("event", "run_id", "model", "status", "rows_written", "duration_ms")
    return [(name, payload[name]) for name in names if payload[name] is not None]


def _for_slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")[:_LONGEST_TEXT]
