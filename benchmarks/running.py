"""Memory of a run against the size of the data, and what the benchmarks share to run processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.bench_project import BenchProject
from benchmarks.lake_rows import LakeRows

__all__ = ["measure_memory", "run_process", "say"]

ROOT = Path(__file__).parent.parent
MEMORY_ROWS = (100_000, 1_000_000, 5_000_000)


def measure_memory(work: Path) -> dict[int, float]:
    """Peak MiB of Tidegate's Python process for each size of the source."""
    peaks = {}
    project = BenchProject(work / "memory")
    project.write()
    with closing(LakeRows(work)) as lake:
        for rows in MEMORY_ROWS:
            lake.recreate(project, rows)
            answer = work / "peak"
            command = [sys.executable, "-m", "benchmarks.measured", str(answer), *project.command("run")[1:]]
            with lake.paused():
                run_process(command, work)
            peaks[rows] = int(answer.read_text()) / 1024
            say(f"{rows:,} rows: Python took {peaks[rows]:.0f} MiB at most")
    return peaks


def run_process(command: Sequence[str], work: Path) -> None:
    log = work / "output.log"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    with log.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, env=environment, cwd=work, check=False)
    if done.returncode != 0:
        say(log.read_text(errors="replace"))
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}")


def say(line: str) -> None:
    print(line, flush=True)
