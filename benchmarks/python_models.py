"""What the sandbox adds to Python models: the same models trusted and sandboxed, one of them and several."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.compiling import Target
from benchmarks.usage import run_measured

__all__ = ["SEVERAL", "PythonTimes", "measure_python", "python_targets"]

SEVERAL = 6
"""Models of the larger project: the first and the next ones."""

MOST_FOR_FIRST = 2.5
MOST_FOR_NEXT = 0.5
_LIMIT = 300.0

PythonTimes = Mapping[tuple[str, int], Sequence[float]]
"""Seconds of each round, by mode and number of models."""

_MODEL = """\
from pyspark.sql import functions as F


def model(tg):
    days = tg.ref("silver.days")
    return days.groupBy("region").agg(F.sum("amount").alias("amount"), F.lit({number}).alias("number"))
"""

_SOURCE = "SELECT id, id % 7 AS region, CAST(id AS double) AS amount FROM range(1000)\n"


def measure_python(work: Path, rounds: int) -> PythonTimes:
    """Whole commands, each a fresh process that builds all models again, in turns; the first round is not counted."""
    found: dict[tuple[str, int], list[float]] = {(m, n): [] for n in (1, SEVERAL) for m in ("trusted", "sandbox")}
    folders = {case: _project(work / "python" / f"{case[0]}-{case[1]}", *case) for case in found}
    command = [str(Path(sys.executable).parent / "tidegate"), "run", "--full-refresh", "--concurrency", "1"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for number in range(rounds + 1):
        for (mode, models), folder in folders.items():
            seconds = run_measured(command, folder, environment, _LIMIT).seconds
            print(f"{f'Round {number}' if number else 'Warm-up'}, {models} {mode}: {seconds:.2f} s", flush=True)
            if number:
                found[mode, models].append(seconds)
    return found


def python_targets(times: PythonTimes) -> list[Target]:
    """From the differences within one round, which a busy machine changes least."""
    first = [ours - trusted for ours, trusted in zip(times["sandbox", 1], times["trusted", 1], strict=True)]
    several = [
        ours - trusted for ours, trusted in zip(times["sandbox", SEVERAL], times["trusted", SEVERAL], strict=True)
    ]
    following = [(all_of - one) / (SEVERAL - 1) for all_of, one in zip(several, first, strict=True)]
    return [
        Target("first sandboxed model of a run, more than trusted", statistics.median(first), MOST_FOR_FIRST, " s"),
        Target("each further one, more than trusted", statistics.median(following), MOST_FOR_NEXT, " s"),
    ]


def _project(folder: Path, mode: str, models: int) -> Path:
    (folder / "models" / "silver").mkdir(parents=True)
    (folder / "models" / "gold").mkdir()
    (folder / "tidegate.toml").write_text(
        f'[project]\nname = "bench"\n\n[spark]\nmaster = "local[*]"\n\n[sandbox]\nmode = "{mode}"\n'
    )
    (folder / "models" / "silver" / "days.sql").write_text(_SOURCE)
    for number in range(models):
        (folder / "models" / "gold" / f"region_{number}.py").write_text(_MODEL.format(number=number))
    return folder
