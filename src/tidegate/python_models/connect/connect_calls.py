"""A Connect session of Tidegate's own for one sandboxed model: the only one that talks to Spark's Connect server."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Generator, Iterable, Mapping
from typing import Any

import grpc
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc, catalog_pb2, commands_pb2, relations_pb2

from tidegate.python_models.sandbox.sandbox_job import CallRefusedError
from tidegate.spark.connect_server import CONNECT_USER, ConnectServer

__all__ = ["SAFE_CONF", "ConnectCalls"]

SAFE_CONF: Mapping[str, str] = {
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
    "spark.sql.scripting.enabled": "false",
    # SQL was read by a parser that splits texts and names in this way.
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.connect.serverStacktrace.enabled": "false",
    "spark.sql.pyspark.jvmStacktrace.enabled": "false",
}
"""What the session has whatever the project sets: the checks of plans rely on it."""

_UNLIMITED = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_http_proxy", 0),
]
_CHUNK = 8 << 20
_ENDED = "the model was ended"


class ConnectCalls:
    """`conf`: settings of the session, under SAFE_CONF. Raises grpc.RpcError."""

    def __init__(self, server: ConnectServer, conf: Mapping[str, str]) -> None:
        self._channel = grpc.insecure_channel(server.address, options=_UNLIMITED)
        self._stub = base_pb2_grpc.SparkConnectServiceStub(self._channel)
        self._metadata = (("authorization", f"Bearer {server.token}"),)
        session_id = str(uuid.uuid4())
        server.open_session(session_id)
        self._asking: dict[str, Any] = {
            "session_id": session_id,
            "user_context": base_pb2.UserContext(user_id=CONNECT_USER),
            "client_type": "tidegate",
        }
        pairs = [base_pb2.KeyValue(key=key, value=value) for key, value in {**conf, **SAFE_CONF}.items()]
        opened = self._config(set=base_pb2.ConfigRequest.Set(pairs=pairs))
        # A session that the server has forgotten would come back without these settings: it must fail instead.
        self._asking["client_observed_server_side_session_id"] = opened.server_side_session_id
        self._running: Any = None
        self._ended = False

    def settings(self, names: Iterable[str]) -> dict[str, str]:
        """The values of those that have one."""
        answer = self._config(get_option=base_pb2.ConfigRequest.GetOption(keys=list(names)))
        return {pair.key: pair.value for pair in answer.pairs if pair.HasField("value")}

    def execute(self, plan: Any) -> Generator[Any, None, None]:
        """The responses. To stop reading them ends the operation."""
        self.check_ended()
        operation = str(uuid.uuid4())
        request = base_pb2.ExecutePlanRequest(**self._asking, operation_id=operation, plan=plan)
        chunks = request.request_options.add().result_chunking_options
        chunks.allow_arrow_batch_chunking, chunks.preferred_arrow_chunk_size = True, _CHUNK
        responses = self._stub.ExecutePlan(request, metadata=self._metadata)
        self._running, complete = responses, False
        try:
            self.check_ended()
            yield from responses
            complete = True
        finally:
            self._running = None
            if not complete:
                responses.cancel()
                self._interrupt(operation_id=operation)

    def command(self, command: commands_pb2.Command) -> None:
        for _ in self.execute(base_pb2.Plan(command=command)):
            pass

    def analyze(self, **what: Any) -> Any:
        request = base_pb2.AnalyzePlanRequest(**self._asking, **what)
        answer = self._stub.AnalyzePlan.future(request, metadata=self._metadata)
        self._running = answer
        try:
            self.check_ended()
            return answer.result()
        except grpc.FutureCancelledError as error:
            raise CallRefusedError("CANCELLED", _ENDED) from error
        finally:
            self._running = None
            answer.cancel()

    def error_details(self, error_id: str) -> Any:
        request = base_pb2.FetchErrorDetailsRequest(**self._asking, error_id=error_id)
        return self._stub.FetchErrorDetails(request, metadata=self._metadata, timeout=10)

    def interrupt(self) -> None:
        """End what runs now, and let nothing else begin. From any thread."""
        self._ended = True
        running = self._running
        if running is not None:
            running.cancel()
        self._interrupt()

    def close(self, views: Iterable[str]) -> None:
        """Drop these global temporary views, then release the session and what still runs in it."""
        self._ended = False  # for Tidegate's own work
        for view in views:
            drop = catalog_pb2.Catalog(drop_global_temp_view=catalog_pb2.DropGlobalTempView(view_name=view))
            with contextlib.suppress(grpc.RpcError):  # Spark may have ended, and its views with it
                for _ in self.execute(base_pb2.Plan(root=relations_pb2.Relation(catalog=drop))):
                    pass
        request = base_pb2.ReleaseSessionRequest(
            session_id=self._asking["session_id"], user_context=self._asking["user_context"], client_type="tidegate"
        )
        with contextlib.suppress(grpc.RpcError):  # Spark may have ended, and its sessions with it
            self._stub.ReleaseSession(request, metadata=self._metadata, timeout=30)
        self._channel.close()

    def check_ended(self) -> None:
        """Also once a call can be seen by `interrupt`, so that one of the two ends it."""
        if self._ended:
            raise CallRefusedError("CANCELLED", _ENDED)

    def _interrupt(self, operation_id: str = "") -> None:
        kinds = base_pb2.InterruptRequest
        kind = kinds.INTERRUPT_TYPE_OPERATION_ID if operation_id else kinds.INTERRUPT_TYPE_ALL
        request = kinds(**self._asking, interrupt_type=kind)
        if operation_id:
            request.operation_id = operation_id
        with contextlib.suppress(grpc.RpcError, ValueError):  # the session or the channel is closed
            self._stub.Interrupt(request, metadata=self._metadata, timeout=30)

    def _config(self, **operation: Any) -> Any:
        request = base_pb2.ConfigRequest(**self._asking, operation=base_pb2.ConfigRequest.Operation(**operation))
        return self._stub.Config(request, metadata=self._metadata)
