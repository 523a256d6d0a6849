"""How a command starts a worker: outside its own process group, and holding none of its pipes."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

__all__ = ["WorkerOrder", "start_worker", "worker_identity"]

_MODULE = "tidegate.spark.worker_process"


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """What a worker is told, over its standard input: command lines and variables can be read by others."""

    name: str
    folder: str
    """Where it listens."""

    project: str
    """The project's folder."""

    version: str
    arguments: tuple[str, ...] = field(repr=False)
    """The command that becomes the JVM."""

    variables: Mapping[str, str] = field(repr=False)
    """The environment of the JVM."""

    log: str
    keep_alive: float
    memory: int
    """Bytes that the worker and its JVM may hold while no command uses them."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerOrder:
        return cls(**json.loads(text))


def worker_identity(facts: Mapping[str, object]) -> str:
    """A hash: of what a JVM was started with, two that differ in anything have different ones."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]


def start_worker(
    order: WorkerOrder, environment: Mapping[str, str], command: Sequence[str] = (sys.executable, "-m", _MODULE)
) -> subprocess.Popen[bytes]:
    """In a session of its own: an interrupt at the terminal is for the command alone."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path.cwd(),
        env=dict(environment),
        start_new_session=True,
    )
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(order.to_json().encode())
    return process
