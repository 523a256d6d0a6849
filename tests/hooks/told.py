"""Hooks of a test, the events that they are told, and the warnings that come of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tidegate.config import CommandHook, Endpoint, HookSettings, Secret, WebHook
from tidegate.hooks.events import Event
from tidegate.hooks.hook_dispatch import HookDispatcher
from tidegate.results import CheckResult, ModelResult

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class Told:
    """Hooks as a run has them."""

    def __init__(self, root: Path, *hooks: HookSettings) -> None:
        self.warnings: list[str] = []
        self.hooks = HookDispatcher(hooks, root, "shop", "run", self.warnings.append)

    def of(self, name: str, model: str | None = None, **data: Any) -> None:
        self.hooks(event(name, model, **data))


def event(name: str, model: str | None = None, **data: Any) -> Event:
    return Event(name, "run-1", NOON, model, data)


def webhook(url: str, *events: str, **settings: Any) -> WebHook:
    names = {"headers", "secret", "timeout", "retries", "retry_delay"}
    at = {name: settings.pop(name) for name in names & settings.keys()}
    endpoint = Endpoint(url=Secret(url), **{"retry_delay": timedelta(), **at})
    return WebHook(name=settings.pop("name", "web"), events=frozenset(events), endpoint=endpoint, **settings)


def command(text: str | tuple[str, ...], *events: str, **settings: Any) -> CommandHook:
    return CommandHook(name=settings.pop("name", "command"), events=frozenset(events), command=text, **settings)


def check(status: str, model: str = "silver.orders") -> CheckResult:
    samples = ({"email": "ann@example.com"},)
    return CheckResult(model, "not_null(id)", "before_publish", "error", status, 3, "0 rows", 5, samples, unit="row")


def built(status: str = "completed", model: str = "silver.orders", rows: int = 7) -> ModelResult:
    return ModelResult(model, status, "full_refresh", "full", "first run", rows_written=rows, duration_ms=12)
