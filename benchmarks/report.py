"""The page docs/benchmarks.md."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from benchmarks.statements import STATEMENTS
from tidegate.spark.java import find_java

TARGET = 1.05

_PAGE = """\
# Benchmarks

Written by `make bench` on {day}; run it to have the numbers of your machine.

| | |
|---|---|
| machine | {machine} |
| software | {software} |

## Time

{count} models over a source table of {rows:,} rows, all built from nothing. *Plain* is a PySpark script that runs the
same {count} statements one after the other as `CREATE OR REPLACE TABLE … AS`, with the same Spark settings, the same
kind of Iceberg catalog and the same table properties, and does nothing else: no branch, no history, no publish.
It starts its JVM as any script does; Tidegate's maps Spark's classes from a file that was made once (ADR 5). Each time
is that of a fresh process, from command to end, start of the JVM included; the two sides take turns, and a first round
that only warms up is not counted.

| round | plain (s) | tidegate (s) |
|---:|---:|---:|
{rounds}
| **median** | **{plain:.2f}** | **{tidegate:.2f}** |

**Ratio: {ratio:.3f}** (target: at most {target}).
"""

_MEMORY = """
## Memory

Peak resident memory of the Python process in the same run, by size of the source (`[spark] memory` sets the JVM's).
Rows never pass through Python, so it does not grow with them.

| rows | MiB |
|---:|---:|
{sizes}
"""


def report(rows: int, plain: Sequence[float], tidegate: Sequence[float], memory: Mapping[int, float]) -> str:
    pairs = enumerate(zip(plain, tidegate, strict=True), 1)
    page = _PAGE.format(
        day=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=f"{os.cpu_count()} cores, {_memory_gib():.0f} GiB, {platform.system()} {platform.machine()}",
        software=f"Python {platform.python_version()}, Java {find_java().version}, PySpark {version('pyspark')}, "
        f"Tidegate {version('tidegate')}",
        count=len(STATEMENTS),
        rows=rows,
        rounds="\n".join(f"| {number} | {p:.2f} | {t:.2f} |" for number, (p, t) in pairs),
        plain=statistics.median(plain),
        tidegate=statistics.median(tidegate),
        ratio=statistics.median(tidegate) / statistics.median(plain),
        target=TARGET,
    )
    sizes = "\n".join(f"| {count:,} | {peak:.0f} |" for count, peak in memory.items())
    return page + (_MEMORY.format(sizes=sizes) if memory else "")


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
