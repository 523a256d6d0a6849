"""A worker without a JVM: what it is asked for is written to a file, and it can be told to fail or to hang."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

from tidegate.worker.worker_limits import WorkerLimits

MUCH = WorkerLimits(memory=1 << 40)


class FakeHost:
    """`plan`: what it does, by the name of a method: an error's text, or "hang"."""

    def __init__(self, plan: dict[str, str] | None = None, log: Path | None = None) -> None:
        self.plan = plan or {}
        self.calls: list[str] = []
        self.held = 1
        self.code: int | None = None
        self._log = log
        self._ended = threading.Event()

    def _called(self, what: str, lease: str = "") -> str | None:
        self.calls.append(f"{what} {lease}".strip())
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(f"{self.calls[-1]}\n")
        told = self.plan.get(what)
        if told == "hang":
            threading.Event().wait()
        if told is not None and told.startswith("fail"):
            raise RuntimeError(told)
        return told

    def start(self) -> None:
        self._called("start")

    def lend(self, lease: str) -> dict[str, Any]:
        self._called("lend", lease)
        return {"port": 4711, "secret": "s", "lease": lease}

    def take_back(self, lease: str) -> str | None:
        return self._called("take_back", lease)

    def connect_server(self) -> dict[str, Any]:
        self._called("connect_server")
        return {"address": "127.0.0.1:1", "token": "t"}

    def rest(self) -> None:
        self._called("rest")

    def memory(self) -> int:
        return self.held

    def exit_code(self) -> int | None:
        return self.code

    def wait(self) -> None:
        self._ended.wait()

    def end(self) -> None:
        self._called("end")
        self._ended.set()


if __name__ == "__main__":
    from tidegate.worker.worker_holding import hold_jvm
    from tidegate.worker.worker_start import WorkerOrder

    order = WorkerOrder.from_json(sys.stdin.read())
    log = Path(order.log)
    reason = hold_jvm(order, lambda: FakeHost(json.loads(order.variables.get("PLAN", "{}")), log))
    with log.open("a") as file:
        file.write(f"ended: {reason}\n")
