"""What the earlier tries of a run came to, so that its result tells of the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tidegate.runs.result import CheckResult, Materialization
from tidegate.runs.tally import ModelOutcome
from tidegate.state import RunRecord, StateStore

__all__ = ["Earlier"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Earlier:
    """By model, as the history has it."""

    built: Mapping[str, Materialization] = field(default_factory=dict)
    checks: tuple[CheckResult, ...] = ()

    @classmethod
    def of(cls, store: StateStore, record: RunRecord) -> Earlier:
        if not record.resumes:
            return cls()
        reader = store.reader()
        found = (_as(Materialization, model) for model in reader.model_runs(record.run_id))
        built = {model.model: model for model in found if model.status == "completed"}
        return cls(built, tuple(_as(CheckResult, check) for check in reader.checks(record.run_id)))

    def told(self, outcome: ModelOutcome) -> ModelOutcome:
        """A model that was kept, as it was built, with the reason for which it was not built again."""
        now = outcome.materialization
        if not outcome.kept or now.model not in self.built:
            return outcome
        checks = outcome.checks or tuple(check for check in self.checks if check.model == now.model)
        return replace(outcome, materialization=replace(self.built[now.model], reason=now.reason), checks=checks)


def _as(kind: type[T], record: Any) -> T:
    return kind(**{name: getattr(record, name) for name in kind.__dataclass_fields__})  # type: ignore[attr-defined]
