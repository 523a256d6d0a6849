"""How far the jobs of Spark that this thread starts have come."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

__all__ = ["watched_tasks"]

_INTERVAL = 0.5
_FEW = 3
"""Tasks of a job that only counts: its progress says nothing about the work."""


@contextmanager
def watched_tasks(session: SparkSession, report: Callable[[float], None]) -> Iterator[None]:
    """`report` receives the share of tasks that have ended, from 0 to 1, of the job that now runs."""
    context = getattr(session, "sparkContext", None)
    if context is None:
        yield
        return
    group, ended = f"chunks-{uuid.uuid4().hex}", threading.Event()
    before = context.getLocalProperty(_GROUP)
    context.setLocalProperty(_GROUP, group)
    thread = threading.Thread(target=_watch, args=(context, group, ended, report), name="chunk-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with suppress(Exception):  # Spark may be gone
            context.setLocalProperty(_GROUP, before)


_GROUP = "spark.jobGroup.id"


def _watch(context: SparkContext, group: str, ended: threading.Event, report: Callable[[float], None]) -> None:
    newest = 0.0
    while not ended.wait(_INTERVAL):
        with suppress(Exception):
            share = _share(context, group)
            if share > newest:
                newest = share
                report(share)


def _share(context: SparkContext, group: str) -> float:
    tracker = context.statusTracker()
    shares = [0.0]
    for job in tracker.getJobIdsForGroup(group):
        info = tracker.getJobInfo(job)
        for stage in info.stageIds if info is not None else ():
            found = tracker.getStageInfo(stage)
            if found is not None and found.numTasks > _FEW and info is not None and info.status == "RUNNING":
                shares.append(found.numCompletedTasks / found.numTasks)
    return max(shares)
