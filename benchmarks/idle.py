"""A project in which nothing has changed: `tidegate run` against `dbt run`, both built once before."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compile_project import write_projects
from benchmarks.compiling import Side, Target
from benchmarks.dbt import dbt_command, session_environment, session_profile
from benchmarks.usage import Usage, run_measured

__all__ = ["IDLE_MODELS", "Idle", "idle_targets", "measure_idle"]

IDLE_MODELS = 20
MOST_SECONDS = 1.5
MOST_OF_DBT = 0.1

Idle = Mapping[Side, Sequence[Usage]]
"""What each round took."""


@dataclass(frozen=True, slots=True)
class _Project:
    folder: Path
    command: Sequence[str]
    environment: Mapping[str, str]

    def measure(self, limit: float) -> Usage:
        return run_measured(self.command, self.folder, self.environment, limit)


def measure_idle(work: Path, rounds: int, limit: float, with_dbt: bool) -> Idle:
    """The first run of each side builds everything and is not counted; then they take turns."""
    folder = work / "idle"
    write_projects(folder, IDLE_MODELS)
    projects: dict[Side, _Project] = {"tidegate": _tidegate(folder)}
    if with_dbt:
        projects["dbt"] = _dbt(folder)
    found: dict[Side, list[Usage]] = {side: [] for side in projects}
    for number in range(rounds + 1):
        for side, project in projects.items():
            usage = project.measure(limit)
            print(f"{f'Round {number}' if number else 'Built'}, {side}: {usage.seconds:.2f} s", flush=True)
            if number:
                found[side].append(usage)
    return found


def idle_targets(measured: Idle) -> list[Target]:
    ours = statistics.median(usage.seconds for usage in measured["tidegate"])
    found = [Target(f"{IDLE_MODELS} models, nothing changed", ours, MOST_SECONDS, " s")]
    if "dbt" in measured:
        theirs = statistics.median(usage.seconds for usage in measured["dbt"])
        found.append(Target(f"{IDLE_MODELS} models, nothing changed, against dbt", ours / theirs, MOST_OF_DBT))
    return found


def _tidegate(folder: Path) -> _Project:
    # As on any machine: modules are compiled once, not with every start.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return _Project(folder / "tidegate", [str(Path(sys.executable).parent / "tidegate"), "run"], kept)


def _dbt(folder: Path) -> _Project:
    """With the same Spark and the same Java, in dbt's own process; it keeps its tables as Parquet files."""
    project = folder / "dbt"
    conf = {"spark.sql.warehouse.dir": str(folder / "warehouse"), "spark.ui.enabled": "false"}
    (project / "profiles.yml").write_text(session_profile(conf), encoding="utf-8")
    return _Project(project, dbt_command("run"), session_environment(project))
