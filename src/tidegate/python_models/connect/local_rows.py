"""How many bytes of rows one model may make itself, and take out of Spark."""

from __future__ import annotations

from hashlib import sha256

from tidegate.amounts import size
from tidegate.python_models.connect.plan_functions import refusal

__all__ = ["LocalRows"]

_ADVICE = (
    "work on the rows inside Spark (its functions, mapInPandas, groupBy().applyInPandas()), take less of them, "
    "or raise local_rows in [sandbox]"
)

_SHORTEST_ROW = 32
"""Bytes: a row of nulls takes none in Arrow, and much of the JVM's memory."""


class LocalRows:
    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.most_rows = min(max(limit // _SHORTEST_ROW, 1000), (1 << 31) - 2)
        """Of one result."""

        self._taken = 0
        self._made: set[bytes] = set()
        self._bytes = 0

    def take(self, count: int) -> None:
        """Bytes of a result on its way to the model. Raises CallRefusedError past the limit."""
        self._taken += count
        if self._taken > self.limit:
            raise refusal(f"the model takes more than {size(self.limit)} of rows out of Spark: {_ADVICE}")

    def check_number(self, rows: int) -> None:
        """Rows of one result on its way to the model. Raises CallRefusedError past the limit."""
        if rows > self.most_rows:
            raise refusal(f"the model takes more than {self.most_rows:,} rows out of Spark at once: {_ADVICE}")

    def make(self, data: bytes, rows: int) -> None:
        """Rows that are part of a plan; the same rows in several plans count once."""
        digest = sha256(data).digest()
        if digest not in self._made:
            self._made.add(digest)
            self._bytes += max(len(data), rows * _SHORTEST_ROW)
        if self._bytes > self.limit:
            raise refusal(f"the model makes more than {size(self.limit)} of rows itself: {_ADVICE}")
