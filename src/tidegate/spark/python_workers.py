"""The Python processes that run functions for Spark: those of one command must not serve another."""

from __future__ import annotations

from typing import Any

__all__ = ["end_python_workers"]


def end_python_workers(jvm: Any, mark: str) -> None:
    """End those whose key holds `mark`, for instance a variable of their environment.

    Spark keeps them until it ends itself, and has no method to end some of them.
    """
    environment = jvm.org.apache.spark.SparkEnv.get()
    field = environment.getClass().getDeclaredField("pythonWorkers")
    field.setAccessible(True)
    factories = field.get(environment).toSeq()  # a copy: tasks of other commands add to it
    for number in range(factories.size()):
        entry = factories.apply(number)
        if mark in entry._1().toString():
            entry._2().stop()
