"""Workers that hold no JVM, in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tidegate.worker import worker_lease
from tidegate.worker.worker_folder import WorkerPlace, project_folder
from tidegate.worker.worker_lease import LeaseRequest, WorkerLease, ask_worker, lease_worker
from tidegate.worker.worker_start import WorkerOrder, start_worker

ROOT = Path(__file__).parents[2]
FAKE = (sys.executable, "-P", "-m", "tests.worker.fake_host")


class Workers:
    """Those of one project, each started as a command would start it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "calls"
        self.started: list[subprocess.Popen[bytes]] = []
        self.leases: list[WorkerLease] = []

    def place(self, name: str = "a" * 16) -> WorkerPlace:
        return WorkerPlace(project_folder(self.root), name)

    def start(self, plan: dict[str, str] | None = None, name: str = "a" * 16) -> subprocess.Popen[bytes]:
        order = WorkerOrder(
            name=name,
            folder=str(project_folder(self.root)),
            project=str(self.root),
            version="1.0",
            arguments=(),
            variables={"PLAN": json.dumps(plan or {})},
            log=str(self.log),
            keep_alive=600,
            memory=1 << 40,
        )
        path = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
        process = start_worker(order, {**os.environ, **path}, FAKE)
        self.started.append(process)
        return process

    def lease(self, plan: dict[str, str] | None = None, name: str = "a" * 16) -> WorkerLease | None:
        lease = lease_worker(self.place(name), LeaseRequest("sql", 600), lambda: self.start(plan, name), lambda: None)
        if lease is not None:
            self.leases.append(lease)
        return lease

    def called(self, what: str) -> bool:
        return self.log.exists() and any(line.startswith(what) for line in self.log.read_text().splitlines())

    def status(self) -> dict[str, Any] | None:
        return ask_worker(self.place(), "status")


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    runtime = Path("/tmp", f"tidegate-test-{os.getpid()}")
    runtime.mkdir(mode=0o700, exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setattr(worker_lease, "ANSWER_SECONDS", 1.0)
    workers = Workers(tmp_path)
    yield workers
    for lease in workers.leases:
        lease.close()
    for process in workers.started:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
    shutil.rmtree(runtime)
