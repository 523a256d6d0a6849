"""Which fault points to kill at, of those that a run reaches."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.errors import ConfigError
from tidegate.faults import FAULT_POINTS, Fault, parse_fault
from tidegate.names import nearest

__all__ = ["BOTH", "RERUN", "RESUME", "Kill", "Wanted", "choose", "counted", "not_reached"]

RERUN, RESUME, BOTH = "rerun", "resume", "both"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`points`: these alone. `every`: each point for each model. `sample`: so many of them, chosen by chance.

    `then`: what follows a kill: rerun, resume or both; None: the two in turn, and both where `every` is asked for.
    """

    points: tuple[str, ...] = ()
    every: bool = False
    then: str | None = None
    sample: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Kill:
    """`way`: what comes after it, rerun or resume."""

    at: Fault
    way: str


def counted(lines: Sequence[str]) -> Mapping[str, int]:
    """How often each point was reached, whatever the model."""
    return dict(Counter(parse_fault(line).point for line in lines))


def not_reached(lines: Sequence[str]) -> tuple[str, ...]:
    reached = counted(lines)
    return tuple(point for point in FAULT_POINTS if point not in reached)


def choose(lines: Sequence[str], wanted: Wanted) -> tuple[Kill, ...]:
    """`lines`: what an undisturbed run wrote to its fault log. Unless all is asked for, each point is tried the first
    time that it is reached."""
    passed = tuple(dict.fromkeys(map(parse_fault, lines)))
    faults = tuple(_named(text, lines) for text in wanted.points)
    if not faults:
        faults = passed if wanted.every else tuple(dict.fromkeys(Fault(fault.point) for fault in passed))
    kills = [Kill(fault, way) for at, fault in enumerate(faults) for way in _ways(wanted, at)]
    if wanted.sample is not None and wanted.sample < len(kills):
        chosen = random.Random(wanted.seed).sample(range(len(kills)), wanted.sample)
        kills = [kills[at] for at in sorted(chosen)]
    return tuple(kills)


def _ways(wanted: Wanted, at: int) -> tuple[str, ...]:
    if wanted.then == BOTH or (wanted.every and wanted.then is None):
        return RERUN, RESUME
    return (wanted.then or (RERUN, RESUME)[at % 2],)


def _named(text: str, lines: Sequence[str]) -> Fault:
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
