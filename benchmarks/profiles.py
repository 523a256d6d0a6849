"""What it costs to put down, while a table is written, what its rows look like.

python -m benchmarks.profiles FOLDER ROWS ROUNDS
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.compiling import Target
from benchmarks.session import bench_session, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PROFILE_ROWS", "ProfileTimes", "measure_profiles", "profile_targets"]

PROFILE_ROWS = 2_000_000
MOST_OF_PLAIN = 1.10

ProfileTimes = Mapping[str, Sequence[float]]
"""Seconds of each round, by what was measured: `plain` and `profiled`."""

_ROOT = Path(__file__).parent.parent
_SOURCE, _TARGET = "bench.silver.source", "bench.silver.target"


def measure_profiles(work: Path, rows: int, rounds: int) -> ProfileTimes:
    """In a process of its own, which is gone when the next part is measured."""
    command = [sys.executable, "-m", "benchmarks.profiles", str(work / "profiles"), str(rows), str(rounds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    times: ProfileTimes = json.loads(done.stdout.splitlines()[-1])
    return times


def profile_targets(times: ProfileTimes) -> list[Target]:
    share = statistics.median(times["profiled"]) / statistics.median(times["plain"])
    return [Target("writing a table with its profile against without", share, MOST_OF_PLAIN)]


def main(folder: Path, rows: int, rounds: int) -> None:
    session = bench_session(folder)
    _write(session, rows)
    found: dict[str, list[float]] = {"plain": [], "profiled": []}
    for number in range(rounds + 1):
        # Whoever goes second finds the machine warmer: they take turns.
        for name in ("plain", "profiled") if number % 2 else ("profiled", "plain"):
            seconds = timed(number, name, partial(_refresh, session, rows, profiled=name == "profiled"))
            if number:
                found[name].append(seconds)
    print(json.dumps(found), flush=True)


def _write(session: SparkSession, rows: int) -> None:
    """Whole numbers, amounts, text, dates and times; few, many and only different values; NULLs."""
    columns = [f"id * {7919 + n} % {(4, 1_000, 100_000, 10**9)[n % 4]} AS whole{n}" for n in range(8)]
    columns += [f"IF(id % 97 = {n}, NULL, (id * {7919 + n} % 100000) / 7D) AS real{n}" for n in range(5)]
    columns += ["CAST(id % 100000 / 100 AS decimal(12, 2)) AS amount"]
    columns += ["concat('customer ', id % 50000) AS customer", "concat('status ', id % 5) AS status"]
    columns += ["concat('order-', id) AS code", "date_add(date'2020-01-01', CAST(id % 1000 AS int)) AS day"]
    columns += ["timestamp'2024-01-01' + make_dt_interval(0, 0, 0, id % 1000000) AS at"]
    session.sql(f"CREATE TABLE {_SOURCE} USING iceberg AS SELECT id, {', '.join(columns)} FROM range(0, {rows}, 1, 4)")


def _refresh(session: SparkSession, rows: int, profiled: bool) -> None:
    from tidegate.write.observed_rows import ObservedRows
    from tidegate.write.write_columns import columns_of

    frame = session.table(_SOURCE)
    columns = columns_of(frame)
    watched = ObservedRows(session, columns, columns, hashed=False, many=True) if profiled else None
    (watched.of(frame) if watched else frame).writeTo(_TARGET).using("iceberg").createOrReplace()
    if watched is not None and watched.counted(rows, "table", _TARGET) is None:
        raise SystemExit("Nothing was learnt of the rows that were written.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
