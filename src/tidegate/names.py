"""Names of tables: how they are written and quoted, which are reserved, and which one a misspelt name may mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

__all__ = ["TableName", "is_plain_name", "is_zone_name", "literal", "nearest", "quote", "why_not_a_name"]

_QUARANTINE = "__quarantine"


def quote(name: str) -> str:
    """One name as Spark SQL takes it, whatever is in it."""
    return f"`{name.replace('`', '``')}`"


def literal(text: str) -> str:
    """One text as Spark SQL takes it, whatever is in it: `${…}` would stand for a variable, also within quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
    return f"'{escaped}'"


class TableName(NamedTuple):
    """`namespace.layer.name`, all three always known. A tuple, because large projects compare and hash millions."""

    namespace: str
    layer: str
    name: str

    @classmethod
    def parse(cls, text: str, namespace: str) -> TableName:
        """`layer.name` is in `namespace`; `ns.layer.name` says its own. Raises ValueError on anything else."""
        parts = text.split(".")
        if len(parts) == 2 and all(parts):
            return cls(namespace, *parts)
        if len(parts) == 3 and all(parts):
            return cls(*parts)
        raise ValueError(f"'{text}' is not a table name: write layer.name or namespace.layer.name")

    def short(self, namespace: str) -> str:
        """The name as a person of `namespace` writes it."""
        return f"{self.layer}.{self.name}" if self.namespace == namespace else str(self)

    @property
    def quoted(self) -> str:
        """For Spark SQL, without a catalog: the session's current catalog is the branch."""
        return ".".join(map(quote, (self.namespace, self.layer, self.name)))

    @property
    def quarantine(self) -> TableName:
        """The table beside this one that holds the rows which its model refused."""
        return self._replace(name=self.name + _QUARANTINE)

    @property
    def beside_quarantine(self) -> TableName | None:
        """The table whose refused rows this one holds, going by its name."""
        name = self.name.removesuffix(_QUARANTINE)
        return self._replace(name=name) if name not in ("", self.name) else None

    def __str__(self) -> str:
        return f"{self.namespace}.{self.layer}.{self.name}"


def nearest(word: str, names: Iterable[str], most: int = 3, edits: int | None = None) -> tuple[str, ...]:
    """The names within a number of edits, by default a third of `word`'s length (case does not count), nearest
    first."""
    limit = max(1, len(word) // 3) if edits is None else edits
    written, letters = word.lower(), Counter(word.lower())
    scored = []
    for name in set(names):
        other = name.lower()
        if abs(len(other) - len(written)) > limit or (Counter(other) - letters).total() > limit:
            continue
        distance = _distance(written, other, limit)
        if distance <= limit:
            scored.append((distance, name))
    return tuple(name for _, name in sorted(scored))[:most]


def _distance(a: str, b: str, limit: int) -> int:
    """Levenshtein's, with two neighbours swapped as one edit: that is how fingers slip. Past `limit` it only grows."""
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            current.append(min(previous[j] + 1, current[-1] + 1, previous[j - 1] + (x != y)))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                current[j] = min(current[j], before[j - 2] + 1)
        if min(current) > limit and min(previous) > limit:
            return limit + 1
        before, previous = previous, current
    return previous[-1]


_LONGEST_ZONE, _LONGEST_FILE_NAME = 1000, 255
"""Bytes: what file systems take, with room for the root and the files."""
_PLAIN = re.compile(r"\w[\w-]*")


def is_plain_name(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None


def is_zone_name(name: str) -> bool:
    """A path below the landing root; names that begin with '_' or '.' are never read."""
    parts = name.split("/")
    fits = "\0" not in name and len(name.encode("utf-8", "replace")) <= _LONGEST_ZONE
    return fits and all(
        part[:1] not in ("", "_", ".") and len(part.encode("utf-8", "replace")) <= _LONGEST_FILE_NAME for part in parts
    )


@lru_cache(maxsize=256)
def why_not_a_name(name: str) -> str | None:
    """Why `name` cannot be a namespace or a layer; None where it can be."""
    if not is_plain_name(name):
        return "it may hold letters, digits, '_' and '-' only, and must not begin with '-'"
    if name.lower() in {"main", "spark_catalog"} or name.lower().startswith("run_"):
        return "in a query it would be taken for a catalog ('main', 'spark_catalog' and 'run_…' are)"
    return None
