"""What the benchmarks of single statements share: a session on a lake of its own, and rounds that are timed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["bench_session", "timed"]


def bench_session(folder: Path) -> SparkSession:
    """On main of a new lake that has the namespace bench.silver."""
    from tidegate.config import SparkSection
    from tidegate.lake.branch_catalog import MAIN
    from tidegate.lake.catalogs.embedded import EmbeddedCatalog
    from tidegate.spark.session import child_session, start_session

    folder.mkdir(parents=True, exist_ok=True)
    root = start_session(SparkSection(), folder / "logs", lambda line: print(line, file=sys.stderr))
    catalog = EmbeddedCatalog(folder / "catalog.db", folder / "warehouse")
    session = child_session(root, catalog.spark_conf(MAIN), catalog.spark_catalog(MAIN))
    for namespace in ("bench", "bench.silver"):
        session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    return session


def timed(number: int, name: str, work: Callable[[], object]) -> float:
    """Seconds, printed as those of a round; round 0 only warms up."""
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    print(f"{f'Round {number}' if number else 'Warm-up'}, {name}: {seconds:.2f} s", file=sys.stderr, flush=True)
    return seconds
