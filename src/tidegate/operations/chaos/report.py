"""What was tried, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["ChaosReport", "Trial", "Uninterrupted"]


@dataclass(frozen=True, slots=True)
class Trial:
    """One kill and what followed. `way`: rerun or resume. `problems`: what is not as it should be, one line each."""

    point: str
    way: str
    seconds: float
    problems: tuple[str, ...] = ()
    left: str = ""
    """Where the copy is that it happened on, if it was kept."""

    @property
    def passed(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class Uninterrupted:
    """The run that all others are measured by. `reached`: fault points in order, with how often each was."""

    status: str
    models: int
    seconds: float
    reached: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChaosReport:
    """`left_out`: models whose tables are not compared, and why. `not_reached`: points that the run did not come to."""

    catalog: str
    uninterrupted: Uninterrupted
    trials: tuple[Trial, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    not_reached: tuple[str, ...] = ()
    seconds: float = 0.0
    folder: str | None = None
    """The scratch folder, if it was kept."""

    @property
    def failed(self) -> tuple[Trial, ...]:
        return tuple(trial for trial in self.trials if not trial.passed)

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def document(self) -> dict[str, Any]:
        trials = [{**asdict(trial), "status": "passed" if trial.passed else "failed"} for trial in self.trials]
        return {**asdict(self), "status": "failed" if self.failed else "success", "trials": trials}
