"""What a run costs: time against a plain script, memory against the size of the data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["measure_memory", "measure_time"]

ROOT = Path(__file__).parent.parent
MEMORY_ROWS = (100_000, 1_000_000, 5_000_000)


@dataclass(frozen=True)
class Lake:
    """A prepared lake, put back before each measurement; its files know their own path, so it never moves."""

    folder: Path
    pristine: Path

    @classmethod
    def prepare(cls, work: Path, rows: int) -> Lake:
        say(f"Preparing a source of {rows:,} rows")
        lake = cls(work / f"lake-{rows}", work / f"pristine-{rows}")
        run_process([sys.executable, "-m", "benchmarks.lake", str(lake.folder), str(rows)], work)
        shutil.copytree(lake.folder, lake.pristine)
        return lake

    def remove(self) -> None:
        shutil.rmtree(self.folder)
        shutil.rmtree(self.pristine)

    def reset(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.pristine, self.folder)

    def plain_command(self) -> list[str]:
        return [sys.executable, "-m", "benchmarks.plain", str(self.folder / "plain.json")]

    def tidegate_command(self) -> list[str]:
        return [str(Path(sys.executable).parent / "tidegate"), "run", "--project", str(self.folder)]


def measure_time(work: Path, rows: int, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of each side, a fresh process each time, in turns; the first round only warms up."""
    lake = Lake.prepare(work, rows)
    plain, tidegate = [], []
    for number in range(rounds + 1):
        seconds = []
        for command in (lake.plain_command(), lake.tidegate_command()):
            lake.reset()
            started = time.perf_counter()
            run_process(command, work)
            seconds.append(time.perf_counter() - started)
        name = f"Round {number}" if number else "Warm-up"
        say(f"{name}: plain {seconds[0]:.2f} s, tidegate {seconds[1]:.2f} s")
        if number:
            plain.append(seconds[0])
            tidegate.append(seconds[1])
    lake.remove()
    return plain, tidegate


def measure_memory(work: Path) -> dict[int, float]:
    """Peak MiB of Tidegate's Python process for each size of the source."""
    peaks = {}
    for rows in MEMORY_ROWS:
        lake = Lake.prepare(work, rows)
        lake.reset()
        answer = work / "peak"
        run_process([sys.executable, "-m", "benchmarks.measured", str(answer), *lake.tidegate_command()[1:]], work)
        peaks[rows] = int(answer.read_text()) / 1024
        say(f"{rows:,} rows: Python took {peaks[rows]:.0f} MiB at most")
        lake.remove()
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
