"""`python -m tests.chunks.all_jobs FOLDER`: chunk, process and load whatever waits, in one process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.config import load_settings
from tidegate.operations.chunks.jobs import LoadsResult, chunk, load, process
from tidegate.operations.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run_all(folder: Path, spark: SparkSession | None = None) -> LoadsResult:
    """`spark`: with Delta; None: one of this process."""
    workspace = Workspace(load_settings(folder))
    assert chunk(workspace).failures == []
    assert process(workspace, spark=spark).failures == []
    return load(workspace, spark=spark)


if __name__ == "__main__":
    sys.exit(run_all(Path(sys.argv[1])).exit_code)
