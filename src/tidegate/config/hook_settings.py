"""The settings of hooks, the callback and the budget: `[[hooks]]`, `[callback]`, `[run.budget]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlsplit

from tidegate.redaction import Secret

__all__ = [
    "ABOUT_MODELS",
    "ALL_EVENTS",
    "HOOK_EVENTS",
    "ON_FAILURE",
    "PRESETS",
    "WITH_STATUS",
    "BudgetSection",
    "CommandHook",
    "Endpoint",
    "Hook",
    "HookSettings",
    "WebHook",
]

ALL_EVENTS = (
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
)
HOOK_EVENTS = (*ALL_EVENTS, "check_failed")
"""`check_failed`: a check_result that failed, whatever its severity, or whose check could not run."""

ABOUT_MODELS = frozenset(ALL_EVENTS[5:16]) | {"check_failed"}
WITH_STATUS = frozenset(
    {
        "pipeline_complete",
        "pipeline_error",
        "materialize_error",
        "after_model_run",
        "model_error",
        "check_result",
        "check_failed",
    }
)

ON_FAILURE = ("abort", "warn", "ignore")
PRESETS = ("slack", "teams", "pagerduty", "datadog", "generic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a document is posted."""

    url: Secret
    headers: Mapping[str, Secret] = field(default_factory=dict)
    secret: Secret | None = None
    """Signs the document."""
    timeout: timedelta = timedelta(seconds=10)
    """Of one attempt."""
    retries: int = 3
    retry_delay: timedelta = timedelta(seconds=1)
    """Doubles with each attempt."""

    @property
    def shown(self) -> str:
        """The address for messages, without what follows the host, which is often a key."""
        parts = urlsplit(self.url.reveal())
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The settings that every hook has."""

    name: str
    events: frozenset[str]
    on_failure: str = "warn"
    models: tuple[str, ...] = ()
    """Selections as for `tidegate run`; empty: all models."""
    statuses: frozenset[str] = frozenset()
    """Empty: any status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHook(Hook):
    command: tuple[str, ...] | str
    """A program with its arguments, or one text for the shell."""
    env: Mapping[str, Secret] = field(default_factory=dict)
    """Added to the environment."""
    timeout: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHook(Hook):
    endpoint: Endpoint
    preset: str = "generic"
    body: str | None = None
    key: Secret | None = None
    """Identifies the sender to PagerDuty and Datadog."""
    background: bool = False
    """The run does not wait for the response."""


HookSettings = CommandHook | WebHook


@dataclass(frozen=True, slots=True)
class BudgetSection:
    """The limits of one run; None: no limit."""

    max_duration: timedelta | None = None
    max_rows: int | None = None
    max_bytes: int | None = None
    on_breach: str = "warn"
    """warn or fail"""

    @property
    def limited(self) -> bool:
        return any(limit is not None for limit in (self.max_duration, self.max_rows, self.max_bytes))
