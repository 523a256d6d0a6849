"""A project in which nothing has changed: `tidegate run` against `dbt run`, both built once before."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.compile_project import write_projects
from benchmarks.compiling import Side, Target
from benchmarks.dbt import dbt_command, dbt_environment
from benchmarks.usage import Usage, run_measured
from tidegate.spark.java import find_java

__all__ = ["IDLE_MODELS", "Idle", "idle_targets", "measure_idle"]

IDLE_MODELS = 20
MOST_SECONDS = 1.5
MOST_OF_DBT = 0.1

_PROFILE = """\
bench:
  target: here
  outputs:
    here:
      type: spark
      method: session
      host: none
      schema: bench
      threads: {threads}
      server_side_parameters:
        spark.sql.warehouse.dir: {warehouse}
        spark.ui.enabled: "false"
"""

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
    profile = _PROFILE.format(threads=os.cpu_count(), warehouse=folder / "warehouse")
    (project / "profiles.yml").write_text(profile, encoding="utf-8")
    environment = {**dbt_environment(project), "PYTHONPATH": str(_spark(folder)), "JAVA_HOME": str(find_java().home)}
    return _Project(project, dbt_command("run"), environment)


def _spark(folder: Path) -> Path:
    """A folder with PySpark and nothing else of this environment."""
    libraries = folder / "libraries"
    libraries.mkdir()
    for name in ("pyspark", "py4j"):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed; --no-dbt measures without the comparison")
        (libraries / name).symlink_to(Path(spec.origin).parent)
    return libraries
