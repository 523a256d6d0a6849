"""What the readers of the formats have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

__all__ = ["NO_MARKS", "Source", "literal", "looks_like_pattern", "mark"]

NO_MARKS: Mapping[str, Column] = MappingProxyType({})

_PATTERN = re.compile(r"[{}\[\]*?\\]")


class Source:
    """Files of one format. `schema` is what they have (or were declared to have); void where there is no value."""

    schema: StructType
    notes: tuple[str, ...] = ()

    def load(self, target: StructType, marks: Mapping[str, Column] = NO_MARKS) -> list[DataFrame]:
        """The rows, in frames that have the columns of `target`, then `marks`: what the reader knows of each row."""
        raise NotImplementedError


def mark(frame: DataFrame, marks: Mapping[str, Column]) -> DataFrame:
    """A frame as it was read, with marks beside its columns."""
    return frame.select("*", *(value.alias(name) for name, value in marks.items()))


def literal(path: Path) -> str:
    """The path as Spark must be given it: names, not patterns. (Its switch for that reads files several times.)"""
    return _PATTERN.sub(r"\\\g<0>", str(path))


def looks_like_pattern(path: Path) -> bool:
    return _PATTERN.search(str(path)) is not None
