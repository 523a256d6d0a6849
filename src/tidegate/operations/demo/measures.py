"""Numbers of the demo's tables, which differ before and after its second day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidegate.config import Settings
from tidegate.operations.query import query

__all__ = ["MEASURES", "Measure", "measure"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of one table, looked at after each run."""

    table: str
    what: str
    sql: str


MEASURES = (
    Measure("bronze.payments", "rows", "count(*)"),
    Measure("silver.orders", "orders", "count(*)"),
    Measure("silver.customers", "versions", "count(*)"),
    Measure("silver.payments", "payments", "count(*)"),
    Measure("gold.daily_revenue", "revenue", "sum(revenue)"),
    Measure("gold.customer_value", "ordered", "sum(ordered)"),
    Measure("gold.current_customers", "Ada lives in", "max(CASE WHEN name = 'Ada' THEN city END)"),
)


def measure(settings: Settings) -> Mapping[Measure, str]:
    """All measures in one query, so that they are of one moment."""
    parts = [f"SELECT {i} AS number, CAST({m.sql} AS STRING) AS value FROM {m.table}" for i, m in enumerate(MEASURES)]
    return {MEASURES[row["number"]]: str(row["value"]) for row in query(settings, " UNION ALL ".join(parts)).rows}
