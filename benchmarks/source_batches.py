"""What it costs to read a table of PostgreSQL in batches that can be continued, against one read by Spark.

python -m benchmarks.source_batches FOLDER ROWS ROUNDS
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.compiling import Target
from benchmarks.session import bench_session, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.config import DatabaseSource

__all__ = ["SOURCE_ROWS", "SourceTimes", "batch_targets", "measure_batches"]

SOURCE_ROWS = 2_000_000
BATCH_ROWS = 100_000
MOST_OF_PLAIN = 2.0

SourceTimes = Mapping[str, Sequence[float]]
"""Seconds of each round, by what was measured: `plain` and `batched`."""

_ROOT = Path(__file__).parent.parent


def measure_batches(work: Path, rows: int, rounds: int) -> SourceTimes:
    """In a process of its own, which is gone when the next part is measured."""
    command = [sys.executable, "-m", "benchmarks.source_batches", str(work / "source"), str(rows), str(rounds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    times: SourceTimes = json.loads(done.stdout.splitlines()[-1])
    return times


def batch_targets(times: SourceTimes) -> list[Target]:
    share = statistics.median(times["batched"]) / statistics.median(times["plain"])
    return [Target("reading a source in batches against one read by Spark", share, MOST_OF_PLAIN)]


def main(folder: Path, rows: int, rounds: int) -> None:
    from tests.sources.postgres import running_postgres

    from tidegate.config import DatabaseSource, Secret

    found: dict[str, list[float]] = {"plain": [], "batched": []}
    with running_postgres() as server:
        server.execute(
            "CREATE ROLE bench LOGIN PASSWORD 'benchmark'",
            "CREATE TABLE orders AS SELECT id, timestamp '2024-01-01' + (id / 3) * interval '1 second' AS updated_at, "
            "md5(id::text) AS code, md5((id + 1)::text) AS name, id::numeric(12,2) AS amount, mod(id, 17) AS kind "
            f"FROM generate_series(1, {rows}) AS id",
            "CREATE INDEX ON orders (updated_at, id)",
            "GRANT SELECT ON orders TO bench",
            "ANALYZE orders",
        )
        source = DatabaseSource(
            "shop", "127.0.0.1", server.port, "postgres", "bench", Secret("benchmark"), timeout=timedelta(minutes=1)
        )
        session = bench_session(folder)
        for number in range(rounds + 1):
            reads = {
                "plain": partial(_read_plainly, session, source, rows, folder / f"plain-{number}"),
                "batched": partial(_read_in_batches, session, source, rows, folder / f"batched-{number}"),
            }
            # Whoever goes second finds the machine warmer: they take turns.
            for name in ("plain", "batched") if number % 2 else ("batched", "plain"):
                seconds = timed(number, name, reads[name])
                if number:
                    found[name].append(seconds)
    print(json.dumps(found), flush=True)


def _read_plainly(session: SparkSession, source: DatabaseSource, rows: int, folder: Path) -> None:
    from tidegate.sources.jdbc_source import jdbc_options

    options = jdbc_options(source) | {"fetchsize": "10000", "preferTimestampNTZ": "true"}
    url, parts = options.pop("url"), max(1, rows // BATCH_ROWS)
    frame = session.read.jdbc(
        url, "orders", column="id", lowerBound=1, upperBound=rows, numPartitions=parts, properties=options
    )
    frame.write.parquet(str(folder))


def _read_in_batches(session: SparkSession, source: DatabaseSource, rows: int, folder: Path) -> None:
    from dataclasses import replace

    from tests.ingest.sql_projects import table_contract

    from tidegate.config import LandingSection, load_settings
    from tidegate.ingest.logical_run import LogicalRun, land

    folder.mkdir()
    (folder / "tidegate.toml").touch()
    settings = load_settings(folder)
    settings = replace(settings, sources={"shop": source}, landing=LandingSection(folder / "landing"))
    contract = table_contract(
        "postgres",
        "orders",
        filtering_column="updated_at",
        ordering_columns=("updated_at",),
        batched=True,
        batch_size=BATCH_ROWS,
    )
    landed = land(LogicalRun(contract, settings, "run-1", session=lambda: session))
    if landed.rows != rows:
        raise SystemExit(f"{landed.rows} of {rows} rows were landed.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
