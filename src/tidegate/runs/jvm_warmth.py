"""How much the JVM that builds has built so far."""

from __future__ import annotations

from tidegate.config import Settings
from tidegate.errors import TidegateError
from tidegate.planner.cost_rule import WARM, JvmState
from tidegate.spark.jvm import running_jvm
from tidegate.worker.worker_folder import worker_places
from tidegate.worker.worker_lease import ask_worker
from tidegate.worker.worker_messages import WorkerSilentError

__all__ = ["count_build", "jvm_state"]


def jvm_state(settings: Settings | None = None) -> JvmState:
    """Of this process's JVM, or of a worker's that waits for its command; one that is still to be started has built
    nothing."""
    jvm = running_jvm()
    if jvm is not None and jvm.alive:
        return JvmState(jvm.builds, jvm.deltas)
    return WARM if settings is not None and _worker_served(settings) else JvmState()


def _worker_served(settings: Settings) -> bool:
    """Whether a worker of the project has served a command before."""
    try:
        answers = [ask_worker(place, "status") for place in worker_places(settings.root)]
    except (TidegateError, WorkerSilentError):
        return False  # it is not there, or does not answer: a command starts a JVM of its own
    return any(answer is not None and answer.get("leases_given") for answer in answers)


def count_build(*, from_changes: bool) -> None:
    jvm = running_jvm()
    if jvm is not None:
        jvm.deltas += from_changes
        jvm.builds += not from_changes
