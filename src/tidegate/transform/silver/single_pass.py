"""Rows that are judged while they are written: for contracts whose rules are about each row alone.

Nothing is persisted. Three reads of bronze follow each other, each of what it needs alone:

1. the key: how many rows there are, and whether any key comes twice. If one does, rows must be compared, and this is
   not the way.
2. the statement that writes the valid rows also counts them, and notes in a number of one bit for each column because
   of which columns rows fail
3. where any fails, the rows that fail because of those columns. Only these get their failures explained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.contracts.ingestion import SilverRules
from tidegate.names import quote
from tidegate.transform.silver.mark_rows import CastRows, cast_rows, mark_rows
from tidegate.transform.silver.row_logic import gives_the_same
from tidegate.transform.silver.row_uniqueness import deduplicated_by, unique_columns
from tidegate.transform.silver.silver_frame import DELETED, STAGE
from tidegate.write.observed_rows import observed_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

__all__ = ["JudgedCounts", "SinglePass", "judges_rows_alone", "single_pass"]

_FAILING, _BRONZE = "__tidegate_failing", "_tidegate_bronze"
_BITS = 63


@dataclass(frozen=True, slots=True)
class JudgedCounts:
    valid: int
    delete_signals: int
    failing: int
    """A bit for each column because of which a row fails."""


def judges_rows_alone(rules: SilverRules) -> bool:
    """Whether what becomes of a row depends on nothing but the row, as long as no key comes twice."""
    logic = (column.transform for column in rules.columns if column.transform is not None)
    return (
        rules.deletion is None and not rules.quality and not unique_columns(rules) and all(map(gives_the_same, logic))
    )


def single_pass(frame: DataFrame, rules: SilverRules) -> SinglePass | None:
    """None where a key comes twice. Raises QueryError as `mark_rows` does."""
    bronze = ", ".join(map(quote, frame.columns))
    rows = cast_rows(frame, rules, [f"struct({bronze}) AS {_BRONZE}"])
    read = _read(rows, rules)
    return None if read is None else SinglePass(frame, rules, rows, read)


def _read(rows: CastRows, rules: SilverRules) -> int | None:
    """How many rows there are; None where a key may come twice. A row without a key is refused, so it competes with
    none."""
    names = deduplicated_by(rules)
    values = {plan.column.name: plan.value for plan in rows.plans}
    key = [values.get(name, name) for name in names]
    has_key = " AND ".join(f"{values[name]} IS NOT NULL" for name in rules.key) or "true"
    hashed = [
        f"count_if({has_key}) AS keyed",
        f"count(DISTINCT CASE WHEN {has_key} THEN xxhash64({', '.join(key)}) END) AS keys",
    ]
    row = rows.frame.selectExpr("count(*) AS read", *(hashed if names else ())).first()
    assert row is not None
    return None if names and row["keys"] < row["keyed"] else row["read"]


class SinglePass:
    """`read`: the number of rows, known before they are judged."""

    def __init__(self, frame: DataFrame, rules: SilverRules, rows: CastRows, read: int) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        self.read = read
        self._frame, self._rules, self._rows = frame, rules, rows
        self._conditions = rows.failing()
        values = [f"{plan.value} AS {plan.flat}" for plan in rows.plans]
        self._judged = rows.frame.selectExpr(
            *values, "_commit_time", "_sequence", DELETED, f"{self._failing_bits()} AS {_FAILING}"
        )
        self._observation: Observation = Observation()
        aggregates = [f.expr(sql).alias(name) for name, sql in _AGGREGATES.items()]
        # Spark does not filter before it counts, so the casts that the filter asks for are computed once.
        observed = self._judged.observe(self._observation, *aggregates)
        names = [plan.flat for plan in rows.plans]
        self.valid = observed.where(_IS_VALID).select(*names, "_commit_time", "_sequence", DELETED)

    def counts(self) -> JudgedCounts:
        """Taken from the statement that wrote the valid rows, if that read each row once."""
        found = observed_values(self._observation)
        if found is None or found["read"] != self.read:
            found = self._judged.selectExpr(*(f"{sql} AS {name}" for name, sql in _AGGREGATES.items())).collect()[0]
        return JudgedCounts(found["valid"], found["delete_signals"], found["failing"])

    def refused(self, failing: int) -> DataFrame:
        """The rows that fail because of these columns, as `mark_rows` gives them."""
        conditions = [c for number, c in enumerate(self._conditions) if failing >> (number % _BITS) & 1]
        rows = self._rows.frame.where(" OR ".join(f"({c})" for c in conditions) or "false").select(f"{_BRONZE}.*")
        return mark_rows(_apart(rows), self._rules).where(f"{STAGE} IS NOT NULL")

    def _failing_bits(self) -> str:
        bits: list[list[str]] = [[] for _ in range(min(_BITS, len(self._conditions)))]
        for number, condition in enumerate(self._conditions):
            if condition != "false":
                bits[number % _BITS].append(condition)
        return " | ".join(f"IF({_any(held)}, {1 << bit}L, 0L)" for bit, held in enumerate(bits) if held) or "0L"


_IS_VALID = f"{_FAILING} = 0 AND NOT {DELETED}"
_AGGREGATES: Mapping[str, str] = {
    "read": "count(1)",
    # Spark would project each row once more for count_if.
    "valid": f"count(CASE WHEN {_IS_VALID} THEN 1 END)",
    "delete_signals": f"count(CASE WHEN {_FAILING} = 0 AND {DELETED} THEN 1 END)",
    "failing": f"coalesce(bit_or({_FAILING}), 0L)",
}


def _any(conditions: Sequence[str]) -> str:
    return " OR ".join(f"({condition})" for condition in conditions)


def _apart(rows: DataFrame) -> DataFrame:
    """What follows is compiled apart from the scan, which is slow together with expressions as long as the failures'.
    Spark does so around rows that are counted."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    count: Any = f.count(f.lit(1)).alias("rows")
    return rows.observe(Observation(), count)
