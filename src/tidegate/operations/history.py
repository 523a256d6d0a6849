"""Past runs from the history: the latest of them, and everything that one did."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from tidegate.operations.workspace import Workspace
from tidegate.state import EventRecord, ModelRunRecord, QualityRecord, RunRecord
from tidegate.state.liveness import has_ended, is_alive, last_heartbeat
from tidegate.state.reader import find_run

__all__ = ["PastRun", "RunLog", "past_runs", "run_log"]


@dataclass(frozen=True, slots=True)
class PastRun:
    record: RunRecord
    alive: bool | None
    """Whether its process is at work; None where the run has ended."""

    @classmethod
    def of(cls, record: RunRecord) -> PastRun:
        return cls(record, None if has_ended(record) else is_alive(record, datetime.now(UTC)))

    @property
    def status(self) -> str:
        return "interrupted" if self.alive is False else self.record.status

    @property
    def silent_since(self) -> datetime | None:
        """Where it was interrupted."""
        return last_heartbeat(self.record) if self.alive is False else None

    def document(self) -> dict[str, Any]:
        """Without the whole result, which the log of the run has."""
        document = {name: value for name, value in asdict(self.record).items() if name != "result"}
        result = self.record.result or {}
        published = (result.get("publish") or {}).get("tables", [])
        return {**document, "alive": self.alive, "tables_published": published}


@dataclass(frozen=True, slots=True)
class RunLog:
    run: PastRun
    events: tuple[EventRecord, ...]
    models: tuple[ModelRunRecord, ...]
    checks: tuple[QualityRecord, ...]

    def document(self) -> dict[str, Any]:
        return {
            "run": {**asdict(self.run.record), "alive": self.run.alive},
            "models": [asdict(model) for model in self.models],
            "check_results": [asdict(check) for check in self.checks],
            "events": [asdict(event) for event in self.events],
        }


def past_runs(workspace: Workspace, limit: int) -> tuple[PastRun, ...]:
    """Newest first."""
    with workspace.state() as state:
        return tuple(map(PastRun.of, state.runs(limit)))


def run_log(workspace: Workspace, name: str) -> RunLog:
    """`name`: a run's id, or `latest`. Without the values of columns that are hidden now."""
    from tidegate.operations.redact import HiddenColumnRedactor  # only here: a list of runs need not load it

    with workspace.state() as state:
        run = find_run(state, name)
        events, models = state.events(run.run_id), state.model_runs(run.run_id)
        checks = state.checks(run.run_id)
    redactor = HiddenColumnRedactor(workspace)
    return RunLog(
        run=PastRun.of(replace(run, result=redactor.result(run.result))),
        events=tuple(replace(event, data=redactor.event(event.data, event.model)) for event in events),
        models=redactor.runs(models),
        checks=redactor.checks(checks),
    )
