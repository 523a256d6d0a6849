"""What a run says of the rows that it reads from a raw landing zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["Delivery", "DeliveryRun"]


@dataclass(frozen=True, slots=True)
class DeliveryRun:
    id: str

    started_at: datetime
    """With its zone."""


@dataclass(frozen=True, slots=True)
class Delivery:
    run_id: str

    started_at: datetime
    """Of the run, with its zone; later where the table has rows that are not older."""

    zone: str = ""
    """The zone's name, where that is more than the name of its folder."""

    earlier: Mapping[str, DeliveryRun] = field(default_factory=dict)
    """Of the files that are read again, by path: the run that read them first, and which their rows go on to name."""

    def run_of(self, path: str) -> DeliveryRun:
        return self.earlier.get(path) or DeliveryRun(self.run_id, self.started_at)
