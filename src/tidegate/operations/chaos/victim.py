"""The run that is killed, in a process of its own: `python -m tidegate.operations.chaos.victim JOB`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tidegate import processes
from tidegate.config import load_settings
from tidegate.faults import FAULT, FAULT_LOG, Fault
from tidegate.operations.chaos.lake_copy import Scratch, settings_in
from tidegate.operations.run import run_project
from tidegate.runs.clock import FixedClock
from tidegate.runs.options import RunOptions

__all__ = ["Ended", "kill_at"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How the process ended."""

    killed: bool
    """It reached the fault point."""

    code: int | None = None
    """Its exit code otherwise; None: it did not end in time."""

    output: str = ""
    """The last lines that it wrote."""


def kill_at(point: Fault, scratch: Scratch, options: RunOptions, now: datetime, seconds: float) -> Ended:
    """Run the project on the copy, and let it die there; with it goes everything that it started."""
    job = scratch.folder / "victim.json"
    job.write_text(json.dumps(_job(scratch, options, now)))
    log = scratch.folder / "victim.log"
    environment = {key: value for key, value in os.environ.items() if key != FAULT_LOG} | {FAULT: str(point)}
    with log.open("wb") as output:
        command = [sys.executable, "-m", "tidegate.operations.chaos.victim", str(job)]
        process = processes.start(command, env=environment, stdout=output, together=True)
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # As in a power cut, Spark's JVM is killed too; it would work on for a moment.
            processes.kill(process)
    if code == -signal.SIGKILL:
        return Ended(killed=True)
    return Ended(False, code, "\n".join(log.read_text(errors="replace").strip().splitlines()[-3:]))


def _job(scratch: Scratch, options: RunOptions, now: datetime) -> dict[str, Any]:
    original = scratch.original
    return {
        "root": str(original.root),
        "file": str(original.file),
        "folder": str(scratch.folder),
        "name": scratch.name,
        "now": now.isoformat(),
        "options": options.to_dict(),
    }


def main(job: Path) -> int:
    arguments = json.loads(job.read_text())
    settings = load_settings(Path(arguments["root"]), Path(arguments["file"]))
    copied = settings_in(settings, Path(arguments["folder"]), arguments["name"])
    clock = FixedClock(datetime.fromisoformat(arguments["now"]))
    return run_project(copied, RunOptions.from_dict(arguments["options"]), clock=clock).exit_code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
