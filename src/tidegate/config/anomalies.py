"""`[anomalies]`: from which deviation on something is told of what a run wrote."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TypeVar

from tidegate.config.environment import FromEnvironment
from tidegate.config.reading import Section

__all__ = ["AnomaliesSection", "read_anomalies"]

T = TypeVar("T", float, None)


@dataclass(frozen=True, slots=True)
class AnomaliesSection:
    """Deviations from the mean of the runs before, as parts of it: 0.5 is half as much more or less; 0 is off.

    The others are for one kind each; None: as `threshold`.
    """

    threshold: float = 0.5
    row_count: float | None = None
    null_share: float | None = None
    freshness: float | None = None
    mean: float | None = None
    distinct: float | None = None

    def thresholds(self, own: float | None = None) -> Mapping[str, float]:
        """By kind. `own`: what a model says for itself, which counts for every kind."""
        kinds = [field.name for field in fields(self) if field.name != "threshold"]
        if own is not None:
            return dict.fromkeys(kinds, own)
        given = {kind: getattr(self, kind) for kind in kinds}
        return {kind: self.threshold if value is None else value for kind, value in given.items()}


def read_anomalies(section: Section) -> AnomaliesSection:
    threshold = _deviation(section, "threshold", AnomaliesSection().threshold)
    kinds = [field.name for field in fields(AnomaliesSection) if field.name != "threshold"]
    own = {kind: _deviation(section, kind, None) for kind in kinds}
    section.finish()
    return AnomaliesSection(threshold, **own)


def _deviation(section: Section, key: str, default: T) -> float | T:
    value = section.raw(key)
    if isinstance(value, FromEnvironment):
        with suppress(ValueError):
            value = float(value)
    if value is None:
        return default
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
        return float(value)
    section.wrong(key, "0 (off) or a number such as 0.5", value)
    return default
