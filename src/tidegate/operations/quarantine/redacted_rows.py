"""Rows of a table without the values of its hidden columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tidegate.quality.check_answers import REDACTED, is_about_hidden, redact_row

__all__ = ["redact_quarantined"]

_FAILURES, _REASONS = "_failures", "_reasons"


def redact_quarantined(row: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """Of any table. Failures of a contract's rows quote values, also in their messages: those about a hidden column
    lose message and value, and so do those about a whole row."""
    redacted = redact_row(row, hidden)
    failures = redacted.get(_FAILURES)
    if not hidden or not isinstance(failures, list):
        return redacted
    remaining = [
        _without_value(failure) if is_about_hidden(str(failure.get("column") or ""), hidden) else failure
        for failure in failures
    ]
    if remaining != failures and isinstance(redacted.get(_REASONS), list):
        redacted[_REASONS] = [failure.get("message") for failure in remaining]
    redacted[_FAILURES] = remaining
    return redacted


def _without_value(failure: Mapping[str, Any]) -> dict[str, Any]:
    return {**failure, **{key: REDACTED for key in ("message", "value") if failure.get(key) is not None}}
