"""The state of a run while it is built: outcomes, publishes, warnings, its error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.errors import TidegateError
from tidegate.lake.progress import TableInput
from tidegate.names import TableName
from tidegate.quality.anomaly_rules import Anomaly
from tidegate.quality.column_profiles import Profile
from tidegate.results import CheckResult, ModelResult
from tidegate.state import RunRecord, StateStore

__all__ = ["EarlierTry", "ModelOutcome", "Outcomes", "Tally"]


@dataclass(frozen=True, slots=True)
class ModelOutcome:
    """What one model of the run leaves for the publish and the branch, beside its result."""

    result: ModelResult
    checks: tuple[CheckResult, ...] = ()
    drift: tuple[dict[str, Any], ...] = ()
    checked_again: bool = False
    """Nothing was built, but the table now records that it passed the declared checks, the digests of its files, or
    inputs of which no changed row reaches it."""

    profile: Profile | None = None
    """Of the rows that were written."""

    unrestored: bool = False
    """It failed, and the lake did not answer when its table was to be restored: what the branch holds is unknown."""

    read: Mapping[str, TableInput] | None = None
    """The tables that showed it to be up to date, its own among them; None where it was built, and its table records
    what it read."""

    reused: bool = False
    """An earlier try of the same run built it, and nothing was built now."""

    lost: bool = False
    """The builder died under it, or before its turn: it may be tried again."""

    @property
    def publishable(self) -> bool:
        return self.result.status == "completed" or self.checked_again or self.reused

    @property
    def usable(self) -> bool:
        """Models below this one may read its table."""
        return self.result.status in ("completed", "skipped")


Outcomes = dict[TableName, ModelOutcome]


@dataclass
class Tally:
    outcomes: Outcomes = field(default_factory=dict)
    published: dict[TableName, None] = field(default_factory=dict)
    conflicts: int = 0
    in_doubt: bool = False
    warnings: list[str] = field(default_factory=list)
    after_publish: list[CheckResult] = field(default_factory=list)
    anomalies: list[Anomaly] = field(default_factory=list)
    error: TidegateError | None = None
    cancelled: bool = False

    @property
    def reused(self) -> bool:
        """An earlier try of the run has built some of it."""
        return any(outcome.reused for outcome in self.outcomes.values())

    def status(self, statuses: Collection[str]) -> str:
        """Of the run, whose models ended with `statuses`."""
        if self.error:
            return "partial" if self.published else "failed"
        if self.cancelled:
            return "cancelled"
        bad = [status for status in statuses if status not in ("completed", "skipped")]
        if bad:
            good = [status for status in statuses if status in ("completed", "skipped")]
            return "partial" if good else "failed"
        return "success" if "completed" in statuses or self.reused else "skipped"


@dataclass(frozen=True, slots=True)
class EarlierTry:
    """The recorded results of the try that a resumed run continues."""

    built: Mapping[str, ModelResult] = field(default_factory=dict)
    """Completed models by name."""

    checks: tuple[CheckResult, ...] = ()

    @classmethod
    def of(cls, store: StateStore, record: RunRecord) -> EarlierTry:
        if not record.resumes:
            return cls()
        reader = store.reader()
        models = reader.model_runs(record.run_id)
        built = {model.model: model.result for model in models if model.status == "completed"}
        return cls(built, tuple(check.result for check in reader.checks(record.run_id)))

    def restored(self, outcome: ModelOutcome) -> ModelOutcome:
        """The outcome with the result of the earlier try, if that built it; the reason is that of this try."""
        now = outcome.result
        if not outcome.reused or now.model not in self.built:
            return outcome
        checks = outcome.checks or tuple(check for check in self.checks if check.model == now.model)
        return replace(outcome, result=replace(self.built[now.model], reason=now.reason), checks=checks)
