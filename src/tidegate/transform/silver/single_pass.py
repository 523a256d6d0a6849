"""Rows that are judged while they are written: for contracts whose rules are about each row alone.

Nothing is persisted. Three reads of bronze follow each other, each of what it needs alone:

1. the key: how many rows there are, and whether any key comes twice. If one does, rows must be compared, and this is
   not the way.
2. the statement that writes the valid rows also counts them, and notes in a number of one bit for each column and
   stage where rows fail
3. where any fails, the rows that fail there. Only these get their failures explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.contracts.ingestion import SilverRules
from tidegate.names import quote
from tidegate.transform.silver.mark_rows import CastRows, ColumnPlan, FailurePlace, cast_rows, mark_rows
from tidegate.transform.silver.row_logic import gives_the_same
from tidegate.transform.silver.row_uniqueness import deduplicated_by, unique_columns
from tidegate.transform.silver.silver_frame import DELETED, STAGE, any_condition
from tidegate.write.observed_rows import observed_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation

__all__ = ["JudgedCounts", "SinglePass", "judges_rows_alone", "single_pass"]

_FAILING, _BRONZE = "__tidegate_failing", "_tidegate_bronze"
_BITS, _TOGETHER = 63, 4


@dataclass(frozen=True, slots=True)
class JudgedCounts:
    valid: int
    delete_signals: int
    failing: int
    """A bit for each place at which a row fails."""


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
    return None if read is None else SinglePass(rules, rows, read)


def _read(rows: CastRows, rules: SilverRules) -> int | None:
    """How many rows there are; None where a key may come twice. A row without a key is refused, so it competes with
    none."""
    from pyspark.sql import functions as f

    names = deduplicated_by(rules)
    if not names:
        count: int = rows.frame.count()
        return count
    values = {plan.column.name: plan for plan in rows.plans}
    key = [values[name].value if name in values else name for name in names]
    has_key = " AND ".join(f"{values[name].value} IS NOT NULL" for name in rules.key) or "true"
    row = (
        rows.frame.selectExpr(f"{has_key} AS has_key", f"{_one_number(key, names, values)} AS number")
        # Numbers that follow each other share a group, as bits of one number.
        .selectExpr(
            "has_key", "IF(has_key, shiftright(number, 6), NULL) AS place", "shiftleft(1L, INT(number & 63)) AS bit"
        )
        .groupBy("has_key", "place")
        .agg(f.expr("count(1) AS rows"), f.expr("bit_or(bit) AS bits"))
        .selectExpr(
            "coalesce(sum(rows), 0) AS read",
            "coalesce(sum(IF(has_key, rows, 0)), 0) AS keyed",
            "coalesce(sum(IF(has_key, bit_count(bits), 0)), 0) AS keys",
        )
        .first()
    )
    assert row is not None
    read: int = row["read"]
    return None if row["keys"] < row["keyed"] else read


def _one_number(key: Sequence[str], names: Sequence[str], values: Mapping[str, ColumnPlan]) -> str:
    """For each key another, as far as a hash can: a key that is a whole number is its own."""
    if len(names) == 1 and values[names[0]].cast.type.kind in ("tinyint", "smallint", "int", "bigint"):
        return f"CAST({key[0]} AS BIGINT)"
    return f"xxhash64({', '.join(key)})"


class SinglePass:
    """`read`: the number of rows, known before they are judged."""

    def __init__(self, rules: SilverRules, rows: CastRows, read: int) -> None:
        from pyspark.sql import Observation
        from pyspark.sql import functions as f

        self.read = read
        self._rules, self._rows = rules, rows
        self._failing = rows.failing()
        values = [f"{plan.value} AS {plan.flat}" for plan in rows.plans]
        bits = {f"{_FAILING}_{number}": sql for number, sql in enumerate(self._failing_bits())}
        noted = [f"{sql} AS {name}" for name, sql in bits.items()]
        self._judged = rows.frame.selectExpr(*values, "_commit_time", "_sequence", DELETED, *noted)
        failing = f"({' | '.join(bits) or '0L'})"
        is_valid = f"{failing} = 0 AND NOT {DELETED}"
        self._counts = {
            "read": "count(1)",
            # Spark would project each row once more for count_if.
            "valid": f"count(CASE WHEN {is_valid} THEN 1 END)",
            "delete_signals": f"count(CASE WHEN {failing} = 0 AND {DELETED} THEN 1 END)",
            "failing": f"coalesce(bit_or({failing}), 0L)",
        }
        self._observation: Observation = Observation()
        aggregates = [f.expr(sql).alias(name) for name, sql in self._counts.items()]
        # Spark does not filter before it counts, so the casts that the filter asks for are computed once.
        observed = self._judged.observe(self._observation, *aggregates)
        names = [plan.flat for plan in rows.plans]
        self.valid = observed.where(is_valid).select(*names, "_commit_time", "_sequence", DELETED)

    def counts(self) -> JudgedCounts:
        """Taken from the statement that wrote the valid rows, if that read each row once."""
        found = observed_values(self._observation)
        if found is None or found["read"] != self.read:
            found = self._judged.selectExpr(*(f"{sql} AS {name}" for name, sql in self._counts.items())).collect()[0]
        return JudgedCounts(found["valid"], found["delete_signals"], found["failing"])

    def refused(self, failing: int) -> DataFrame:
        """The rows that fail at these places, as `mark_rows` gives them."""
        places = {place: c for bit, (place, c) in self._numbered() if failing >> bit & 1}
        rows = self._rows.frame.where(any_condition(places.values()) or "false").select(f"{_BRONZE}.*")
        return mark_rows(_apart(rows), self._rules, places).where(f"{STAGE} IS NOT NULL")

    def _numbered(self) -> Iterator[tuple[int, tuple[FailurePlace, str]]]:
        """With its bit: several share one where there are more than bits."""
        return ((number % _BITS, place) for number, place in enumerate(self._failing.items()))

    def _failing_bits(self) -> Iterator[str]:
        """Numbers of a few bits each: Java compiles no method as long as that of all of them."""
        bits: dict[int, list[str]] = {}
        for bit, (_, condition) in self._numbered():
            bits.setdefault(bit, []).append(condition)
        noted = [f"IF({any_condition(held)}, {1 << bit}L, 0L)" for bit, held in bits.items()]
        return (" | ".join(noted[at : at + _TOGETHER]) for at in range(0, len(noted), _TOGETHER))


def _apart(rows: DataFrame) -> DataFrame:
    """What follows is compiled apart from the scan, which is slow together with expressions as long as the failures'.
    Spark does so around rows that are counted."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    count: Any = f.count(f.lit(1)).alias("rows")
    return rows.observe(Observation(), count)
