"""Which fault points a chaos run kills at, and the report of what followed each kill."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tidegate.errors import ConfigError
from tidegate.faults import FAULT_POINTS, Fault, parse_fault
from tidegate.names import nearest

__all__ = [
    "BOTH",
    "RERUN",
    "RESUME",
    "ChaosReport",
    "Kill",
    "KillRequest",
    "Trial",
    "Uninterrupted",
    "choose",
    "counted",
    "not_reached",
]

RERUN, RESUME, BOTH = "rerun", "resume", "both"


@dataclass(frozen=True, slots=True)
class KillRequest:
    points: tuple[str, ...] = ()
    """Only these fault points."""

    every: bool = False
    """Each point for each model."""

    then: str | None = None
    """What follows a kill: rerun, resume or both; None: the two in turn, and both with `every`."""

    sample: int | None = None
    """How many of them to draw at random."""

    seed: int = 0


@dataclass(frozen=True, slots=True)
class Kill:
    at: Fault
    way: str
    """What follows it: rerun or resume."""


def counted(lines: Sequence[str]) -> Mapping[str, int]:
    """How often each point was reached, whatever the model."""
    return dict(Counter(parse_fault(line).point for line in lines))


def not_reached(lines: Sequence[str]) -> tuple[str, ...]:
    reached = counted(lines)
    return tuple(name for name, point in FAULT_POINTS.items() if not point.of_load and name not in reached)


def choose(lines: Sequence[str], request: KillRequest) -> tuple[Kill, ...]:
    """`lines`: what an undisturbed run wrote to its fault log. Without `every`, each point is tried the first time
    that it is reached."""
    passed = tuple(dict.fromkeys(map(parse_fault, lines)))
    faults = tuple(_named_fault(text, lines) for text in request.points)
    if not faults:
        faults = passed if request.every else tuple(dict.fromkeys(Fault(fault.point) for fault in passed))
    kills = [Kill(fault, way) for at, fault in enumerate(faults) for way in _follow_ups(request, at)]
    if request.sample is not None and request.sample < len(kills):
        chosen = random.Random(request.seed).sample(range(len(kills)), request.sample)
        kills = [kills[at] for at in sorted(chosen)]
    return tuple(kills)


def _follow_ups(request: KillRequest, at: int) -> tuple[str, ...]:
    if request.then == BOTH or (request.every and request.then is None):
        return RERUN, RESUME
    return (request.then or (RERUN, RESUME)[at % 2],)


def _named_fault(text: str, lines: Sequence[str]) -> Fault:
    fault = parse_fault(text)
    name = str(Fault(fault.point, fault.model))
    reached = sum(line == name if fault.model else parse_fault(line).point == fault.point for line in lines)
    if reached >= fault.times:
        return fault
    close = nearest(name, set(lines)) if fault.model else ()
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    often = f" more than {reached} time{'s' if reached != 1 else ''}" if reached else ""
    raise ConfigError(
        f"The run does not reach the fault point {name}{often}",
        where="--points",
        remedy=f"{meant}Without --points, every point that it reaches is tried.",
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """One kill and what followed."""

    point: str
    way: str
    """rerun or resume."""

    seconds: float
    problems: tuple[str, ...] = ()
    """What is wrong afterwards, one line each."""

    left: str = ""
    """Where the copy is that it happened on, if it was kept."""

    @property
    def passed(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class Uninterrupted:
    """The run that all others are compared with."""

    status: str
    models: int
    seconds: float
    reached: Mapping[str, int]
    """Fault points in order, with how often each was reached."""


@dataclass(frozen=True, slots=True)
class ChaosReport:
    catalog: str
    uninterrupted: Uninterrupted
    trials: tuple[Trial, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Models whose tables are not compared, and why."""

    not_reached: tuple[str, ...] = ()
    """Fault points that the run did not reach."""

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
