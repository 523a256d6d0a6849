"""Starts the zygote, and asks it for jobs. Thread-safe."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.errors import SandboxDiedError, SandboxMissingError
from tidegate.python_models.sandbox.readable_paths import package_paths
from tidegate.python_models.sandbox.sandbox_job import Wall
from tidegate.python_models.sandbox.wall_settings import wall_settings

__all__ = ["ZygoteProcess"]

_BOOT = """\
import sys, json
sys.path.extend(json.loads(sys.argv[1]))
from tidegate.python_models.sandbox.zygote import main
main()
"""
_LONGEST_MESSAGE = 1 << 17
_START_SECONDS = 60.0
_END_SECONDS = 5.0

_KEPT_VARIABLES = ("TZ", "LANG", "LC_ALL", "LC_CTYPE")
_VARIABLES = {
    "PATH": "/usr/bin:/bin",
    "LC_CTYPE": "C.UTF-8",
    # Before pyspark is imported, for `pyspark.sql.functions` to make columns of Connect.
    "SPARK_CONNECT_MODE_ENABLED": "1",
    "SPARK_REMOTE": "sc://sandbox",
    # No threads in the process that is forked, and no address space that is only reserved.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "GRPC_ENABLE_FORK_SUPPORT": "0",
}


class ZygoteProcess:
    def __init__(self, section: SandboxSection, folder: Path, preload: Sequence[str], without: Sequence[str]) -> None:
        """Starts it, and does not wait."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="sandbox-", dir=folder))
        self._control, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        self._answer: dict[str, Any] | None = None
        paths = package_paths(section.imports)
        environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ} | _VARIABLES
        try:
            with there, (self._folder / "messages.log").open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _BOOT, json.dumps(paths)],
                    stdin=there.fileno(),
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=environment,
                    start_new_session=True,
                )
        except OSError as error:
            self._control.close()
            raise SandboxMissingError(f"The sandbox's Python cannot be started: {error}") from error
        walls = wall_settings(section, self._folder)
        self._send({"preload": list(preload), "without": list(without), **walls})

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def folder(self) -> Path:
        return self._folder

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def answer(self) -> Mapping[str, Any]:
        """What it reported when it was ready; waits for that. Raises SandboxMissingError."""
        with self._lock:
            if self._answer is None:
                self._control.settimeout(_START_SECONDS)
                try:
                    text = self._control.recv(_LONGEST_MESSAGE)
                except OSError as error:
                    raise SandboxMissingError(f"The sandbox's Python did not start: {error}") from error
                if not text:
                    raise SandboxMissingError(f"The sandbox's Python ended while it started: {self._last_words()}")
                self._answer = json.loads(text)
            answer = self._answer
        if "error" in answer:
            raise SandboxMissingError(f"The sandbox cannot be set up: {answer['error']}")
        return answer

    def walls(self) -> tuple[Wall, ...]:
        return tuple(Wall(name, active, detail) for name, active, detail in self.answer()["walls"])

    def start_job(self, end: socket.socket, status: socket.socket, scratch: Path) -> None:
        """Raises SandboxDiedError."""
        try:
            with self._lock:
                message = json.dumps({"scratch": str(scratch)}).encode()
                socket.send_fds(self._control, [message], [end.fileno(), status.fileno()])
        except OSError as error:
            raise SandboxDiedError(
                f"The sandbox's parent process has ended: {self._last_words() or error}",
                remedy="Run again; if it repeats, the system may be out of memory.",
            ) from error

    def close(self) -> None:
        """Also ends every job."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)  # wakes who waits for its answer
        self._control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # `answer` reports that it has ended
            self._control.send(json.dumps(message).encode())

    def _last_words(self) -> str:
        try:
            text = (self._folder / "messages.log").read_text(errors="replace").strip()
        except OSError:
            return ""
        return text.splitlines()[-1][:500] if text else ""
