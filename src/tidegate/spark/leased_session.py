"""Whether a command uses a worker's JVM, and which worker's: one that was started with exactly what it needs."""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tidegate import __version__
from tidegate.amounts import parse_size
from tidegate.config import Settings
from tidegate.errors import SetupError
from tidegate.spark.java import Java
from tidegate.spark.jvm import is_connected, use_leased
from tidegate.spark.jvm_watch import start_watching
from tidegate.spark.launch_command import LAST_JARS, launch_command
from tidegate.spark.leased_jvm import LeasedJvm
from tidegate.worker.jvm_variables import jvm_variables
from tidegate.worker.worker_folder import WorkerPlace, project_folder, worker_places
from tidegate.worker.worker_lease import LeaseRequest, ask_worker, lease_worker
from tidegate.worker.worker_messages import WorkerSilentError
from tidegate.worker.worker_start import WorkerOrder, start_worker, worker_identity

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["NO_WORKER", "leased_session"]

NO_WORKER = "TIDEGATE_NO_WORKER"
"""The variable that keeps every command from a worker."""

_BESIDE_HEAP = 3 << 29
"""Bytes of a JVM besides its heap, with the Python processes beside it."""

_CONF = {
    # What Spark remembers of jobs that have ended, for an interface that is off.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    # Commands ask the same queries again: with the default of 100 their code is compiled each time.
    "spark.sql.codegen.cache.maxEntries": "1000",
}


class PlannedSession(Protocol):
    @property
    def conf(self) -> Mapping[str, str]: ...

    @property
    def log(self) -> Path: ...

    @property
    def environment(self) -> Mapping[str, str]: ...

    @property
    def java(self) -> Java: ...


def leased_session(
    settings: Settings, planned: Callable[[], PlannedSession], starting: Callable[[], None]
) -> SparkSession | None:
    """The session of a lease; None where the project uses no worker, or where none can be had.

    `starting` is called where the worker's JVM has to start first.
    """
    keep_alive = settings.spark.keep_alive
    if not keep_alive or os.environ.get(NO_WORKER) or not settings.spark.master.startswith("local") or is_connected():
        return None
    plan = planned()
    threading.Thread(target=_import_pyspark, daemon=True).start()  # while the worker answers, or starts
    conf = {**_CONF, **plan.conf}
    variables = {**jvm_variables(os.environ), **plan.environment}
    name = worker_identity(_facts(settings, conf, variables, plan.java))
    seconds = keep_alive.total_seconds()
    try:
        folder = project_folder(settings.root)
    except SetupError:
        return None  # `tidegate worker status` reports it

    def start() -> subprocess.Popen[bytes]:
        _stop_others(settings.root, name)
        command = launch_command(conf, variables.get(LAST_JARS, ""))
        order = WorkerOrder(
            name=name,
            folder=str(folder),
            project=str(settings.root),
            version=__version__,
            arguments=command.arguments,
            variables={**variables, **command.environment, **plan.environment},
            log=str(plan.log),
            keep_alive=seconds,
            memory=parse_size(settings.spark.memory) + _BESIDE_HEAP,
        )
        return start_worker(order, jvm_variables(os.environ))

    try:
        lease = lease_worker(WorkerPlace(folder, name), LeaseRequest(_command(), seconds), start, starting)
        if lease is None:
            return None
        jvm = LeasedJvm(lease)
        session = use_leased(jvm)
        start_watching(jvm, session.sparkContext)
        return session
    except (OSError, WorkerSilentError):
        return None
    except Exception as error:
        if type(error).__module__.startswith("py4j"):  # the JVM ended, or does not answer
            return None
        raise


def _facts(settings: Settings, conf: Mapping[str, str], variables: Mapping[str, str], java: Java) -> dict[str, object]:
    """All that makes one JVM another: only a hash of it leaves this process."""
    class_path = [conf.get("spark.driver.extraClassPath", ""), variables.get(LAST_JARS, "")]
    mask = os.umask(0o077)
    os.umask(mask)
    return {
        "version": __version__,
        "user": os.getuid(),
        "project": str(settings.root.resolve()),
        "folder": str(Path.cwd()),  # of paths in code that are relative
        "rights": mask,
        "conf": dict(conf),
        "variables": dict(variables),
        "java": [str(java.home), str(java.version)],
        "python": [sys.executable, sys.version],
        "jars": [_stamp(entry) for entry in os.pathsep.join(class_path).split(os.pathsep)],
        "sandbox": repr(settings.sandbox),
    }


def _import_pyspark() -> None:
    importlib.import_module("pyspark.sql")


def _stamp(jar: str) -> tuple[str, int]:
    try:
        return jar, os.stat(jar).st_mtime_ns
    except OSError:
        return jar, 0


def _stop_others(root: Path, name: str) -> None:
    """The project's workers of another configuration end once no command uses them."""
    for place in worker_places(root):
        if place.name != name:
            with contextlib.suppress(WorkerSilentError):
                ask_worker(place, "stop")


def _command() -> str:
    """For people who look at the worker."""
    program = Path(sys.argv[0]).name
    return next((word for word in sys.argv[1:] if not word.startswith("-")), program)
