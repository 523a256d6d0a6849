"""Delta beside the tests' Spark: its jars, and a session of the same JVM that has its extension and its catalog."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.chunks.delta_table import DELTA_CONF
from tidegate.spark.jars import ensure_jars
from tidegate.spark.java import find_java
from tidegate.spark.table_formats import DELTA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EXTENSIONS = "spark.sql.extensions"


def delta_jars() -> tuple[Path, ...]:
    return ensure_jars(find_java(), lambda line: None, DELTA.jars)


def delta_session(spark: SparkSession) -> SparkSession:
    """Extensions are read when a session is made that is no child of another, and never again."""
    from pyspark.sql import SparkSession

    context = spark.sparkContext
    conf = context._jsc.sc().conf()
    before = conf.get(_EXTENSIONS)
    conf.set(_EXTENSIONS, f"{before},{DELTA.extension}")
    sessions = context._jvm.org.apache.spark.sql.classic.SparkSession
    try:
        session = SparkSession(context, sessions.builder().create())
    finally:
        conf.set(_EXTENSIONS, before)
        # The new one would be the session of all that names none, such as Spark's Connect server.
        sessions.setDefaultSession(spark._jsparkSession)
        sessions.setActiveSession(spark._jsparkSession)
    for key, value in {**DELTA.conf, **DELTA_CONF}.items():
        session.conf.set(key, value)
    return session
