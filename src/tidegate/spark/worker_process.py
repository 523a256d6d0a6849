"""`python -m tidegate.spark.worker_process`: the process that holds the JVM. It reads its order from standard input."""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from tidegate.spark.worker_jvm import WorkerJvm
from tidegate.worker.worker_holding import hold_jvm
from tidegate.worker.worker_start import WorkerOrder

__all__ = ["main"]


def main() -> None:
    order = WorkerOrder.from_json(sys.stdin.read())
    reason = hold_jvm(order, lambda: WorkerJvm(order.arguments, order.variables, Path(order.log)))
    if reason is not None:
        with contextlib.suppress(OSError), Path(order.log).open("a") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} The worker, process {os.getpid()}, ended: {reason}\n")
    os._exit(0)  # a thread may still wait for the JVM


if __name__ == "__main__":
    main()
