"""A run with the pointer builder in a process of its own, which may be killed. It starts no JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.pointer_builder import PointerBuilder
from tidegate.config import load_settings
from tidegate.operations.maintain import maintain_after_run
from tidegate.runs import RunOptions
from tidegate.runs.lifecycle import run_project

ROOT = Path(__file__).parents[1]


def run_in_process(root: Path, fault: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the project below `root`, one model at a time. `fault`: the point at which the process is killed."""
    own = {"TIDEGATE_FAULT": fault} if fault else {}
    return subprocess.run(
        [sys.executable, "-m", "tests.pointer_run", str(root)],
        cwd=ROOT,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


if __name__ == "__main__":
    project = load_settings(Path(sys.argv[1]))
    options = RunOptions(concurrency=1)
    result = run_project(project, options, open_builder=PointerBuilder().start, maintain=maintain_after_run)
    sys.exit(result.exit_code)
