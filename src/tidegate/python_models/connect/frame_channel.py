"""Spark Connect inside the sandbox: PySpark's own client, whose calls are frames over the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegate.python_models.sandbox.link import Link

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["connect_session"]


def connect_session(link: Link) -> SparkSession:
    """The environment must hold SPARK_CONNECT_MODE_ENABLED and SPARK_REMOTE before PySpark is imported.

    One thread at a time may use it, and nobody else may receive from the link meanwhile.
    """
    raise NotImplementedError
