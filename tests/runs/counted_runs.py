"""`python -m tests.runs.counted_runs PROJECT STEP…`: a run after the files of each step are copied into the project, in
one process and JVM. Prints the run ids."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tests.projects import FakeClock
from tidegate.config import load_settings
from tidegate.operations.maintain import maintain_after_run
from tidegate.runs import RunOptions
from tidegate.runs.build.spark_builder import open_spark_builder
from tidegate.runs.lifecycle import run_project


def main(root: Path, steps: list[Path]) -> None:
    settings, clock = load_settings(root), FakeClock("2024-03-05T00:00:00")
    for step in steps:
        shutil.copytree(step, root, dirs_exist_ok=True)
        result = run_project(
            settings, RunOptions(), clock=clock, open_builder=open_spark_builder, maintain=maintain_after_run
        )
        for model in result.materializations:
            print(model.model, model.status, model.run_type, model.reason, model.error, file=sys.stderr)
        if result.exit_code:
            raise SystemExit(f"{result.error} {result.warnings}")
        print(result.run_id)
    from pyspark.sql import SparkSession

    SparkSession.builder.getOrCreate().stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(step) for step in sys.argv[2:]])
