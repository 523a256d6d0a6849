"""Spark Connect for one sandboxed model: every plan is checked and rewritten before Spark's server sees it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
from pyspark.sql.connect.proto import base_pb2, commands_pb2, expressions_pb2, relations_pb2

from tidegate.compiler.analysis.functions.lookup import REFUSED
from tidegate.config import SandboxSection
from tidegate.python_models.connect.call_errors import ScrubbedText, scrubbed_error
from tidegate.python_models.connect.connect_calls import ConnectCalls
from tidegate.python_models.connect.granted_views import GrantedViews
from tidegate.python_models.connect.local_rows import LocalRows
from tidegate.python_models.connect.message_rules import NOT_KNOWN
from tidegate.python_models.connect.message_values import MessageValues
from tidegate.python_models.connect.method_rules import REFUSED_METHODS, REQUESTS
from tidegate.python_models.connect.plan_check import PlanCheck
from tidegate.python_models.connect.plan_functions import refusal
from tidegate.python_models.connect.settings_shown import READABLE, config_response
from tidegate.python_models.connect.wire_depth import parse_bounded
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError
from tidegate.spark.connect_server import ConnectServer

__all__ = ["PlanProxy"]

_BESIDE_ROWS = 64 << 20
"""Bytes of a request besides the rows that the model makes."""

_ROWS_IN_RESPONSE = ("arrow_batch", "result_complete")


class PlanProxy:
    """A CallHandler with a Connect session of its own.

    `grants`: by handle (`ref shop.silver.orders`), the name of a global temporary view, without its database.
    `namespace`: the project's own, for names in SQL. `functions`: those that the project declares, in lower case.
    `conf`: settings that the model's classic session has set, such as its time zone; none may hold a secret.
    Raises grpc.RpcError where the server cannot be reached.
    """

    def __init__(
        self,
        server: ConnectServer,
        grants: Mapping[str, str],
        section: SandboxSection,
        *,
        namespace: str = "",
        functions: frozenset[str] = frozenset(),
        conf: Mapping[str, str] | None = None,
    ) -> None:
        views = GrantedViews(grants, namespace)
        self._rows = LocalRows(section.local_rows)
        values = MessageValues(views, section, functions - REFUSED.keys(), self._rows)
        self._scrub = ScrubbedText(views.names_of_views())
        self._registered: list[str] = []
        self._calls = ConnectCalls(server, conf or {})
        self._plans = PlanCheck(views, values, self._calls.check_ended)
        self._settings = self._calls.settings(READABLE)
        self._answers: Mapping[str, Callable[[Any], Iterator[Any]]] = {
            "ExecutePlan": self._execute,
            "AnalyzePlan": self._analyze,
            "Config": self._config,
            "Interrupt": _nothing_runs,
            "ReleaseExecute": _released,
            "ReleaseSession": _stays_open,
        }

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        """The responses of the server. Raises CallRefusedError, also between two responses."""
        if method not in REQUESTS:
            raise refusal(REFUSED_METHODS.get(method, f"{method[:50]}: {NOT_KNOWN}"))
        message = self._parsed(getattr(base_pb2, REQUESTS[method]), request)
        with self._errors():
            for response in self._answers[method](message):
                response.session_id = message.session_id
                response.server_side_session_id = ""
                yield response.SerializeToString()

    def register(self, relation: bytes) -> str:
        """Check a relation that the model returned; the name of a global temporary view of it, without its database.

        It lives until `close`. Raises CallRefusedError.
        """
        result = self._parsed(relations_pb2.Relation, relation)
        self._plans.check(result)
        view = f"result_{secrets.token_hex(16)}"
        create = commands_pb2.CreateDataFrameViewCommand(input=result, name=view, is_global=True)
        with self._errors():
            self._calls.command(commands_pb2.Command(create_dataframe_view=create))
        self._registered.append(view)
        return view

    def checked_expression(self, expression: bytes) -> bytes:
        """An expression that the code returned, which Spark may see. Raises CallRefusedError."""
        message = self._parsed(expressions_pb2.Expression, expression)
        self._plans.check(message)
        checked: bytes = message.SerializeToString()
        return checked

    def interrupt(self) -> None:
        """End what runs now, and let nothing else begin. From any thread."""
        self._calls.interrupt()

    def close(self) -> None:
        """Drop the views of `register` and release the session. Call it once the result is written."""
        self._calls.close(self._registered)

    def _parsed(self, message_type: Any, data: bytes) -> Any:
        if len(data) > self._rows.limit + _BESIDE_ROWS:
            raise refusal("the plan is larger than [sandbox] local_rows allows")
        try:
            return parse_bounded(message_type, data)
        except ValueError as error:
            raise CallRefusedError("INVALID_ARGUMENT", str(error)) from error

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except grpc.RpcError as error:
            raise scrubbed_error(error, self._scrub, self._calls.error_details) from None

    def _execute(self, request: Any) -> Iterator[Any]:
        if request.plan.WhichOneof("op_type") == "command":
            yield from self._command(request)
            return
        self._plans.check(request)
        if request.plan.WhichOneof("op_type") is None:
            raise refusal("the plan is empty")
        rows = 0
        with contextlib.closing(self._calls.execute(self._bounded(request.plan))) as responses:
            for response in responses:
                rows += response.arrow_batch.row_count
                self._rows.check_number(rows)
                yield self._shown(response)

    def _bounded(self, plan: Any) -> Any:
        """With one row more than a result may have: Spark holds all rows of a partition before it sends the first."""
        bounded = base_pb2.Plan()
        bounded.root.limit.input.CopyFrom(plan.root)
        bounded.root.limit.limit = self._rows.most_rows + 1
        return bounded

    def _shown(self, response: Any) -> Any:
        """What the model may see of a response: rows, their schema, and what it observed."""
        shown = base_pb2.ExecutePlanResponse(response_id=response.response_id, operation_id=response.operation_id)
        kind = response.WhichOneof("response_type")
        if kind in _ROWS_IN_RESPONSE:
            getattr(shown, kind).CopyFrom(getattr(response, kind))
        if response.HasField("schema"):
            shown.schema.CopyFrom(response.schema)
        shown.observed_metrics.extend(response.observed_metrics)
        self._rows.take(shown.ByteSize())
        return shown

    def _command(self, request: Any) -> Iterator[Any]:
        """SQL is checked and analyzed now, so that its errors appear at its line; it comes back as it was sent."""
        as_sent = relations_pb2.Relation()
        as_sent.CopyFrom(request.plan.command.sql_command.input)
        self._plans.check(request)
        bound = request.plan.command.sql_command.input
        if bound.WhichOneof("rel_type") not in ("sql", "with_relations"):
            raise refusal("a command for SQL holds none")
        self._calls.analyze(schema=base_pb2.AnalyzePlanRequest.Schema(plan=base_pb2.Plan(root=bound)))
        answer = base_pb2.ExecutePlanResponse(operation_id=request.operation_id)
        answer.sql_command_result.relation.CopyFrom(as_sent)
        yield answer
        yield base_pb2.ExecutePlanResponse(result_complete=base_pb2.ExecutePlanResponse.ResultComplete())

    def _analyze(self, request: Any) -> Iterator[Any]:
        self._plans.check(request)
        kind = request.WhichOneof("analyze")
        answer = base_pb2.AnalyzePlanResponse()
        if kind is None:
            raise refusal("an empty question about a plan")
        if kind in ("persist", "unpersist", "get_storage_level"):  # what is cached would outlive the model
            getattr(answer, kind).SetInParent()
        elif kind == "is_streaming":
            answer.is_streaming.is_streaming = False
        else:
            from_spark = self._calls.analyze(**{kind: getattr(request, kind)})
            getattr(answer, kind).CopyFrom(getattr(from_spark, kind))
        if kind == "explain":
            answer.explain.explain_string = self._scrub(answer.explain.explain_string)
        elif kind == "tree_string":
            answer.tree_string.tree_string = self._scrub(answer.tree_string.tree_string)
        yield answer

    def _config(self, request: Any) -> Iterator[Any]:
        self._plans.check(request)
        yield config_response(request.operation, self._settings, request.session_id)


def _nothing_runs(request: Any) -> Iterator[Any]:
    """One call is answered at a time: there is none to be interrupted by another."""
    yield base_pb2.InterruptResponse()


def _released(request: Any) -> Iterator[Any]:
    yield base_pb2.ReleaseExecuteResponse()


def _stays_open(request: Any) -> Iterator[Any]:
    """Its result is read after the model has ended: Tidegate closes the session."""
    yield base_pb2.ReleaseSessionResponse()
