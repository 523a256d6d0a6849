"""The workers of a project: what they do, and their end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from tidegate.config import Settings
from tidegate.worker.worker_folder import WorkerPlace, worker_places
from tidegate.worker.worker_lease import ask_worker
from tidegate.worker.worker_messages import WorkerSilentError

__all__ = ["WorkerState", "WorkersReport", "stop_workers", "worker_status"]

_STOP_SECONDS = 5.0
_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class WorkerUser:
    """A command that has a lease."""

    command: str
    pid: int | None
    seconds: int


@dataclass(frozen=True, slots=True)
class WorkerState:
    name: str
    state: str
    """starting, busy, idle, stopping; or silent, and then nothing else is known."""

    pid: int | None = None
    project: str = ""
    version: str = ""
    age_seconds: int = 0
    idle_seconds: int = 0
    keep_alive_seconds: int = 0
    leases: tuple[WorkerUser, ...] = ()
    leases_given: int = 0
    memory_bytes: int = 0

    @classmethod
    def of_answer(cls, answer: Mapping[str, Any]) -> WorkerState:
        known = {field.name: answer[field.name] for field in fields(cls) if field.name in answer}
        return cls(**{**known, "leases": tuple(WorkerUser(**lease) for lease in known.get("leases", ()))})


@dataclass(frozen=True, slots=True)
class WorkersReport:
    workers: tuple[WorkerState, ...]

    def document(self) -> dict[str, Any]:
        return {"workers": [asdict(worker) for worker in self.workers]}


def worker_status(settings: Settings) -> WorkersReport:
    """Raises SetupError where this user can have no folder for them."""
    return _asked(worker_places(settings.root), "status")


def stop_workers(settings: Settings, pause: Callable[[float], None] = time.sleep) -> WorkersReport:
    """Those without a command end now; the others with their last one. The report is of what they did until then."""
    places = worker_places(settings.root)
    report = _asked(places, "stop")
    end = time.monotonic() + _STOP_SECONDS
    while any(place.address.exists() for place in places) and report.workers and time.monotonic() < end:
        pause(_PAUSE)
    return report


def _asked(places: Sequence[WorkerPlace], what: str) -> WorkersReport:
    answers = []
    for place in places:
        try:
            answer = ask_worker(place, what)
        except WorkerSilentError:
            answer = {"name": place.name, "state": "silent"}
        if answer is not None:
            answers.append(WorkerState.of_answer(answer))
    return WorkersReport(tuple(answers))
