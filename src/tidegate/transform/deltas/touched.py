"""The keys that a change can touch, found once and kept while they are needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.names import quote
from tidegate.planner.deltas.values import TOUCHED, DeltaQuery
from tidegate.write.request import Touched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TouchedKeys", "result_sql", "touched_keys"]

_NULL_SAFE = re.compile(rf"<=>\s+(`?{TOUCHED}`?\.)")


@dataclass(frozen=True, slots=True)
class TouchedKeys:
    """`rows`: how many keys. `nulls`: some column of some key is NULL, so keys must be compared with `<=>`."""

    keys: Touched
    rows: int
    nulls: bool


@contextlib.contextmanager
def touched_keys(session: SparkSession, delta: DeltaQuery) -> Iterator[TouchedKeys]:
    """Find the keys, as the view TOUCHED until the end. The images that the query reads must be bound."""
    region = ", ".join(map(quote, delta.region))
    frame = session.sql(f"SELECT DISTINCT {region} FROM ({delta.touched})").persist()
    try:
        missing = " OR ".join(f"{quote(name)} IS NULL" for name in delta.region)
        row = frame.selectExpr("count(*) AS n", f"coalesce(bool_or({missing}), false) AS nulls").collect()[0]
        frame.createOrReplaceTempView(TOUCHED)
        yield TouchedKeys(Touched(TOUCHED, delta.region), row["n"], row["nulls"])
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and what it kept with it
            session.catalog.dropTempView(TOUCHED)
            frame.unpersist()


def result_sql(delta: DeltaQuery, nulls: bool) -> str:
    """The result's query. Without NULLs among the touched keys a plain comparison does, and Spark is twice as fast."""
    return delta.result if nulls else _NULL_SAFE.sub(lambda match: f"= {match[1]}", delta.result)
