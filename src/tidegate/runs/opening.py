"""Spark for a project: a session that has the drivers which its sources need."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.config import Settings, SparkSection
from tidegate.sources.reading import needs_driver
from tidegate.spark.jars import POSTGRES_JAR, ensure_jars
from tidegate.spark.java import find_java
from tidegate.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_spark"]


def open_spark(
    settings: Settings, sources: Collection[str], say: Callable[[str], None], root: SparkSession | None = None
) -> tuple[SparkSession, tuple[Path, ...]]:
    """`root`, or a new one; and the drivers' jars, for sessions made from it."""
    drivers = ensure_jars(find_java(), say, (POSTGRES_JAR,)) if needs_driver(settings, sources) else ()
    if root is None:
        root = start_session(_with_jars(settings.spark, drivers), settings.root / ".tidegate" / "logs", say)
    return root, drivers


def _with_jars(spark: SparkSection, jars: tuple[Path, ...]) -> SparkSection:
    """Every thread of a Spark that starts with a jar has it; of one added later, only the thread that added it."""
    if not jars:
        return spark
    given = [spark.conf["spark.jars"]] if "spark.jars" in spark.conf else []
    return replace(spark, conf={**spark.conf, "spark.jars": ",".join([*given, *map(str, jars)])})
