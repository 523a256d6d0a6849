"""Spark's Connect server inside the JVM of a classic session, for plans that come from a process that is not trusted.

It starts when the first such plan is there: other runs pay nothing. Its token is no setting of the JVM's command line,
which others may read, and no variable of its environment, which the workers of Python functions inherit.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegate.errors import SetupError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ConnectServer", "connect_server"]

_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService"
_TOKEN = "spark.connect.authenticate.token"
_CONF = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    # Rows that a model makes itself are part of its plan.
    "spark.connect.grpc.maxInboundMessageSize": str(1 << 30),
    # A model may compute for hours between two calls.
    "spark.connect.session.manager.defaultSessionTimeout": "7d",
}


@dataclass(frozen=True, slots=True)
class ConnectServer:
    address: str
    """Host and port."""

    token: str = field(repr=False)


_starting = threading.Lock()
_started: dict[tuple[int, str], tuple[Any, ConnectServer]] = {}
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
            if any(gateway is context._gateway for gateway, _ in _started.values()):
                _service(context).stop(*[context._jvm.scala.Option.empty()] * 2)  # it served a Spark that has ended
            _started.clear()
            _started[key] = (context._gateway, _start(context))
        return _started[key][1]


def _service(context: Any) -> Any:
    return getattr(context._jvm, f"{_SERVICE}$").__getattr__("MODULE$")


def _start(context: Any) -> ConnectServer:
    java_context, service = context._jsc.sc(), _service(context)
    if service.started():
        raise SetupError(
            "Spark runs a Connect server already, which another program started",
            remedy="Remove spark.plugins from [spark.conf], and start Spark through Tidegate.",
        )
    token, conf = secrets.token_urlsafe(32), java_context.conf()
    settings = {**_CONF, _TOKEN: token}
    before = {name: conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            conf.set(name, value)
        service.start(java_context)
    finally:
        # Sessions copy the settings of Spark's context: none of them may show the token.
        for name, former in before.items():
            if former is None:
                conf.remove(name)
            else:
                conf.set(name, former)
    return ConnectServer(f"127.0.0.1:{service.localPort()}", token)
