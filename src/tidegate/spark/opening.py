"""Spark for a project, with its log in the project's folder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidegate.config import Settings
from tidegate.spark.jvm import running_jvm
from tidegate.spark.session import start_session
from tidegate.spark.starting import NOT_STARTED, STARTED, STARTING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_spark"]


def open_spark(
    settings: Settings, say: Callable[[str], None] = lambda line: None, root: SparkSession | None = None
) -> SparkSession:
    """`root`, or a new one. `say` gets STARTING, then STARTED or NOT_STARTED."""
    if root is not None:
        return root
    if _is_running():
        return start_session(settings.spark, settings.root / ".tidegate" / "logs", say)
    say(STARTING)
    try:
        session = start_session(settings.spark, settings.root / ".tidegate" / "logs", say)
    except BaseException:
        say(NOT_STARTED)
        raise
    say(STARTED)
    return session


def _is_running() -> bool:
    """Whether this process has a Spark already, which the next session shares."""
    jvm = running_jvm()
    return jvm is not None and jvm.alive
