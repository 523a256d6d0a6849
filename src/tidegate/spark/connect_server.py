"""Spark's Connect server inside the JVM of a classic session, for plans that come from a process that is not trusted.

It starts when the first such plan is there: other runs pay nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.errors import SetupError
from tidegate.spark.jvm import running_jvm
from tidegate.spark.leased_jvm import LeasedJvm
from tidegate.spark.start_connect import connect_service, start_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["CONNECT_USER", "ConnectServer", "connect_server"]

CONNECT_USER = "tidegate"


@dataclass(frozen=True, slots=True)
class ConnectServer:
    address: str
    """Host and port."""

    token: str = field(repr=False)
    open_session: Callable[[str], None] = field(default=lambda session_id: None, repr=False)
    """To be called with the id of each session before its first request: it is made from the classic session that the
    server was asked for. By default the server would take the JVM's default session, which may be another command's.
    """


_starting = threading.Lock()
_started: dict[tuple[int, str], tuple[Any, tuple[str, str]]] = {}
"""By Spark's application, and by the connection to the JVM, which is held so that no other gets its identity."""


def connect_server(session: SparkSession) -> ConnectServer:
    """That of the session's JVM, started if it does not run yet. Raises SetupError where it cannot run."""
    context = getattr(session, "sparkContext", None)
    if context is None:
        raise SetupError(
            "Python models in the sandbox need a Spark of this machine's own, and this session is a client of another",
            remedy='Set mode = "trusted" in [sandbox] if you trust the project\'s Python.',
        )
    with _starting:
        key = (id(context._gateway), str(context.applicationId))
        if key not in _started:
            leased = running_jvm()
            if isinstance(leased, LeasedJvm):
                where = leased.connect_server()
            else:
                if any(gateway is context._gateway for gateway, _ in _started.values()):
                    # It served a Spark that has ended.
                    connect_service(context._jvm).stop(*[context._jvm.scala.Option.empty()] * 2)
                where = start_connect(context._jvm, context._jsc)
            _started.clear()
            _started[key] = (context._gateway, where)
        return ConnectServer(*_started[key][1], lambda session_id: _open_session(session, session_id))


def _open_session(session: SparkSession, session_id: str) -> None:
    jvm: Any = session._jvm
    service = jvm.org.apache.spark.sql.connect.service
    holder = service.SessionHolder(CONNECT_USER, session_id, session._jsparkSession.newSession())
    holder.initializeSession()
    connect_service(jvm).sessionManager().putSessionForTesting(holder)
    leased = running_jvm()
    if isinstance(leased, LeasedJvm):
        leased.things(session).get("connect").add(holder.key())
