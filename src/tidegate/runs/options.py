"""What the caller of a run may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

__all__ = ["RunOptions"]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """None means: what tidegate.toml says. `confirmed` allows `full_refresh` over tables that keep history.

    `verify`: each table built from changes is compared with a full build.
    """

    select: tuple[str, ...] = ()
    full_refresh: bool = False
    publish: str | None = None
    concurrency: int | None = None
    vars: Mapping[str, str] = field(default_factory=dict)
    fail_fast: bool = False
    no_publish: bool = False
    allow_deletes: bool = False
    confirmed: bool = False
    verify: bool = False
    from_: datetime | None = None
    to: datetime | None = None
