"""`python -m tests.chunks.all_jobs FOLDER`: chunk, process and load whatever waits, in one process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.chunks import chunk_bronze
from tidegate.chunks.chunk_project import open_chunk_project
from tidegate.chunks.process_bronze import pending_tasks, process_tasks
from tidegate.operations.chunks.jobs import LoadsResult, load
from tidegate.operations.workspace import Workspace
from tidegate.spark.session import open_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_all(folder: Path, spark: SparkSession | None = None) -> LoadsResult:
    """`spark`: with Delta; None: one of this process."""
    project = open_chunk_project(folder)
    for task in chunk_bronze.get_tasks(folder):
        chunk_bronze.process_task(task)
    tasks = pending_tasks(project, None)
    process_tasks(project, tasks, lambda: open_spark(project.settings, root=spark))
    return load(Workspace(project.settings), spark=spark)


if __name__ == "__main__":
    sys.exit(run_all(Path(sys.argv[1])).exit_code)
