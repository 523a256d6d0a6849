"""Puts Python functions that sandboxed code sends to Spark's workers behind walls, in a JVM that runs already."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.python_models.sandbox.worker_launcher import WORKER_CONF, worker_python
from tidegate.spark.session import WALLED_PYTHON

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["with_walled_functions"]

_lock = threading.Lock()


def with_walled_functions(session: SparkSession, section: SandboxSection) -> SandboxSection:
    """`section`; with `udfs = "refuse"` where this Spark would run functions without walls: another program started
    it, or its workers are on other machines."""
    if section.udfs != "sandbox":
        return section
    context: Any = session.sparkContext
    python = context._jvm.java.lang.System.getenv("PYSPARK_PYTHON") or ""
    if not python.endswith(f"/{WALLED_PYTHON}") or not context.master.startswith("local"):
        return replace(section, udfs="refuse")
    with _lock:
        worker_python(section, Path(python).parent, Path(python).name)
        conf = context._jvm.org.apache.spark.SparkEnv.get().conf()
        for name, value in WORKER_CONF.items():
            conf.set(name, value)
    return section
