"""The worker's JVM as a command uses it: PySpark on a Spark that runs already."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.errors import SetupError
from tidegate.spark.gateway import gateway_answers
from tidegate.spark.session_catalogs import close_catalogs
from tidegate.worker.jvm_variables import NO_VARIABLES, jvm_variables
from tidegate.worker.worker_lease import WorkerLease
from tidegate.worker.worker_messages import WorkerSilentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["LEASE_VARIABLE", "LeasedJvm"]

LEASE_VARIABLE = "TIDEGATE_LEASE"
"""In the environment of a command's functions: Spark has a daemon of Python workers for each environment."""

_CONNECT_SECONDS = 60.0


_TABLES = 10
"""A command that the JVM served counts as so many tables: after one, it has learned most."""


class LeasedJvm:
    """In place of a `Jvm` of the command's own."""

    def __init__(self, lease: WorkerLease) -> None:
        self._lease = lease
        served = int(lease.name.partition("-")[0]) - 1
        self.builds = self.deltas = _TABLES * served
        """As of a `Jvm`: no run counted those of the commands before."""

        self.ended_because: str | None = None
        """Where `end` was given a reason."""

    @property
    def alive(self) -> bool:
        return not self._lease.lost_within(0)

    @property
    def exit_code(self) -> int | None:
        return self._lease.exit_code

    @property
    def process_id(self) -> int | None:
        process = self._lease.facts.get("process")
        return process if isinstance(process, int) else None

    @property
    def gateway(self) -> tuple[str, str]:
        """Its port and its secret."""
        return str(self._lease.facts["port"]), str(self._lease.facts["secret"])

    def dies_within(self, seconds: float) -> bool:
        return self._lease.lost_within(seconds)

    def answers(self, seconds: float) -> bool:
        return gateway_answers(self.gateway, seconds)

    def end(self, because: str | None = None) -> None:
        """End the lease: the JVM stays, without anything that this process left in it. With a reason, end the JVM."""
        self.ended_because = because
        if because is not None:
            self._lease.report("broken", because)
        self._lease.close()

    def connect_server(self) -> tuple[str, str]:
        try:
            answer = self._lease.ask("connect_server", _CONNECT_SECONDS)
        except WorkerSilentError as error:
            raise SetupError(
                f"The worker could not start Spark's Connect server: {error}", remedy="Try again with --no-worker."
            ) from error
        return str(answer["address"]), str(answer["token"])

    def things(self, session: SparkSession) -> Any:
        """What the worker gave to the lease, in the JVM: by name, see `WorkerJvm.lend`."""
        context: Any = session.sparkContext
        return context._gateway.entry_point

    def opened(self, session: SparkSession) -> None:
        """The worker closes what is left of it when the lease ends."""
        java: Any = session._jsparkSession
        self.things(session).get("sessions").add(java)

    def closed(self, session: SparkSession) -> None:
        java: Any = session._jsparkSession
        with contextlib.suppress(Exception):  # the JVM may have ended
            close_catalogs(session._jvm, java)
            self.things(session).get("sessions").remove(java)

    def attach(self) -> SparkSession:
        """The session that the lease begins with. PySpark is connected to the gateway of the lease."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        gateway: Any = SparkContext._gateway
        things = gateway.entry_point
        context: Any = SparkContext(gateway=gateway, jsc=things.get("context"))
        context.environment.update(_own_variables(os.environ, self._lease.name))
        context.stop = lambda: None  # Spark is not this process's to stop
        things.put("folder", context._temp_dir)
        # The JVM's default session is the first one that PySpark makes, unless it has one already.
        sessions: Any = SparkSession
        sessions._instantiatedSession = _SessionBefore(context)
        session = SparkSession(context, things.get("session"))
        sessions._instantiatedSession = sessions._activeSession = session
        return session


class _SessionBefore:
    def __init__(self, context: Any) -> None:
        self._sc = context


def _own_variables(environment: Mapping[str, str], lease: str) -> dict[str, str]:
    """Those of this process that the JVM does not have: Python functions of this process have all of them."""
    shared = jvm_variables(environment)
    own = {
        name: value for name, value in environment.items() if name not in shared and not name.startswith(NO_VARIABLES)
    }
    return {**own, LEASE_VARIABLE: lease}
