"""What a sandboxed model does not get from Spark, tried over the whole way to the server."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc, relations_pb2

from tests.python_models.connect.served import client_of, granted, open_proxy
from tidegate.config import SandboxSection
from tidegate.python_models.connect.connect_calls import SAFE_CONF
from tidegate.python_models.connect.plan_proxy import PlanProxy
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError
from tidegate.spark.connect_server import ConnectServer, connect_server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ORDERS = "ref shop.silver.orders"
RANGE = relations_pb2.Relation(range=relations_pb2.Range(end=3, step=1))


def failure(work: Any) -> str:
    with pytest.raises(Exception) as caught:
        work()
    return str(caught.value)


def test_the_server_listens_here_alone_and_asks_for_its_token(spark: SparkSession) -> None:
    server = connect_server(spark)
    assert server.address.startswith("127.0.0.1:")
    assert server.token not in repr(server)
    again = connect_server(spark.newSession())
    assert (again.address, again.token) == (server.address, server.token)
    assert spark.newSession().conf.get("spark.connect.authenticate.token", "none") == "none"
    request = base_pb2.ConfigRequest(session_id="00000000-0000-4000-8000-000000000000")
    for token in ("", "wrong"):
        with grpc.insecure_channel(server.address) as channel:
            metadata = (("authorization", f"Bearer {token}"),) if token else ()
            with pytest.raises(grpc.RpcError) as caught:
                base_pb2_grpc.SparkConnectServiceStub(channel).Config(request, metadata=metadata)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    with pytest.raises(grpc.RpcError):
        PlanProxy(ConnectServer(server.address, "wrong"), {}, SandboxSection())


def test_metadata_columns_are_out_of_reach(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    files = spark.read.option("header", "true").csv(str(tmp_path))
    assert files.select("_metadata.file_path").count() == 1
    with granted(spark, {ORDERS: files}) as grants, open_proxy(spark, grants) as proxy, client_of(proxy) as client:
        orders = client.table(ORDERS)
        for attempt in (
            lambda: orders.select("_metadata.file_path").collect(),
            lambda: orders.select(orders.metadataColumn("_metadata")).collect(),
            lambda: client.sql("SELECT orders._metadata FROM silver.orders"),
            lambda: orders.inputFiles(),
        ):
            assert str(tmp_path) not in failure(attempt)
        assert orders.select(orders.colRegex("`_.*`")).columns == []
        assert str(tmp_path) not in orders._explain_string(extended=True)
        (tmp_path / "a.csv").unlink()
        message = failure(lambda: orders.collect())
        assert "FILE_NOT_EXIST" in message
        assert str(tmp_path) not in message


def test_errors_say_what_is_wrong_and_hide_the_views(client: Any, inputs: dict[str, str]) -> None:
    from pyspark.errors import AnalysisException, NumberFormatException

    with pytest.raises(AnalysisException) as unknown:
        client.sql("SELECT\n  amunt FROM silver.orders")
    assert unknown.value.getCondition() == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert "line 2 pos 2" in str(unknown.value)
    assert "`amount`" in str(unknown.value)
    with pytest.raises(NumberFormatException) as bad:
        client.sql("SELECT CAST(city AS int) FROM silver.orders").collect()
    assert bad.value.getSqlState() == "22018"
    plan = client.table(ORDERS)._explain_string(extended=True)
    for shown in (str(unknown.value), str(bad.value), plan):
        assert not any(view in shown for view in inputs.values())
        assert "org.apache" not in shown
        assert "SubqueryAlias" not in shown or shown is plan


def test_settings_are_fixed(client: Any, proxy: PlanProxy) -> None:
    assert client.conf.get("spark.sql.session.timeZone") == "UTC"
    assert client.conf.get("spark.app.name", "unknown") == "unknown"
    assert "closed to Python models" in failure(lambda: client.conf.get("spark.driver.extraClassPath"))
    assert "[spark.conf]" in failure(lambda: client.conf.set("spark.sql.runSQLOnFiles", "true"))
    assert proxy._calls.settings(SAFE_CONF) == SAFE_CONF
    assert "files and packages" in failure(lambda: client.addArtifact(__file__, file=True))
    assert "the session belongs to Tidegate" in failure(lambda: client.cloneSession())


def test_the_session_of_a_model_gets_the_settings_of_its_classic_one(spark: SparkSession) -> None:
    conf = {"spark.sql.session.timeZone": "Europe/Oslo", "spark.sql.runSQLOnFiles": "true"}
    with open_proxy(spark, {}, conf=conf) as proxy, client_of(proxy) as client:
        assert client.sql("SELECT current_timezone()").collect()[0][0] == "Europe/Oslo"
        assert proxy._calls.settings(SAFE_CONF) == SAFE_CONF


def test_rows_past_the_limit_are_refused_with_advice(spark: SparkSession) -> None:
    section = SandboxSection(local_rows=50_000)
    with open_proxy(spark, {}, section) as proxy, client_of(proxy) as client:
        assert client.range(1_000_000).count() == 1_000_000
        assert "raise local_rows" in failure(lambda: client.range(1_000_000).toPandas())
        assert "raise local_rows" in failure(lambda: client.createDataFrame([("x" * 1000,)] * 100, "a string").count())


def test_python_functions_run_in_workers(client: Any) -> None:
    from pyspark.sql.connect import functions as f

    orders = client.table(ORDERS).select("id")
    assert {row[0] for row in orders.select(f.udf(lambda x: x + 1, "bigint")("id")).collect()} == {1, 2, 3, 4}
    doubled = orders.mapInPandas(lambda frames: (frame * 2 for frame in frames), "id bigint")
    assert {row[0] for row in doubled.collect()} == {0, 2, 4, 6}

    message = failure(lambda: orders.select(f.udf(lambda x: 1 // (x - x), "bigint")("id")).collect())
    assert "ZeroDivisionError" in message
    assert __file__ not in message


def test_deep_plans_end_in_an_error_and_not_in_a_crash(client: Any) -> None:
    from pyspark.sql.connect import functions as f

    def steps(count: int) -> Any:
        frame = client.table(ORDERS)
        for _ in range(count):
            frame = frame.withColumn("x", f.lit(1))
        return frame

    assert "x" in steps(100).columns
    assert "nested more than" in failure(lambda: steps(310).columns)
    assert client.range(2).count() == 2


ENDLESS = "SELECT max(id) FROM range(0, 1000000000000000, 1, 2)"


def test_an_interrupted_call_ends(spark: SparkSession) -> None:
    with open_proxy(spark, {}) as proxy, client_of(proxy) as client:
        endless = client.sql(ENDLESS)
        tracker = spark.sparkContext.statusTracker()
        before = set(tracker.getActiveJobsIds())

        def interrupt_once_it_runs() -> None:
            while not set(tracker.getActiveJobsIds()) - before:
                pass
            proxy.interrupt()

        threading.Thread(target=interrupt_once_it_runs, daemon=True).start()
        assert failure(endless.collect)
        while set(tracker.getActiveJobsIds()) - before:
            pass


def _views(spark: SparkSession) -> set[str]:
    """Global ones. `listTables` cannot decode some views that other tests leave in the session."""
    rows = spark.sql("SHOW VIEWS IN global_temp").collect()
    return {row["viewName"] for row in rows if row["namespace"] == "global_temp"}


def test_after_an_interrupt_nothing_else_begins(spark: SparkSession) -> None:
    with open_proxy(spark, {}) as proxy, client_of(proxy) as client:
        endless = client.sql(ENDLESS)
        made = proxy.register(RANGE.SerializeToString())
        proxy.interrupt()
        assert failure(endless.collect) == "the model was ended"
        assert failure(lambda: client.sql("SELECT 1")) == "the model was ended"
    assert made not in _views(spark)


def test_a_closed_proxy_leaves_nothing_and_touches_no_other(spark: SparkSession, inputs: dict[str, str]) -> None:
    before = _views(spark)
    with open_proxy(spark, inputs) as other:
        kept = other.register(RANGE.SerializeToString())
        with open_proxy(spark, inputs) as proxy, client_of(proxy) as client:
            client.stop()  # its result is still to be registered
            made = proxy.register(RANGE.SerializeToString())
            assert _views(spark) == before | {kept, made}
        assert _views(spark) == before | {kept}
        assert len(list(other.call("ExecutePlan", _execute(RANGE)))) > 1
    assert _views(spark) == before


def test_a_forgotten_session_does_not_come_back_without_its_settings(spark: SparkSession) -> None:
    with open_proxy(spark, {}) as proxy:
        proxy._calls._stub.ReleaseSession(
            base_pb2.ReleaseSessionRequest(
                session_id=proxy._calls._asking["session_id"],
                user_context=proxy._calls._asking["user_context"],
                allow_reconnect=True,
            ),
            metadata=proxy._calls._metadata,
        )
        with pytest.raises(CallRefusedError, match="INVALID_HANDLE"):
            list(proxy.call("ExecutePlan", _execute(RANGE)))


def test_a_model_sees_no_session_but_its_own(spark: SparkSession, inputs: dict[str, str], proxy: PlanProxy) -> None:
    with open_proxy(spark, {}) as other:
        asking = base_pb2.ExecutePlanRequest.FromString(_execute(RANGE))
        asking.session_id = str(proxy._calls._asking["session_id"])
        asking.user_context.user_id = "somebody"
        answers = list(
            map(base_pb2.ExecutePlanResponse.FromString, other.call("ExecutePlan", asking.SerializeToString()))
        )
        assert {answer.session_id for answer in answers} == {asking.session_id}
        assert {answer.server_side_session_id for answer in answers} == {""}
        view = next(iter(inputs.values()))
        for name in (ORDERS, view, f"global_temp.{view}"):
            read = relations_pb2.Read(named_table=relations_pb2.Read.NamedTable(unparsed_identifier=name))
            with pytest.raises(CallRefusedError, match="does not declare"):
                list(other.call("ExecutePlan", _execute(relations_pb2.Relation(read=read))))
            with pytest.raises(CallRefusedError, match="does not declare"):
                other.register(relations_pb2.Relation(read=read).SerializeToString())


@pytest.mark.parametrize("method", ["AddArtifacts", "CloneSession", "ReattachExecute", "FetchErrorDetails", "Nothing"])
def test_other_calls_are_refused(proxy: PlanProxy, method: str) -> None:
    with pytest.raises(CallRefusedError):
        list(proxy.call(method, b""))


@pytest.mark.parametrize("request_", [b"", b"\xff\xff", b"\x22\x00", b"\x2a\x00"])
def test_empty_and_broken_requests_are_refused(proxy: PlanProxy, request_: bytes) -> None:
    for method in ("ExecutePlan", "AnalyzePlan", "Config"):
        with pytest.raises(CallRefusedError):
            list(proxy.call(method, request_))


def _execute(relation: relations_pb2.Relation) -> bytes:
    plan = base_pb2.Plan(root=relation)
    return base_pb2.ExecutePlanRequest(session_id="00000000-0000-4000-8000-000000000001", plan=plan).SerializeToString()
