"""What a run says of the rows that it reads from a raw landing zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Delivery"]


@dataclass(frozen=True, slots=True)
class Delivery:
    run_id: str

    started_at: datetime
    """Of the run, with its zone."""

    zone: str = ""
    """The zone's name, where that is more than the name of its folder."""
