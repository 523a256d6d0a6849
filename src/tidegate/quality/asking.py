"""What is asked of a table, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.checks.values import Check, Form
from tidegate.errors import FailureKind

__all__ = ["SAMPLES", "Asked", "Found"]

SAMPLES = 5


@dataclass(frozen=True, slots=True)
class Asked:
    """A check and its form. `relation`: what to look at instead of the whole table, such as the rows just written;
    `concerning`: a relation whose keys are the only ones that a grouped form needs to look at."""

    check: Check
    form: Form
    relation: str | None = None
    concerning: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """`status`: passed, failed, or error where the check could not be answered, for the reason `error` and of `kind`.
    Values are such as JSON can hold."""

    status: str
    value: int | float | str | bool | None
    expected: str
    samples: tuple[Mapping[str, Any], ...] = ()
    error: str | None = None
    duration_ms: int = 0
    kind: FailureKind | None = None
