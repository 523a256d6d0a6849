"""Spark Connect inside the sandbox: PySpark's own client, whose calls are frames over the link."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tidegate.python_models.sandbox.link import FrameKind, Link, LinkFrame

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

__all__ = ["connect_session"]


def connect_session(link: Link) -> SparkSession:
    """The environment must hold SPARK_CONNECT_MODE_ENABLED and SPARK_REMOTE before PySpark is imported.

    Only its own calls may receive from the link meanwhile.
    """
    from pyspark.sql.connect.client import ChannelBuilder
    from pyspark.sql.connect.session import SparkSession

    class LinkChannelBuilder(ChannelBuilder):  # type: ignore[misc]
        def toChannel(self) -> Any:
            return _LinkChannel(link)

        @property
        def host(self) -> str:
            return "tidegate"

    session = SparkSession.builder.channelBuilder(LinkChannelBuilder()).create()
    session.client.disable_reattachable_execute()
    session.client.set_retry_policies([])
    return session


class _LinkChannel:
    """What PySpark's client uses of a grpc.Channel. All responses of a call are read before the next one begins."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._calling = threading.Lock()

    def unary_unary(
        self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any
    ) -> Callable[..., Any]:
        return lambda request, **_: response_deserializer(self._call(path, request_serializer(request))[-1])

    def unary_stream(
        self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any
    ) -> Callable[..., Iterator[Any]]:
        return lambda request, **_: map(response_deserializer, self._call(path, request_serializer(request)))

    def stream_unary(
        self, path: str, request_serializer: Any, response_deserializer: Any, **_: Any
    ) -> Callable[..., Any]:
        return lambda requests, **_: response_deserializer(self._call(path, b"")[-1])

    def close(self) -> None:
        """The link belongs to the job."""

    def _call(self, path: str, request: bytes) -> list[bytes]:
        with self._calling:
            self._link.send(FrameKind.CALL, {"method": path.rsplit("/", 1)[-1]}, request)
            responses: list[bytes] = []
            while True:
                frame = self._link.receive()
                if frame is None:
                    raise ConnectionError("Tidegate has closed the connection to Spark")
                if frame.kind is FrameKind.REPLY:
                    responses.append(frame.body)
                elif frame.kind is FrameKind.REPLY_END:
                    return responses
                elif frame.kind is FrameKind.REPLY_ERROR:
                    raise _error(frame)


def _error(frame: LinkFrame) -> Exception:
    import grpc

    class LinkCallError(grpc.RpcError, grpc.Call):  # type: ignore[misc]
        """As the client expects errors of gRPC."""

        def code(self) -> Any:
            return getattr(grpc.StatusCode, str(frame.header.get("code")), grpc.StatusCode.UNKNOWN)

        def details(self) -> str:
            return str(frame.header.get("details", ""))

        def trailing_metadata(self) -> Any:
            return (("grpc-status-details-bin", frame.body),) if frame.body else ()

        def initial_metadata(self) -> Any:
            return ()

        def is_active(self) -> bool:
            return False

        def time_remaining(self) -> None:
            return None

        def cancel(self) -> bool:
            return False

        def add_callback(self, callback: Any) -> bool:
            return False

        def __str__(self) -> str:
            return self.details()

    return LinkCallError()
