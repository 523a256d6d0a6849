"""Runs code that is not trusted: each job in a process of its own, behind walls."""

from __future__ import annotations

import contextlib
import shutil
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.errors import SandboxMissingError
from tidegate.python_models.sandbox.job_failure import failure_of
from tidegate.python_models.sandbox.job_run import JobRun
from tidegate.python_models.sandbox.sandbox_job import CallHandler, JobResult, SandboxJob, Wall
from tidegate.python_models.sandbox.zygote_process import ZygoteProcess

__all__ = ["PRELOADED", "Sandbox"]

PRELOADED = (
    "tidegate.python_models.child_jobs",
    "numpy",
    "pandas",
    "pyarrow",
    "pyspark.sql.connect.session",
    "pyspark.sql.functions",
    "pyspark.sql.types",
)
"""What a job finds imported."""

_TRUST = (
    "Use a Linux system that allows user namespaces or Landlock; or, if you trust the code, set"
    ' `mode = "trusted"` in [sandbox], which runs it inside Tidegate\'s own process.'
)


class Sandbox:
    """Thread-safe: several jobs may run at once. `folder`: for temporary files; it may be shared.

    `without`: walls to leave out, for tests of the others.
    """

    def __init__(
        self,
        section: SandboxSection,
        folder: Path,
        preload: Sequence[str] = PRELOADED,
        without: Sequence[str] = (),
    ) -> None:
        self._section = section
        self._folder = folder
        self._preload = preload
        self._without = without
        self._lock = threading.Lock()
        self._zygote: ZygoteProcess | None = None
        self._closed = False

    def __enter__(self) -> Sandbox:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the process that has the imports loaded, and do not wait for it: the first job does.

        Raises SandboxMissingError where this system has no sandbox at all.
        """
        self._process()

    def walls(self) -> tuple[Wall, ...]:
        """Raises SandboxMissingError where those that are there do not suffice."""
        return self._ready().walls()

    def run(
        self,
        job: SandboxJob,
        calls: CallHandler,
        *,
        on_log: Callable[[str], None] = lambda message: None,
        timeout: timedelta | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> JobResult:
        """`timeout`: of the job, if less than that of the sandbox. `cancelled`: asked several times a second.

        Raises PythonCodeError for what the code did, RunCancelledError, SandboxMissingError, SandboxDiedError. Then,
        as after a result, nothing of the job runs any more.
        """
        zygote = self._ready()
        allowed = min(timeout or self._section.timeout, self._section.timeout)
        deadline = time.monotonic() + allowed.total_seconds()
        name = uuid.uuid4().hex
        scratch, arrow = zygote.folder / f"work-{name}", zygote.folder / f"{name}.arrow"
        scratch.mkdir(mode=0o700)
        link, link_there = socket.socketpair()
        status, status_there = socket.socketpair()
        kept = False
        try:
            with link_there, status_there:
                zygote.start_job(link_there, status_there, scratch)
            end = JobRun(link, status, arrow, self._section.local_rows, on_log).run(job, calls, deadline, cancelled)
            if end.result is None or end.stopped is not None:
                raise failure_of(job, end, self._section, allowed)
            kept = end.result.arrow is not None
            return end.result
        finally:
            link.close()
            status.close()
            shutil.rmtree(scratch, ignore_errors=True)
            if not kept:
                with contextlib.suppress(OSError):
                    arrow.unlink(missing_ok=True)

    def close(self) -> None:
        """Ends every job, and removes all files, also those of results."""
        with self._lock:
            self._closed = True
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()

    def _ready(self) -> ZygoteProcess:
        zygote = self._process()
        if missing := zygote.answer()["missing"]:
            absent = "; ".join(f"{wall.name}: {wall.detail}" for wall in zygote.walls() if not wall.active)
            raise SandboxMissingError(
                f"Nothing here keeps Python of the project from {missing} ({absent})", remedy=_TRUST
            )
        return zygote

    def _process(self) -> ZygoteProcess:
        if sys.platform != "linux":
            raise SandboxMissingError(f"The sandbox for Python needs Linux, and this is {sys.platform}", remedy=_TRUST)
        with self._lock:
            if self._closed:
                raise SandboxMissingError("The sandbox is closed")
            if self._zygote is not None and not self._zygote.alive:
                self._zygote.close()
                self._zygote = None
            if self._zygote is None:
                self._zygote = ZygoteProcess(self._section, self._folder, self._preload, self._without)
            return self._zygote
