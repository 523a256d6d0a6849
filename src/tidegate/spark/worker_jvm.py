"""What a worker does with its JVM: a lease for each command, and the end of whatever a lease left.

It speaks Py4J itself and imports no PySpark: a worker is to be small. What one command does to Spark is kept from the
others by these:

- each lease has a gateway of its own, with a secret of its own. Closing it drops all objects that the command held;
- each lease has a Spark session with its own shared state: cached data, global temporary views, the tables of
  `spark_catalog`. The command's sessions are made from that one;
- the threads of a lease's connections inherit a job tag, by which all of its jobs can be cancelled, the session as the
  active one, and a class loader that says whose they are.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters

from tidegate.process_memory import memory_of
from tidegate.spark.jvm import Jvm, start_command
from tidegate.spark.leased_jvm import LEASE_VARIABLE
from tidegate.spark.python_workers import end_python_workers
from tidegate.spark.session_catalogs import close_catalogs
from tidegate.spark.start_connect import connect_service, start_connect

__all__ = ["WorkerJvm"]

_ENDING_SECONDS = 5.0
"""For calls that run when their command is gone. A JVM of the command's own would have two, and nobody would wait."""
_PAUSE = 0.02
_CONNECTION = "py4j.ClientServerConnection"
_SPARK_OF_PYTHON = {"spark.serializer.objectStreamReset": "100", "spark.rdd.compress": "True"}
"""What PySpark sets where it makes the context itself."""
_CHANGED_ON_PURPOSE = ("spark.python.use.daemon", "spark.python.daemon.module", "spark.python.worker.reuse")
"""By commands that put functions of the project behind walls: the same for all of them."""


@dataclass(frozen=True, slots=True)
class _Lent:
    gateway: Any
    session: Any
    things: Any
    loader: Any


