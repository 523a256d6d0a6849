"""Starts Spark's Connect server inside a JVM, through any Py4J connection to it.

Its token is no setting of the JVM's command line, which others may read, and no variable of its environment, which the
workers of Python functions inherit.
"""

from __future__ import annotations

import secrets
from typing import Any

from tidegate.errors import SetupError

__all__ = ["connect_service", "start_connect"]

_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService$"
_TOKEN = "spark.connect.authenticate.token"
_CONF = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    # Rows that a model makes itself are part of its plan.
    "spark.connect.grpc.maxInboundMessageSize": str(1 << 30),
    # A model may compute for hours between two calls.
    "spark.connect.session.manager.defaultSessionTimeout": "7d",
}


def connect_service(jvm: Any) -> Any:
    return getattr(jvm, _SERVICE).__getattr__("MODULE$")


def start_connect(jvm: Any, java_context: Any) -> tuple[str, str]:
    """`java_context`: a JavaSparkContext. Its address and its token. Raises SetupError where one runs already."""
    context, service = java_context.sc(), connect_service(jvm)
    if service.started():
        raise SetupError(
            "Spark runs a Connect server already, which another program started",
            remedy="Remove spark.plugins from [spark.conf], and start Spark through Tidegate.",
        )
    token, conf = secrets.token_urlsafe(32), context.conf()
    settings = {**_CONF, _TOKEN: token}
    before = {name: conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            conf.set(name, value)
        service.start(context)
    finally:
        # Sessions copy the settings of Spark's context: none of them may show the token.
        for name, former in before.items():
            if former is None:
                conf.remove(name)
            else:
                conf.set(name, former)
    return f"127.0.0.1:{service.localPort()}", token
