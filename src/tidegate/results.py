"""How one model of a run and one check ended: the value that the run makes, the state records and the console shows.

Its fields are defined only here: they are the keys of `--json` and the columns of the state database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tidegate.errors import TidegateError

__all__ = ["CheckResult", "ModelResult"]


@dataclass(frozen=True, slots=True)
class ModelResult:
    model: str
    """Its short name."""

    status: str
    """completed, skipped, failed, blocked or cancelled."""

    strategy: str
    """How its table is written; `view` for a view."""

    run_type: str | None
    """backfill, full, incremental or skip; None where it was not decided."""

    reason: str
    """Why it was built, skipped or blocked."""

    rows_written: int = 0
    rows_deleted: int = 0
    rows_quarantined: int = 0
    stages: Mapping[str, int] = field(default_factory=dict)
    """Of a contract's silver table: what became of the rows that were read, so that they add up."""

    duration_ms: int = 0
    """Of all attempts, with the pauses between them."""

    phases: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds of the last attempt by phase."""

    attempts: tuple[Mapping[str, Any], ...] = ()
    failure_kind: str | None = None
    error: str | None = None
    where: str | None = None
    """The file or place that the error is about."""

    remedy: str | None = None
    watermark: str | None = None
    """The value that the query was given."""

    snapshot_id: int | None = None
    """The snapshot of its table that the run left on the branch."""

    def failed(self, error: TidegateError, status: str = "failed") -> ModelResult:
        return replace(
            self,
            status=status,
            failure_kind=str(error.kind),
            error=str(error),
            where=error.where,
            remedy=error.remedy,
        )


@dataclass(frozen=True, slots=True)
class CheckResult:
    model: str
    """Its short name."""

    name: str
    stage: str
    """before_write, before_publish or after_publish."""

    severity: str
    """error or warn."""

    status: str
    """passed, failed, warned, or error where the check could not run."""

    value: int | float | str | bool | None
    """What the check found."""

    expected: str
    duration_ms: int
    samples: tuple[Mapping[str, Any], ...] = ()
    """Rows that break the rule."""

    description: str = ""
    remediation: str = ""
    error: str | None = None
    """Why the check could not run."""

    kind: str = "check"
    """constraint, audit, check, test or warning."""

    unit: str = ""
    """`row` where `value` counts rows that break the rule."""

    @property
    def blocks(self) -> bool:
        """It keeps its table from being published."""
        return self.severity == "error" and self.status in ("failed", "error") and self.stage != "after_publish"

    @property
    def message(self) -> str:
        """One sentence, for a check that did not pass."""
        if self.status == "error":
            return f"{self.kind} {self.name} could not run: {self.error}"
        return f"{self.kind} {self.name} failed: {self.value_text}"

    @property
    def value_text(self) -> str:
        if self.unit:
            return f"{self.value} {self.unit}{'' if self.value == 1 else 's'}"
        return "nothing to compare" if self.value is None else str(self.value)
