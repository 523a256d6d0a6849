"""Twenty checks of a table in one pass, against one pass of sums and against a query for each.

python -m benchmarks.checks FOLDER ROWS ROUNDS
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.compiling import Target
from benchmarks.session import bench_session, timed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.checks.check_values import ValueRange
    from tidegate.lake.metadata import TableMetadata, ViewMetadata
    from tidegate.quality import CheckQuery

__all__ = ["CHECK_ROWS", "CheckTimes", "check_targets", "measure_checks"]

CHECK_ROWS = 5_000_000
MOST_OF_SUMS = 2.0
MOST_OF_ALONE = 1 / 3

CheckTimes = Mapping[str, Sequence[float]]
"""Seconds of each round, by what was measured: `sums`, `together`, `alone`, `exact together` and `exact alone`."""

_ROOT = Path(__file__).parent.parent
_TABLE = "bench.silver.facts"
_OTHER = "bench.silver.known"
_CHECKS = (
    "not_null(c0)",
    "compare(c1, >=, 0)",
    "between(c2, 0, 1000000)",
    "in_list(c3, '0, 1, 2, 3')",
    "not_in(c4, '-1, -2')",
    "check('positive', 'c5 >= 0')",
    "required_if(c6, 'c6 > 0')",
    "not_null(c7)",
    "between(c8, 0, 1000000)",
    "compare(c9, <, 1000000)",
    "no_nan(c10)",
    "finite(c11)",
    "null_percent(c12, 50%)",
    "at_least_one(c13)",
    "not_constant(c14)",
    "mean(c15, >, 0)",
    "min(c16, >=, 0)",
    "sum(c17, >, 0)",
    "stddev(c18, >, 0)",
    "zscore(c19, 100)",
)
_EXACT = (
    "unique(id)",
    "primary_key(id)",
    "references(c3, silver.known, id)",
    "percentile(c15, 0.95, >, 0)",
    "median(c16, >, 0)",
    "distinct_count(c4, >, 1)",
)


def measure_checks(work: Path, rows: int, rounds: int) -> CheckTimes:
    """In a process of its own, which is gone when the next part is measured."""
    command = [sys.executable, "-m", "benchmarks.checks", str(work / "checks"), str(rows), str(rounds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "src")])}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    times: CheckTimes = json.loads(done.stdout.splitlines()[-1])
    return times


def check_targets(times: CheckTimes) -> list[Target]:
    together = statistics.median(times["together"])
    return [
        Target("20 checks against 20 sums", together / statistics.median(times["sums"]), MOST_OF_SUMS),
        Target("20 checks against one query each", together / statistics.median(times["alone"]), MOST_OF_ALONE),
    ]


def main(folder: Path, rows: int, rounds: int) -> None:
    session = bench_session(folder)
    _write(session, rows)
    sums = ", ".join(f"sum(c{number})" for number in range(20))
    checks, exact = _asked(session, _CHECKS), _asked(session, _EXACT)

    from tidegate.quality.file_proof import FileProof

    metadata = _metadata(session)
    work: dict[str, Callable[[], object]] = {
        "sums": lambda: session.sql(f"SELECT {sums} FROM {_TABLE}").collect(),
        "together": lambda: _ask(session, checks, FileProof(metadata).proves),
        "alone": lambda: _each(session, checks),
        "exact together": lambda: _ask(session, exact),
        "exact alone": lambda: _each(session, exact),
    }
    found: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, do in work.items():
            seconds = timed(number, name, do)
            if number:
                found[name].append(seconds)
    print(json.dumps(found), flush=True)


def _write(session: SparkSession, rows: int) -> None:
    columns = [f"id * {7919 + n} % {4 if n == 3 else 100_000} AS c{n}" for n in range(10)]
    columns += [f"IF(id % 97 = {n}, NULL, (id * {7919 + n} % 100000) / 7D) AS c{n}" for n in range(10, 20)]
    session.sql(f"CREATE TABLE {_TABLE} USING iceberg AS SELECT id, {', '.join(columns)} FROM range(0, {rows}, 1, 4)")
    session.sql(f"CREATE TABLE {_OTHER} USING iceberg AS SELECT id FROM range(1000)")


def _asked(session: SparkSession, calls: Sequence[str]) -> list[CheckQuery]:
    from tidegate.checks.check_registry import rule_of
    from tidegate.checks.check_values import Check, Stage
    from tidegate.checks.parsing import parse_call
    from tidegate.datatypes import Column, Relation, parse_type
    from tidegate.problems import Place
    from tidegate.quality import CheckQuery

    fields = session.table(_TABLE).schema.fields
    types = [(field.name, parse_type(field.dataType.simpleString())) for field in fields]
    columns = Relation(tuple(Column(name, kind) for name, kind in types if kind is not None))
    checks = [Check(text, Stage.BEFORE_WRITE, Place("bench.sql"), parse_call(text)[0]) for text in calls]
    return [CheckQuery(check, rule_of(check, columns, "bench")) for check in checks]


def _metadata(session: SparkSession) -> TableMetadata | ViewMetadata:
    from tidegate.lake.branch_catalog import Pointer, PointerKind
    from tidegate.lake.metadata import read_metadata

    files = session.sql(f"SELECT file FROM {_TABLE}.metadata_log_entries ORDER BY timestamp DESC").collect()
    return read_metadata(Pointer(PointerKind.TABLE, files[0].file))


def _ask(
    session: SparkSession, asked: Sequence[CheckQuery], proven: Callable[[ValueRange], bool] = lambda within: False
) -> None:
    from tidegate.quality import evaluate_checks

    found = evaluate_checks(session, _TABLE, asked, keys=("id",), proven=proven)
    wrong = [one for one in found if one.status != "passed"]
    if wrong:
        raise SystemExit(f"These checks should have passed: {wrong}")


def _each(session: SparkSession, asked: Sequence[CheckQuery]) -> None:
    for one in asked:
        _ask(session, [one])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
