"""What Spark, Iceberg, Nessie and JDBC really throw has the right kind."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tidegate.failure_table import By, rules
from tidegate.spark.session import interrupt
from tidegate.spark.spark_errors import Failure, read_failure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NOT_INSTALLED = ("org.apache.hadoop.fs.s3a.", "software.amazon.", "com.microsoft.")


def failure_of(work: Callable[[], object]) -> Failure:
    try:
        work()
    except Exception as error:
        return read_failure(error)
    raise AssertionError("nothing was raised")


def test_every_java_class_of_the_table_is_an_exception_that_spark_can_load(spark: SparkSession) -> None:
    jvm: Any = spark.sparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    throwable = loader.loadClass("java.lang.Throwable")
    wrong = []
    for name in (name for rule in rules() if rule.by is By.JAVA for name in rule.names):
        if name.startswith(NOT_INSTALLED):
            continue
        try:
            if not throwable.isAssignableFrom(loader.loadClass(name)):
                wrong.append(name)
        except Exception:
            wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT * FROM no_such_table", "NotFound"),
        ("SELECT * FROM parquet.`/no/such/file`", "NotFound"),
        ("SELECT no_such_column", "QueryRejected"),
        ("SELEC 1", "QueryRejected"),
        ("SELECT 1 / (id - id) FROM range(2)", "QueryRejected"),
        ("SELECT CAST('No space left on device' || id AS int) FROM range(2)", "QueryRejected"),
        ("SELECT raise_error('Permission denied')", "QueryRejected"),
    ],
)
def test_a_query_has_the_kind_of_what_is_wrong_with_it(spark: SparkSession, query: str, kind: str) -> None:
    assert failure_of(lambda: spark.sql(query).collect()).kind == kind


@pytest.mark.parametrize(
    ("query", "message", "remedy"),
    [
        ("SELECT CAST('x' || id AS int) FROM range(1)", "The value 'x0' of the type", "Use try_cast"),
        ("SELECT to_timestamp('x' || id, 'yyyy') FROM range(1)", "Text 'x0' could not be parsed", "Use try_cast"),
        ("SELECT 1 / id FROM range(1)", "Division by zero.", "Use try_divide"),
        ("SELECT 1 % id FROM range(1)", "Remainder by zero.", "Use try_divide"),
        ("SELECT CAST(2147483648 + id AS int) FROM range(1)", "The value 2147483648 of the type", "Use a wider type"),
        ("SELECT 9223372036854775807 + id FROM range(1, 2)", "long overflow", "Use a wider type"),
        ("SELECT (SELECT id FROM range(2))", "More than one row", "Make the subquery give one row"),
        ("SELECT no_such FROM range(1)", "A column, variable, or function parameter", "Correct the name"),
    ],
)
def test_a_query_that_data_breaks_is_told_without_codes_and_with_the_way_out(
    spark: SparkSession, query: str, message: str, remedy: str
) -> None:
    failure = failure_of(lambda: spark.sql(query).collect())
    assert failure.message.startswith(message)
    assert "SQLSTATE" not in failure.message
    assert " pos " not in failure.message
    assert (failure.remedy or "").startswith(remedy)


def test_a_database_says_what_it_lacks_through_jdbc(spark: SparkSession, tmp_path: Path) -> None:
    def read(file: Path, table: str = "t") -> Failure:
        options = {"url": f"jdbc:sqlite:{file}?busy_timeout=0", "dbtable": table, "driver": "org.sqlite.JDBC"}
        return failure_of(lambda: spark.read.format("jdbc").options(**options).load().collect())

    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("CREATE TABLE t(a)")
        assert read(file, "missing").kind == "QueryRejected"
        holder.execute("BEGIN EXCLUSIVE")
        assert read(file).kind == "Transient"
    assert read(tmp_path / "no" / "a.db").kind == "NotFound"
    unknown = spark.read.format("jdbc").options(url="jdbc:nosuch:a", dbtable="t")
    assert failure_of(unknown.load).kind == "NotFound"


def test_what_a_python_worker_raised_decides(spark: SparkSession) -> None:
    from pyspark.sql.functions import udf

    def ask() -> int:
        import urllib.error

        raise urllib.error.HTTPError("http://a", 503, "Busy", None, None)  # type: ignore[arg-type]

    asking = udf(lambda number: ask(), "int")
    failure = failure_of(lambda: spark.range(1).select(asking("id")).collect())
    assert (failure.kind, failure.message) == ("Transient", "urllib.error.HTTPError: HTTP Error 503: Busy")


def test_a_job_that_is_interrupted_was_cancelled(spark: SparkSession) -> None:
    session = spark.newSession()
    found: list[Failure] = []

    def work() -> None:
        slow = "SELECT count(*) FROM range(0, 1000000000, 1, 4) WHERE length(sha2(CAST(id AS string), 512)) = 1"
        found.append(failure_of(lambda: session.sql(slow).collect()))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    for _ in range(300):
        interrupt(session)
        thread.join(0.1)
        if not thread.is_alive():
            break
    assert [failure.kind for failure in found] == ["Cancelled"]


def thrown(spark: SparkSession, name: str, *arguments: Any) -> Any:
    """A Java exception; an argument that is a text stays one, any other is a cause."""
    at: Any = spark.sparkContext._jvm
    for part in name.split("."):
        at = getattr(at, part)
    return at(*arguments)


def test_a_java_exception_is_followed_down_to_its_cause(spark: SparkSession) -> None:
    from py4j.protocol import Py4JJavaError

    gateway: Any = spark.sparkContext._gateway

    def kind(java: Any) -> str:
        return str(read_failure(Py4JJavaError("An error occurred", java)).kind)

    def none(count: int) -> Any:
        return gateway.new_array(gateway.jvm.java.lang.Object, count)

    timeout = thrown(spark, "java.net.SocketTimeoutException", "Read timed out")
    refused = thrown(spark, "java.net.ConnectException", "Connection refused")
    wrapped = thrown(
        spark, "java.lang.RuntimeException", "a", thrown(spark, "java.io.UncheckedIOException", "b", refused)
    )
    unknown = thrown(spark, "org.apache.iceberg.exceptions.CommitStateUnknownException", timeout)
    sql = thrown(spark, "java.sql.SQLException", "too many connections", "53300")
    busy = thrown(spark, "org.apache.iceberg.exceptions.ServiceUnavailableException", "busy", none(0))
    conflict = thrown(spark, "org.projectnessie.error.NessieReferenceConflictException", "moved")
    unauthorized = gateway.jvm.org.projectnessie.client.http.Status.UNAUTHORIZED
    refused_user = thrown(spark, "org.projectnessie.client.http.HttpClientResponseException", "no", unauthorized)
    throttled = thrown(
        spark, "org.apache.iceberg.exceptions.RESTException", "Unable to process (code: 429, type: a)", none(0)
    )
    full = thrown(spark, "java.nio.file.FileSystemException", "/a", None, "No space left on device")
    assert {
        "timeout": kind(timeout),
        "wrapped": kind(wrapped),
        "unknown": kind(thrown(spark, "java.lang.RuntimeException", "a", unknown)),
        "sql": kind(thrown(spark, "org.apache.iceberg.jdbc.UncheckedSQLException", sql, "Failed", none(0))),
        "busy": kind(busy),
        "conflict": kind(thrown(spark, "java.lang.RuntimeException", "a", conflict)),
        "user": kind(refused_user),
        "throttled": kind(throttled),
        "full": kind(thrown(spark, "java.io.IOException", "b", full)),
    } == {
        "timeout": "Transient",
        "wrapped": "ConnectionFailed",
        "unknown": "Unknown",
        "sql": "QuotaExceeded",
        "busy": "Transient",
        "conflict": "Conflict",
        "user": "AuthFailed",
        "throttled": "QuotaExceeded",
        "full": "Transient",
    }
