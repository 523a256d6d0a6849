"""Spark for a project, with its log in the project's folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.config import Settings
from tidegate.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_spark"]


def open_spark(
    settings: Settings, say: Callable[[str], None] = lambda line: None, root: SparkSession | None = None
) -> SparkSession:
    """`root`, or a new one."""
    return root or start_session(settings.spark, settings.root / ".tidegate" / "logs", say)
