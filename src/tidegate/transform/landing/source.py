"""What the readers of the formats have in common."""

from __future__ import annotations

import re
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

__all__ = ["Source", "literal", "looks_like_pattern"]

_PATTERN = re.compile(r"[{}\[\]*?\\]")


class Source:
    """Files of one format. `schema` is what they have (or were declared to have); void where there is no value."""

    schema: StructType
    notes: tuple[str, ...] = ()

    def load(self, target: StructType) -> list[DataFrame]:
        """The rows, in frames that have exactly the columns of `target`."""
        raise NotImplementedError


def literal(path: Path) -> str:
    """The path as Spark must be given it: names, not patterns. (Its switch for that reads files several times.)"""
    return _PATTERN.sub(r"\\\g<0>", str(path))


def looks_like_pattern(path: Path) -> bool:
    return _PATTERN.search(str(path)) is not None
