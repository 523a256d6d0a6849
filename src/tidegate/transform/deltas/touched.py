"""The keys that a change can touch, found once and kept while they are needed."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.names import quote
from tidegate.planner.deltas.delta_query import TOUCHED, DeltaQuery
from tidegate.write.request import Touched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TouchedKeys", "result_sql", "touched_keys"]

_NULL_SAFE = re.compile(rf"<=>\s+(`?{TOUCHED}`?\.)")


@dataclass(frozen=True, slots=True)
class TouchedKeys:
    """`rows`: how many keys. `nulls`: some column of some key is NULL, so keys must be compared with `<=>`.

    None: nobody has looked yet.
    """

    keys: Touched
    rows: int | None
    nulls: bool | None


@contextlib.contextmanager
def touched_keys(session: SparkSession, delta: DeltaQuery, *, few: bool = False) -> Iterator[TouchedKeys]:
    """Find the keys, as the view TOUCHED until the end. The images that the query reads must be bound.

    `few`: they are known to be, so that nothing is found before it is used, unless the result depends on it.
    """
    region = ", ".join(map(quote, delta.region))
    distinct = "" if delta.once else "DISTINCT "
    frame = session.sql(f"SELECT {distinct}{region} FROM ({delta.touched})").persist()
    try:
        rows = nulls = None
        if not few or TOUCHED in delta.result:
            missing = " OR ".join(f"{quote(name)} IS NULL" for name in delta.region)
            row = frame.selectExpr("count(*) AS n", f"coalesce(bool_or({missing}), false) AS nulls").collect()[0]
            rows, nulls = row["n"], row["nulls"]
        frame.createOrReplaceTempView(TOUCHED)
        yield TouchedKeys(Touched(TOUCHED, delta.region), rows, nulls)
    finally:
        with contextlib.suppress(Exception):  # the session may be gone, and what it kept with it
            session.catalog.dropTempView(TOUCHED)
            frame.unpersist()


def result_sql(delta: DeltaQuery, nulls: bool | None) -> str:
    """The result's query. Without NULLs among the touched keys a plain comparison does, and Spark is twice as fast."""
    return _NULL_SAFE.sub(lambda match: f"= {match[1]}", delta.result) if nulls is False else delta.result
