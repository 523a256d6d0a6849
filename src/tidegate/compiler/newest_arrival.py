"""Whether a merge takes the newest arrival of each key: one rule for the compiler and for runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tidegate.compiler.sql.row_by_row import Obstacle
from tidegate.project import STRATEGIES, Materialized, ModelSettings

__all__ = ["Reading", "arrival_obstacle"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a model reads, through ephemeral models."""

    tables: Collection[str]
    """Short names."""
    zones: Collection[str] = ()
    upstream: str = ""
    """How the one table is written: a strategy, `view`, or empty where no model writes it."""
    manual: bool = False
    """The query itself decides what it reads."""
    reads_itself: bool = False
    deterministic: bool = True
    by_code: bool = False
    """By Python, not by a query."""


def arrival_obstacle(
    settings: ModelSettings, reading: Reading, shape: Callable[[], Obstacle | None]
) -> Obstacle | None:
    """Why the row that arrived last is unknown; None: it is known. `shape`: the obstacle in the query itself, if any.

    An obstacle without a remedy leaves a watermark as the only way to find the latest row.
    """
    if not settings.traits.merges_by_key or settings.materialized is not Materialized.TABLE:
        return Obstacle(f"only an incremental model takes it, and this one is {settings.written_as}")
    if reading.by_code:
        return Obstacle("its rows come from Python code, which may give them in any order")
    if reading.zones:
        zone = min(reading.zones)
        return Obstacle(
            f"the query reads landing zone '{zone}', whose rows have no order before a table has taken them",
            f"read '{zone}' into an append_only model, and select from that",
        )
    if reading.manual:
        return Obstacle("the query decides itself what it reads, by watermark_value or is_incremental()")
    if reading.reads_itself:
        return Obstacle("the query reads its own table")
    if len(reading.tables) != 1:
        count = f"{len(reading.tables)} tables" if reading.tables else "no table"
        return Obstacle(f"the query reads {count}, and only rows of one have an order")
    upstream = STRATEGIES.get(reading.upstream)
    if upstream is None or not upstream.keeps_arrival_order:
        (table,) = reading.tables
        how = f"is {reading.upstream}" if reading.upstream else "is not written by a model here"
        return Obstacle(
            f"{table} {how}, and only the rows of an append_only table stay where they arrived",
            f"make {table} append_only" if reading.upstream else f"read {table} into an append_only model",
        )
    if not reading.deterministic:
        return Obstacle("the query is not deterministic", "remove what gives other rows another time")
    return shape()
