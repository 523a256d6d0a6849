"""What the sandbox runs, what it gives back, and who answers its calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

__all__ = ["CallHandler", "CallRefusedError", "JobResult", "RefuseCalls", "SandboxJob", "Wall"]


@dataclass(frozen=True, slots=True)
class SandboxJob:
    kind: str
    """Of `child_jobs.JOBS`."""

    file: str
    """Relative to the project: how failures name it."""

    source: str

    values: Mapping[str, Any] = field(default_factory=dict)
    """JSON, for the job of this kind."""


@dataclass(frozen=True, slots=True)
class JobResult:
    kind: str
    """`plan`, `arrow` or `value`."""

    plan: bytes = b""
    """A serialized Connect Relation, which nothing has checked yet."""

    arrow: Path | None = None
    """A file with what claims to be an Arrow IPC stream. The caller removes it."""

    value: Any = None
    """JSON."""


@dataclass(frozen=True, slots=True)
class Wall:
    """One measure that separates the code from the system."""

    name: str
    active: bool
    detail: str
    """What it does; where it is not active, why not."""


class CallRefusedError(Exception):
    """`code`: a name of grpc.StatusCode. `status`: a serialized google.rpc.Status, or empty."""

    def __init__(self, code: str, details: str, status: bytes = b"") -> None:
        super().__init__(details)
        self.code = code
        self.details = details
        self.status = status


class CallHandler(Protocol):
    """Answers the calls of Spark Connect that a job makes: one at a time, in the thread that runs the job."""

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        """The responses. Raises CallRefusedError, also between two responses."""
        ...

    def interrupt(self) -> None:
        """End the call that is being answered: the job was cancelled, or its time is over. From another thread."""
        ...


class RefuseCalls:
    """For jobs that need no Spark."""

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        raise CallRefusedError("PERMISSION_DENIED", "this code has no access to Spark")

    def interrupt(self) -> None:
        pass
