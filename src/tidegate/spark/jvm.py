"""Spark's JVM: a process that ends with this one, and how PySpark connects to it.

PySpark would start the JVM itself, and lose track of it when a signal arrives while it waits: a JVM that cannot report
its port then runs for ever.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tidegate import processes
from tidegate.errors import SetupError
from tidegate.spark.gateway import gateway_answers
from tidegate.spark.launch_command import LAST_JARS, launch_command
from tidegate.spark.leased_jvm import LeasedJvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "GATEWAY_VARIABLES",
    "Jvm",
    "forget_spark",
    "in_thread",
    "is_connected",
    "running_jvm",
    "spark_processes",
    "start_command",
    "start_jvm",
    "use_leased",
]

GATEWAY_VARIABLES = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
"""How PySpark finds a running JVM. Set only while it connects: a process that has them can use the JVM."""

_POLL_SECONDS = 0.05
_running: list[Jvm | LeasedJvm] = []


class Jvm:
    """`process` is or becomes Java; in `folder` it reports its port."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process = process
        self.ended_because: str | None = None
        """Where `end` was given a reason."""

        self._folder = folder
        self._gateway = ("", "")
        self.builds = self.deltas = 0
        """How many tables it has built from all rows and from changes, which says how warm it is."""

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def exit_code(self) -> int | None:
        return self.process.returncode

    def connect(self, open_session: Callable[[], SparkSession]) -> SparkSession:
        """What `open_session` gives. Whatever interrupts it ends the JVM.

        It is called in another thread: inside PySpark a KeyboardInterrupt may be lost, or become another error.
        """
        try:
            return in_thread(lambda: self._connect(open_session))
        except BaseException:
            self.end()
            forget_spark()
            raise

    def _connect(self, open_session: Callable[[], SparkSession]) -> SparkSession:
        self._gateway = self.wait_for_gateway()
        return _through(self._gateway, open_session)

    def wait_for_gateway(self) -> tuple[str, str]:
        """Its port and its secret, once it has them."""
        pause, report = threading.Event(), self._folder / "gateway"
        while not report.is_file():
            if not self.alive:
                raise SetupError(f"its process ended with exit code {self.process.returncode}")
            pause.wait(_POLL_SECONDS)
        content = report.read_bytes()
        shutil.rmtree(self._folder, ignore_errors=True)
        port, length = struct.unpack("!ii", content[:8])
        return str(port), content[8 : 8 + length].decode()

    def answers(self, seconds: float) -> bool:
        """Whether it accepts a connection within this time, and greets on it."""
        return gateway_answers(self._gateway, seconds)

    def dies_within(self, seconds: float) -> bool:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def wait(self) -> None:
        """Wait until it ends by itself, which takes long where it writes its classes to a file."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def end(self, because: str | None = None) -> None:
        """End it with all processes that it started, and wait for that."""
        self.ended_because = because
        processes.end(self.process)
        shutil.rmtree(self._folder, ignore_errors=True)


def start_jvm(conf: Mapping[str, str], log: IO[bytes], environment: Mapping[str, str]) -> Jvm:
    """Its output goes to `log`. `environment`: beside that of this process."""
    variables = {**os.environ, **environment}
    command = launch_command(conf, variables.get(LAST_JARS, ""))
    jvm = start_command(command.arguments, {**variables, **command.environment}, log)
    _running[:] = [jvm]
    return jvm


def start_command(arguments: Sequence[str], variables: Mapping[str, str], log: IO[bytes]) -> Jvm:
    """`variables`: the whole environment of the JVM. It is not the JVM that this process uses."""
    folder = Path(tempfile.mkdtemp(prefix="tidegate-spark-"))
    own = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(folder / "gateway")}
    try:
        process = processes.start(arguments, env={**variables, **own}, stdout=log, reads_pipe=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Jvm(process, folder)


def use_leased(jvm: LeasedJvm) -> SparkSession:
    """The session of a lease. Whatever interrupts this ends the lease."""
    forget_spark()
    _running[:] = [jvm]
    try:
        return in_thread(lambda: _through(jvm.gateway, jvm.attach))
    except BaseException:
        jvm.end()
        forget_spark()
        _running.clear()
        raise


def _through(gateway: tuple[str, str], open_session: Callable[[], SparkSession]) -> SparkSession:
    from pyspark import SparkContext

    with _environment(dict(zip(GATEWAY_VARIABLES, gateway, strict=True))):
        SparkContext._ensure_initialized()
    session = open_session()
    # It would print a traceback when the JVM that sends it the counters of Python functions ends before it.
    counters = getattr(session.sparkContext, "_accumulatorServer", None)
    if counters is not None:
        counters.handle_error = lambda request, address: None
    return session


def running_jvm() -> Jvm | LeasedJvm | None:
    """The last one that this process started or leased; it may have died."""
    return _running[-1] if _running else None


def spark_processes() -> tuple[int, ...]:
    """This process, below which are its own JVM and that JVM's workers; and the JVM that it leases."""
    jvm = running_jvm()
    leased = jvm.process_id if isinstance(jvm, LeasedJvm) else None
    return (os.getpid(),) if leased is None else (os.getpid(), leased)


def is_connected() -> bool:
    """PySpark has a JVM that lives, or is to use one that another program started."""
    jvm = running_jvm()
    if jvm is not None and not jvm.alive:
        return False
    return GATEWAY_VARIABLES[0] in os.environ or ("pyspark" in sys.modules and _has_gateway())


def _has_gateway() -> bool:
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def forget_spark() -> None:
    """Reset PySpark so that it connects to another JVM: the former one has ended."""
    if "pyspark" not in sys.modules:
        return
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with SparkContext._lock:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def in_thread(work: Callable[[], SparkSession]) -> SparkSession:
    """In a daemon thread: a caller that is interrupted does not wait for it."""
    outcome: dict[str, Any] = {}
    done = threading.Event()

    def run_and_record() -> None:
        try:
            outcome["session"] = work()
        except BaseException as error:
            outcome["error"] = error
        finally:
            done.set()

    threading.Thread(target=run_and_record, name="start-spark", daemon=True).start()
    done.wait()
    if "error" in outcome:
        raise outcome["error"]
    session: SparkSession = outcome["session"]
    return session


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
