"""Rows of bronze validated and written to silver and its quarantine, against a plain read, cast and write of the same.

python -m benchmarks.silver FOLDER ROWS ROUNDS
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.compiling import Target
from benchmarks.session import bench_session, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.contracts.ingestion import SilverRules

__all__ = ["SILVER_ROWS", "SilverTimes", "measure_silver", "silver_targets"]

SILVER_ROWS = 5_000_000
MOST_OF_PLAIN = 1.8

SilverTimes = Mapping[str, Sequence[float]]
"""Seconds of each round, `plain` and `validated`."""

_ROOT = Path(__file__).parent.parent
_BRONZE, _PLAIN, _SILVER = "bench.silver.bronze", "bench.silver.plain", "bench.silver.orders"

_COLUMNS = {
    "id": ("bigint", "id"),
    "customer": ("bigint", "id % 100000"),
    "amount": ("decimal(12,2)", "IF(id % 100 = 0, '-1.005', CAST(id % 100000 / 100 AS DECIMAL(12,2)))"),
    "tax": ("decimal(12,2)", "CAST(id % 1000 / 100 AS DECIMAL(12,2))"),
    "quantity": ("int", "id % 50 + 1"),
    "price": ("double", "id % 977 / 7"),
    "status": ("string", "element_at(array('new', 'paid', 'sent', 'done'), INT(id % 4) + 1)"),
    "country": ("string", "element_at(array('NL', 'DE', 'FR'), INT(id % 3) + 1)"),
    "email": ("string", "concat('user', id % 100000, '@example.com')"),
    "name": ("string", "concat('Customer number ', id % 100000)"),
    "note": ("string", "md5(STRING(id))"),
    "ordered": ("date", "date_add(DATE '2020-01-01', INT(id % 1000))"),
    "shipped": ("date", "date_add(DATE '2020-01-05', INT(id % 1000))"),
    "created": ("timestamp", "timestamp_seconds(1600000000 + id)"),
    "updated": ("timestamp", "timestamp_seconds(1600003600 + id)"),
    "active": ("boolean", "id % 2 = 0"),
    "code": ("string", "concat('AB-', lpad(STRING(id % 10000), 4, '0'))"),
    "score": ("float", "FLOAT(id % 100 / 3)"),
    "weight": ("double", "id % 333 / 11"),
    "line": ("int", "id % 9 + 1"),
}
"""Type, and an expression over `id` for what bronze has as text: one row of a hundred does not cast."""

_OPTIONS = {
    "amount": {"minimum": 0, "maximum": 100_000},
    "tax": {"minimum": 0},
    "quantity": {"minimum": 1, "maximum": 100},
    "price": {"minimum": 0},
    "email": {"format": "email"},
    "name": {"maxLength": 80},
    "ordered": {"minimum": "2000-01-01"},
    "code": {"pattern": "^[A-Z]{2}-[0-9]{4}$"},
}
_ALLOWED = {"status": ("new", "paid", "sent", "done"), "country": ("NL", "DE", "FR")}
_REQUIRED = ("customer", "created")
"""With the key fifteen constraints in all."""


def measure_silver(work: Path, rows: int, rounds: int) -> SilverTimes:
    """In a process of its own, which is gone when the next part is measured."""
    command = [sys.executable, "-m", "benchmarks.silver", str(work / "silver"), str(rows), str(rounds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    times: SilverTimes = json.loads(done.stdout.splitlines()[-1])
    return times


def silver_targets(times: SilverTimes) -> list[Target]:
    ratio = statistics.median(times["validated"]) / statistics.median(times["plain"])
    return [Target("silver against a plain read, cast and write", ratio, MOST_OF_PLAIN)]


def main(folder: Path, rows: int, rounds: int) -> None:
    session = bench_session(folder)
    texts = ", ".join(f"STRING({expression}) AS {name}" for name, (_, expression) in _COLUMNS.items())
    about = (
        "TIMESTAMP '2024-01-01' AS _ingested_at, 'orders/a.csv' AS _source_file, id AS _source_row, 'run-1' AS _run_id"
    )
    order = "'read' AS _op, TIMESTAMP '2024-01-01' AS _commit_time, lpad(STRING(id), 20, '0') AS _sequence"
    session.sql(f"CREATE TABLE {_BRONZE} USING iceberg AS SELECT {texts}, {about}, {order} FROM range(0, {rows}, 1, 4)")
    rules = _rules()
    found: dict[str, list[float]] = {"plain": [], "validated": []}
    for number in range(rounds + 1):
        for name, work in (("plain", lambda: _cast(session)), ("validated", lambda: _validate(session, rules, rows))):
            seconds = timed(number, name, work)
            if number:
                found[name].append(seconds)
    print(json.dumps(found), flush=True)


def _rules() -> SilverRules:
    from tidegate.contracts.ingestion import SilverColumn, SilverRules

    columns = tuple(
        SilverColumn(
            name,
            kind,
            (name,),
            required=name in _REQUIRED,
            primary_key=name == "id",
            allowed=_ALLOWED.get(name),
            options=_OPTIONS.get(name, {}),
        )
        for name, (kind, _) in _COLUMNS.items()
    )
    return SilverRules("orders", "orders", columns, ("id",), "current_state")


def _cast(session: SparkSession) -> None:
    casts = ", ".join(f"try_cast({name} AS {kind}) AS {name}" for name, (kind, _) in _COLUMNS.items())
    session.sql(
        f"CREATE OR REPLACE TABLE {_PLAIN} USING iceberg AS SELECT {casts}, _commit_time, _sequence FROM {_BRONZE}"
    )


def _validate(session: SparkSession, rules: SilverRules, rows: int) -> None:
    from tidegate.transform.silver import DELETED, validated

    frame = session.table(_BRONZE)
    about = ("bench", "1.0.0", "run-1", datetime.now(UTC))
    with validated(session, frame, rules, *about, target=None, written_once=True) as result:
        result.valid.drop(DELETED).writeTo(_SILVER).using("iceberg").createOrReplace()
        result.refused.writeTo(f"{_SILVER}__quarantine").using("iceberg").createOrReplace()
    if (result.counts.read, result.counts.refused) != (rows, -(-rows // 100)):
        raise SystemExit(f"One row of a hundred should have been refused: {result.counts}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