class WorkerJvm:
    """A SparkHost. Used by one thread, but for `memory`, `exit_code` and `end`."""

    def __init__(self, arguments: tuple[str, ...], variables: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as output:
            self._process: Jvm = start_command(arguments, variables, output)
        self._lent: dict[str, _Lent] = {}
        self._gateway: Any = None
        self._jvm: Any = None
        self._context: Any = None
        self._neutral: Any = None
        self._settings = ""
        self._connect: dict[str, Any] | None = None

    def start(self) -> None:
        port, secret = self._process.wait_for_gateway()
        java = JavaParameters(port=int(port), auth_token=secret, auto_convert=True)
        self._gateway = ClientServer(java_parameters=java, python_parameters=PythonParameters(port=0, eager_load=False))
        self._jvm = self._gateway.jvm
        conf = self._jvm.org.apache.spark.SparkConf()
        for name, value in _SPARK_OF_PYTHON.items():
            conf.setIfMissing(name, value)
        self._context = self._jvm.org.apache.spark.api.java.JavaSparkContext(conf)
        self._neutral = self._new_session()
        self._sessions.setDefaultSession(self._neutral)
        self._neutral.sharedState()  # the first one completes the context's settings
        self._settings = self._shared_settings()

    def lend(self, lease: str) -> dict[str, Any]:
        java = self._jvm.java
        session = self._new_session()
        self._sessions.setDefaultSession(self._neutral)
        things = java.util.concurrent.ConcurrentHashMap()
        things.put("session", session)
        things.put("context", self._context)
        things.put("sessions", java.util.concurrent.CopyOnWriteArrayList())
        things.put("connect", java.util.concurrent.CopyOnWriteArrayList())
        secret, thread = secrets.token_hex(32), java.lang.Thread.currentThread()
        before = thread.getContextClassLoader()
        loader = java.net.URLClassLoader(self._gateway.new_array(java.net.URL, 0), before)
        builder = getattr(self._jvm, "py4j.ClientServer$ClientServerBuilder")(things)
        builder = builder.authToken(secret).javaPort(0).javaAddress(java.net.InetAddress.getLoopbackAddress())
        context = self._context.sc()
        context.addJobTag(lease)
        thread.setContextClassLoader(loader)
        self._sessions.setActiveSession(session)
        try:
            gateway = builder.build()  # it listens from now on, in a thread that inherits all this
        finally:
            context.removeJobTag(lease)
            thread.setContextClassLoader(before)
            self._sessions.clearActiveSession()
        self._lent[lease] = _Lent(gateway, session, things, loader)
        port = int(gateway.getJavaServer().getListeningPort())
        return {"port": port, "secret": secret, "process": self._process.process.pid}

    def take_back(self, lease: str) -> str | None:
        lent, context = self._lent.pop(lease), self._context.sc()
        sessions = [lent.session, *lent.things.get("sessions")]
        context.cancelJobsWithTag(lease)
        for key in lent.things.get("connect"):
            connect_service(self._jvm).sessionManager().closeSession(key, False)
        for query in lent.session.sharedState().activeStreamingQueries().values():
            query.stop()
        lent.gateway.shutdown()
        end = time.monotonic() + _ENDING_SECONDS
        while self._calls_of(lent.loader):
            if time.monotonic() > end:
                raise RuntimeError("a call of a command that is gone did not end")
            time.sleep(_PAUSE)
            context.cancelJobsWithTag(lease)
        end_python_workers(self._jvm, f"{LEASE_VARIABLE} -> {lease}")
        for session in sessions:
            close_catalogs(self._jvm, session)
        lent.session.catalog().clearCache()
        listener = lent.session.sharedState().statusStore().listener()
        if listener.isDefined():
            context.removeSparkListener(listener.get())
        self._sessions.setDefaultSession(self._neutral)
        _remove_folder(lent.things.get("folder"))
        if not self._lent:  # Hadoop keeps its clients, with the credentials of the session that opened them first
            self._jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        if context.isStopped():
            return "a command stopped Spark"
        return None if self._shared_settings() == self._settings else "a command changed settings that all share"

    def connect_server(self) -> dict[str, Any]:
        """One for all commands: each of its sessions is made from the session of the command that uses it."""
        if self._connect is None:
            address, token = start_connect(self._jvm, self._context)
            self._connect = {"address": address, "token": token}
        return self._connect

    def rest(self) -> None:
        """Spark frees shuffle files, broadcasts and cached blocks once the objects that stand for them are gone."""
        self._jvm.java.lang.System.gc()

    def memory(self) -> int:
        return memory_of(os.getpid(), self._process.process.pid) or 0

    def exit_code(self) -> int | None:
        return self._process.process.poll()

    def wait(self) -> None:
        self._process.process.wait()

    def end(self) -> None:
        self._process.end()

    @property
    def _sessions(self) -> Any:
        return self._jvm.org.apache.spark.sql.classic.SparkSession

    def _new_session(self) -> Any:
        """With a shared state of its own: the builder finds no session that it could return."""
        self._sessions.clearActiveSession()
        self._sessions.clearDefaultSession()
        return self._sessions.builder().sparkContext(self._context.sc()).getOrCreate()

    def _calls_of(self, loader: Any) -> bool:
        """Whether a thread of the lease's connections is still inside a call."""
        for thread in self._jvm.java.lang.Thread.getAllStackTraces().keySet():
            if thread.getContextClassLoader() == loader:
                frames = thread.getStackTrace()
                if len(frames) > 1 and frames[len(frames) - 2].getClassName() == _CONNECTION:
                    return True
        return False

    def _shared_settings(self) -> str:
        """A hash of what a trusted function could change for all commands."""
        context, java = self._context.sc(), self._jvm.java
        conf = context.getConf()
        for name in _CHANGED_ON_PURPOSE:
            conf.remove(name)
        facts = [
            conf.toDebugString(),
            str(context.hadoopConfiguration().getPropsWithPrefix("fs.").hashCode()),
            *(str(each.toString()) for each in (context.listFiles(), context.listJars(), context.listArchives())),
            str(java.util.TimeZone.getDefault().getID()),
            str(java.util.Locale.getDefault().toString()),
        ]
        return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _remove_folder(folder: str | None) -> None:
    """Of PySpark's files for one command, in that of Spark's."""
    if folder is not None and Path(folder).name.startswith("pyspark-"):
        shutil.rmtree(folder, ignore_errors=True)
