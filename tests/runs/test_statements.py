"""How many statements and jobs each strategy takes for a table: a few more of each is seconds in a cold JVM.

Cases are in tests/cases/statements: a model that reads `bronze.lines` (and perhaps others), and how many there may be
when it is built first, and when a few rows of its inputs were updated and inserted. Lower them with what they count.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import QUICK_JVM
from tests.runs.spark_events import statements_of, text_of

_NUMBERS = re.compile(r"statements: (\d+), jobs: (\d+)")

CASES = Path(__file__).parent.parent / "cases" / "statements"

TOML = """
[project]
name = "shop"
[spark]
master = "local[2]"
memory = "1g"
[run]
concurrency = 1
[spark.conf]
"spark.driver.extraJavaOptions" = "{jvm}"
"spark.eventLog.enabled" = "true"
"spark.eventLog.dir" = "file:{events}"
"spark.eventLog.rolling.enabled" = "false"
"spark.eventLog.compress" = "false"
"""


@dataclass(frozen=True)
class Case:
    name: str
    model: str
    most: tuple[tuple[int, int], ...]
    """Statements and jobs, of each run."""


def read_case(path: Path) -> Case:
    _, model, *runs = path.read_text().split("\n--- ")
    return Case(path.stem, model.partition("\n")[2], tuple(map(numbers, runs)))


def numbers(text: str) -> tuple[int, int]:
    found = _NUMBERS.search(text)
    assert found is not None, text
    return int(found[1]), int(found[2])


ALL = tuple(read_case(path) for path in sorted(CASES.glob("*.txt")))
"""Their models are one project, so that one JVM builds them."""


def lines(first: int, last: int, factor: int) -> str:
    rows = (f"{n},{n % 50},part-{n % 10},{n * factor},2024-01-{n % 28 + 1:02d}" for n in range(first, last))
    return "\n".join(["id,customer,part,amount,day", *rows])


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, str], str]:
    """By the number of the run and the case: what was run."""
    folder = tmp_path_factory.mktemp("counted")
    root, events = folder / "shop", folder / "events"
    events.mkdir()
    first, second = folder / "first", folder / "second"
    for step, text in ((first, lines(0, 1000, 1)), (second, lines(990, 1005, 2))):
        zone = step / "landing" / "lines"
        zone.mkdir(parents=True)
        (zone / f"{step.name}.csv").write_text(text)
    for case in ALL:
        layer = "bronze" if case.name == "lines" else "silver"
        path = first / "models" / layer / f"{case.name}.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(case.model)
    root.mkdir()
    (root / "tidegate.toml").write_text(TOML.format(jvm=QUICK_JVM, events=events))
    command = [sys.executable, "-m", "tests.runs.counted_runs", str(root), str(first), str(second)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=300)
    assert done.returncode == 0, done.stderr
    counts = {}
    statements = statements_of(events)
    for number, run_id in enumerate(done.stdout.split()):
        for case in ALL:
            table = f"shop.{'bronze' if case.name == 'lines' else 'silver'}.{case.name}"
            counts[number, case.name] = text_of(statements.get((run_id, table), []))
    return counts


@pytest.mark.spark
@pytest.mark.alone
@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_no_strategy_takes_more_statements_or_jobs(case: Case, counted: dict[tuple[int, str], str]) -> None:
    for number, (most_statements, most_jobs) in enumerate(case.most):
        ran = counted[number, case.name]
        statements, jobs = numbers(ran)
        assert statements <= most_statements, ran
        assert jobs <= most_jobs, ran
