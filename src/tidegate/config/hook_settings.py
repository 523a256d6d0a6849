"""What tidegate.toml says of those who are told of a run: `[[hooks]]`, `[callback]`, `[run.budget]`."""

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
    """Where a document is posted. `secret` signs it; a time-out is that of one try; `retry_delay` doubles each time."""

    url: Secret
    headers: Mapping[str, Secret] = field(default_factory=dict)
    secret: Secret | None = None
    timeout: timedelta = timedelta(seconds=10)
    retries: int = 3
    retry_delay: timedelta = timedelta(seconds=1)

    @property
    def shown(self) -> str:
        """As much of the address as may be told: what comes after the host is often a key."""
        parts = urlsplit(self.url.reveal())
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What every hook has. `models`: selections as for `tidegate run`; empty: all. `statuses` empty: any."""

    name: str
    events: frozenset[str]
    on_failure: str = "warn"
    models: tuple[str, ...] = ()
    statuses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandHook(Hook):
    """`command`: a program with its arguments, or one text for the shell. `env` is added to the environment."""

    command: tuple[str, ...] | str
    env: Mapping[str, Secret] = field(default_factory=dict)
    timeout: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHook(Hook):
    """`key`: what PagerDuty and Datadog know the sender by. `background`: the run does not wait for the answer."""

    endpoint: Endpoint
    preset: str = "generic"
    body: str | None = None
    key: Secret | None = None
    background: bool = False


HookSettings = CommandHook | WebHook


@dataclass(frozen=True, slots=True)
class BudgetSection:
    """What one run may take; None: as much as it needs. `on_breach` is warn or fail."""

    max_duration: timedelta | None = None
    max_rows: int | None = None
    max_bytes: int | None = None
    on_breach: str = "warn"

    @property
    def limited(self) -> bool:
        return any(limit is not None for limit in (self.max_duration, self.max_rows, self.max_bytes))
