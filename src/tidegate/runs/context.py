"""What every step of a run needs to know."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import Compiled, CompiledModel, RunValues
from tidegate.config import Settings
from tidegate.errors import TidegateError
from tidegate.hooks.events import Emit
from tidegate.lake.branch_catalog import BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.cost_rule import JvmState
from tidegate.planner.make_plan import ModelPlan, PlanRequest
from tidegate.runs.builder import Builder
from tidegate.runs.clock import Clock
from tidegate.runs.control.cancellation import Cancellation
from tidegate.runs.control.guard import Guard
from tidegate.runs.options import RunOptions

if TYPE_CHECKING:
    from tidegate.python_models.run_sandbox import RunSandbox
    from tidegate.runs.ledger import Ledger

__all__ = ["BranchUse", "PhaseSpans", "Phases", "RunContext", "plan_request"]


class PhaseSpans:
    """When each phase began and ended, of all models of a run. Thread-safe."""

    def __init__(self) -> None:
        self._spans: list[tuple[str, float, float]] = []

    def add(self, name: str, began: float, ended: float) -> None:
        self._spans.append((name, began, ended))

    def wall_ms(self) -> dict[str, int]:
        """For how long at least one model was in the phase: parallel ones count once."""
        spans = sorted(self._spans.copy(), key=lambda span: span[1])
        wall: dict[str, float] = {}
        until: dict[str, float] = {}
        for name, began, ended in spans:
            covered = max(began, until.get(name, began))
            wall[name] = wall.get(name, 0.0) + max(0.0, ended - covered)
            until[name] = max(ended, until.get(name, ended))
        return {name: round(seconds * 1000) for name, seconds in wall.items()}


class Phases:
    """Milliseconds by phase. `spans`: collects the times of everything that runs in parallel."""

    def __init__(self, clock: Clock, spans: PhaseSpans | None = None) -> None:
        self._clock = clock
        self._spans = spans
        self.ms: dict[str, int] = {}

    @contextlib.contextmanager
    def timed(self, name: str) -> Iterator[None]:
        started = self._clock.monotonic()
        try:
            yield
        finally:
            ended = self._clock.monotonic()
            self._add(name, round((ended - started) * 1000))
            if self._spans is not None:
                self._spans.add(name, started, ended)

    def add(self, other: Phases) -> None:
        for name, ms in other.ms.items():
            self._add(name, ms)

    def _add(self, name: str, ms: int) -> None:
        self.ms[name] = self.ms.get(name, 0) + ms


_POLL_SECONDS = 0.1


class BranchUse:
    """Counts the models that are being built: they read the branch, so it is refreshed from main only while none is."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._building = 0

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        with self._changed:
            self._building += 1
        try:
            yield
        finally:
            with self._changed:
                self._building -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self, check: Callable[[], None]) -> Iterator[None]:
        """Wait until no model is being built, and let none start. `check` may raise to end the wait."""
        with self._changed:
            while self._building:
                check()
                self._changed.wait(_POLL_SECONDS)
            yield


def plan_request(options: RunOptions, started_at: datetime, versions: Mapping[str, str], jvm: JvmState) -> PlanRequest:
    return PlanRequest(
        started_at,
        options.full_refresh,
        options.from_,
        options.to,
        replay=options.replay,
        jvm=jvm,
        versions=versions,
    )


@dataclass(frozen=True, slots=True)
class RunContext:
    """What every step of a run needs to know."""

    run_id: str
    settings: Settings
    options: RunOptions
    compiled: Compiled
    catalog: BranchCatalog
    clock: Clock
    started_at: datetime
    cancellation: Cancellation
    publish_mode: str
    emit: Emit
    builder: Builder
    guard: Guard
    sandbox: RunSandbox
    vars: Mapping[str, object] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    """What table functions of the project said of their data when the run began, by call."""

    source_conf: Mapping[str, str] = field(default_factory=dict)
    unreadable: Mapping[TableName, TidegateError] = field(default_factory=dict)
    """Models that cannot be built, because a source that they read does not answer."""

    readers: Mapping[TableName, tuple[CompiledModel, ...]] = field(default_factory=dict)
    use: BranchUse = field(default_factory=BranchUse)
    check_record: Callable[[], None] = lambda: None
    """Reads the run's record, and cancels the run where another process asked for its end."""

    ledger: Ledger | None = None
    decided: Mapping[TableName, ModelPlan] = field(default_factory=dict)
    """What the plan decided, by model."""

    spans: PhaseSpans = field(default_factory=PhaseSpans)

    @property
    def branch(self) -> str:
        """Where the run writes; it has the run's name."""
        return self.run_id

    @property
    def lake(self) -> BranchView:
        return BranchView(self.catalog, self.branch)

    @property
    def request(self) -> PlanRequest:
        return plan_request(self.options, self.started_at, self.versions, self.builder.jvm_state)

    @property
    def values(self) -> RunValues:
        """For a query that asks for nothing of a run but its start."""
        return RunValues(self.started_at.isoformat(), vars=self.vars)

    def short(self, table: TableName) -> str:
        return table.short(self.settings.project.namespace)
