"""What kind of failure an exception is, from real exceptions where they can be had."""

from __future__ import annotations

import errno
import http.client
import socket
import sqlite3
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import psycopg
import psycopg.errors
import pytest
import sqlalchemy

from tests.services.ports import free_port
from tidegate.errors import FailureKind, LakeError, ModelTimeoutError, QualityError, SourceError, TidegateError
from tidegate.failures import (
    ExceptionFacts,
    classify,
    facts_in_text,
    facts_of_chain,
    first_line,
    kind_of,
    kind_of_status,
    seconds_to_wait,
)
from tidegate.spark.spark_errors import read_failure

ICEBERG = "org.apache.iceberg.exceptions."


def caught(work: Callable[[], object]) -> Exception:
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Answers /503 with status 503, and so on; /429 asks to wait."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = int(self.path.strip("/"))
            self.send_response(status)
            if status in (429, 503):
                self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http_server:
        thread = threading.Thread(target=http_server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http_server.server_port}"
        http_server.shutdown()
        thread.join()


def ask(url: str) -> Exception:
    error = caught(lambda: urllib.request.urlopen(url, timeout=5))
    if isinstance(error, urllib.error.HTTPError):
        error.close()
    return error


@pytest.mark.parametrize(
    ("status", "kind", "retry_after"),
    [
        (401, "AuthFailed", None),
        (403, "AuthFailed", None),
        (404, "NotFound", None),
        (410, "NotFound", None),
        (429, "QuotaExceeded", 7.0),
        (503, "Transient", 7.0),
        (500, "Transient", None),
        (400, "QueryRejected", None),
        (422, "QueryRejected", None),
    ],
)
def test_an_http_server_says_what_kind_it_is(server: str, status: int, kind: str, retry_after: float | None) -> None:
    failure = read_failure(ask(f"{server}/{status}"))
    assert (failure.kind, failure.retry_after) == (kind, retry_after)
    assert kind_of_status(status) == kind


def test_a_server_that_is_not_there_is_a_connection_failure() -> None:
    port = free_port()
    assert kind_of(ask(f"http://127.0.0.1:{port}")) is FailureKind.CONNECTION_FAILED
    address = f"host=127.0.0.1 port={port} connect_timeout=5 user=a dbname=a"
    assert kind_of(caught(lambda: psycopg.connect(address))) is FailureKind.CONNECTION_FAILED


def test_a_full_disk_is_told_with_what_to_do() -> None:
    def fill() -> None:
        with Path("/dev/full").open("w") as file:
            file.write("x")

    failure = read_failure(caught(fill))
    assert failure.kind is FailureKind.TRANSIENT
    assert failure.remedy is not None
    assert failure.remedy.startswith("Free disk space")


def test_a_locked_sqlite_file_is_a_passing_problem_through_sqlalchemy_too(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as holder:
        holder.execute("CREATE TABLE t(a PRIMARY KEY)")
        holder.execute("BEGIN EXCLUSIVE")
        engine = sqlalchemy.create_engine(f"sqlite:///{file}", connect_args={"timeout": 0})
        wrapped = caught(lambda: engine.connect().execute(sqlalchemy.text("SELECT * FROM t")))
        engine.dispose()
        assert isinstance(wrapped, sqlalchemy.exc.OperationalError)
        assert kind_of(wrapped) is FailureKind.TRANSIENT
        holder.execute("COMMIT")
        holder.execute("INSERT INTO t VALUES (1)")
        assert kind_of(caught(lambda: holder.execute("INSERT INTO t VALUES (1)"))) is FailureKind.CONFLICT
        assert kind_of(caught(lambda: holder.execute("SELEC"))) is FailureKind.QUERY_REJECTED
    missing = caught(lambda: sqlite3.connect(tmp_path / "no" / "a.db"))
    assert kind_of(missing) is FailureKind.NOT_FOUND


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.UndefinedTable("x"), "NotFound"),
        (psycopg.errors.SyntaxError("x"), "QueryRejected"),
        (psycopg.errors.InsufficientPrivilege("x"), "AuthFailed"),
        (psycopg.errors.InvalidPassword("x"), "AuthFailed"),
        (psycopg.errors.DeadlockDetected("x"), "Transient"),
        (psycopg.errors.SerializationFailure("x"), "Transient"),
        (psycopg.errors.AdminShutdown("x"), "Transient"),
        (psycopg.errors.DiskFull("x"), "Transient"),
        (psycopg.errors.TooManyConnections("x"), "QuotaExceeded"),
        (psycopg.errors.QueryCanceled("canceling statement due to statement timeout"), "Timeout"),
        (psycopg.errors.ConnectionFailure("x"), "ConnectionFailed"),
        (psycopg.OperationalError('password authentication failed for user "a"'), "AuthFailed"),
        (psycopg.OperationalError("the database system is starting up"), "Transient"),
        (psycopg.OperationalError("FATAL: sorry, too many clients already"), "QuotaExceeded"),
        (psycopg.OperationalError("server closed the connection unexpectedly"), "ConnectionFailed"),
        (OSError(errno.ENOSPC, "No space left on device"), "Transient"),
        (OSError(errno.EACCES, "Permission denied"), "AuthFailed"),
        (OSError(errno.EMFILE, "Too many open files"), "Transient"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "Transient"),
        (OSError(errno.EROFS, "Read-only file system"), "AuthFailed"),
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "NotFound"),
        (PermissionError("no number"), "AuthFailed"),
        (ssl.SSLCertVerificationError(1, "certificate verify failed"), "ConnectionFailed"),
        (socket.gaierror(-2, "Name or service not known"), "ConnectionFailed"),
        (urllib.error.URLError(socket.gaierror(-2, "Name or service not known")), "ConnectionFailed"),
        (urllib.error.URLError(TimeoutError("timed out")), "Transient"),
        (http.client.RemoteDisconnected("Remote end closed connection without response"), "ConnectionFailed"),
        (http.client.IncompleteRead(b""), "Transient"),
        (ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"), "ConnectionFailed"),
        (TimeoutError("timed out"), "Transient"),
        (MemoryError(), "Transient"),
        (KeyboardInterrupt(), "Cancelled"),
        (SourceError("x", source="crm", kind=FailureKind.QUOTA_EXCEEDED), "QuotaExceeded"),
        (QualityError("x"), "QualityFailed"),
        (ValueError("No space left"), "Unknown"),
        (KeyError("x"), "Unknown"),
    ],
    ids=lambda value: f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else str(value),
)
def test_an_exception_of_python_has_a_kind(error: BaseException, kind: str) -> None:
    assert kind_of(error) == kind
    assert read_failure(error).kind == kind


def test_what_caused_an_error_decides_and_what_was_being_handled_does_not() -> None:
    def raised(*, cause: bool) -> Exception:
        try:
            try:
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            except OSError as error:
                raise RuntimeError("something else") from (error if cause else None)
        except RuntimeError as wrapped:
            wrapped.__suppress_context__ = False
            return wrapped

    assert kind_of(raised(cause=True)) is FailureKind.NOT_FOUND
    assert kind_of(raised(cause=False)) is FailureKind.UNKNOWN


def test_what_we_have_decided_stays_and_what_we_do_not_know_is_looked_for() -> None:
    for error, kind in ((ModelTimeoutError("slow"), "Timeout"), (LakeError("lost"), "ConnectionFailed")):
        error.__cause__ = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        assert kind_of(error) == kind
        wrapped = RuntimeError("x")
        wrapped.__cause__ = error
        assert kind_of(wrapped) == kind


def test_a_chain_that_is_a_ring_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert len(facts_of_chain(first)) == 2


def test_an_error_of_our_own_keeps_its_message_its_remedy_and_how_long_to_wait() -> None:
    error = TidegateError("No", remedy="Do.")
    error.retry_after = 3.0
    failure = read_failure(error)
    assert (failure.message, failure.remedy, failure.retry_after) == ("No", "Do.", 3.0)


def test_an_unknown_commit_is_not_tried_again_although_what_caused_it_is() -> None:
    unknown = ExceptionFacts((f"{ICEBERG}CommitStateUnknownException",))
    timed_out = ExceptionFacts(("java.net.SocketTimeoutException", "java.io.IOException"), "Read timed out")
    classification = classify([ExceptionFacts(("java.lang.RuntimeException",)), unknown, timed_out])
    assert classification.kind is FailureKind.UNKNOWN
    assert classification.remedy is not None
    assert "branch of its own" in classification.remedy
    assert classify([timed_out]).kind is FailureKind.TRANSIENT


@pytest.mark.parametrize(
    ("fact", "kind"),
    [
        (ExceptionFacts((f"{ICEBERG}CommitFailedException",)), "Conflict"),
        (
            ExceptionFacts((f"{ICEBERG}ValidationException",), "Found conflicting files that can contain records"),
            "Conflict",
        ),
        (ExceptionFacts((f"{ICEBERG}ValidationException",), "Cannot add column"), "QueryRejected"),
        (ExceptionFacts(("java.io.IOException",), "No space left on device"), "Transient"),
        (ExceptionFacts(("java.io.FileNotFoundException",), "/a (Permission denied)"), "AuthFailed"),
        (ExceptionFacts(("java.io.FileNotFoundException",), "/a (Too many open files)"), "Transient"),
        (ExceptionFacts(("java.io.FileNotFoundException",), "/a (No such file or directory)"), "NotFound"),
        (ExceptionFacts(("java.io.IOException",), "Mkdirs failed to create file:/a"), "Unknown"),
        (ExceptionFacts(("a.B", "java.net.SocketException"), ""), "ConnectionFailed"),
        (ExceptionFacts(("org.apache.spark.SparkException",), "ExecutorLostFailure (executor 1 exited)"), "Transient"),
        (
            ExceptionFacts(("java.lang.IllegalStateException",), "Cannot call methods on a stopped SparkContext."),
            "Unknown",
        ),
        (ExceptionFacts(("java.sql.SQLException",), sqlstate="08006"), "ConnectionFailed"),
        (ExceptionFacts(("java.sql.SQLException",), sqlstate="42S01"), "QueryRejected"),  # it is there already
        (ExceptionFacts(("org.sqlite.SQLiteException",), sqlite="SQLITE_BUSY"), "Transient"),
        (
            ExceptionFacts(("com.microsoft.sqlserver.jdbc.SQLServerException",), sqlstate="S0001", sqlserver=1205),
            "Transient",
        ),
        (ExceptionFacts(("software.amazon.awssdk.services.s3.model.S3Exception",), status=403), "AuthFailed"),
        (ExceptionFacts(("a.SparkConnectGrpcException",), grpc="UNAVAILABLE"), "ConnectionFailed"),
        (
            ExceptionFacts(
                ("a.B",), "a file says: No space left on device", condition="CAST_INVALID_INPUT", sqlstate="22018"
            ),
            "QueryRejected",
        ),
        (
            ExceptionFacts(("a.B",), "No space left on device", condition="USER_RAISED_EXCEPTION", sqlstate="P0001"),
            "QueryRejected",
        ),
        (ExceptionFacts(("a.B",), "x", condition="FAILED_EXECUTE_UDF", sqlstate="39000"), "Unknown"),
    ],
    ids=lambda value: f"{value.classes} {value.message[:20]}" if isinstance(value, ExceptionFacts) else value,
)
def test_a_fact_has_a_kind(fact: ExceptionFacts, kind: str) -> None:
    assert classify([fact]).kind == kind


def test_the_remedy_may_come_from_further_out_than_the_kind() -> None:
    late = ExceptionFacts(("java.util.concurrent.TimeoutException",), "Futures timed out after [300 seconds]")
    broadcast = ExceptionFacts(("org.apache.spark.SparkException",), condition="_LEGACY_ERROR_TEMP_2097")
    classification = classify([broadcast, late])
    assert classification.kind is FailureKind.TRANSIENT
    assert classification.remedy is not None
    assert "broadcastTimeout" in classification.remedy


TASK = """Job aborted due to stage failure: Lost task 0.0 in stage 1.0 (TID 1) (host executor driver): %s
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)
Driver stacktrace:"""
WORKER = """Traceback (most recent call last):
  File "a.py", line 1, in f
%s"""
CAUSED = """java.lang.RuntimeException: a
\tat b.C.d(C.java:1)
Caused by: %s"""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (TASK % "java.io.IOException: No space left on device", "Transient"),
        (TASK % "ExecutorLostFailure (executor 1 exited)", "Unknown"),
        (CAUSED % "java.net.ConnectException: Connection refused", "ConnectionFailed"),
        (CAUSED % "org.sqlite.SQLiteException: [SQLITE_BUSY] The database file is locked", "Transient"),
        (CAUSED % "org.postgresql.util.PSQLException: FATAL: password", "Unknown"),
        (
            CAUSED % "a.SparkDateTimeException: [CAST_INVALID_INPUT] No space left on device. SQLSTATE: 22018",
            "QueryRejected",
        ),
        (CAUSED % f"{ICEBERG}RESTException: Unable to process (code: 429, type: X): slow down", "QuotaExceeded"),
        (WORKER % "urllib.error.HTTPError: HTTP Error 503: Busy", "Transient"),
        (WORKER % "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests", "QuotaExceeded"),
        (WORKER % "ConnectionResetError: [Errno 104] Connection reset by peer", "ConnectionFailed"),
        (WORKER % "OSError: [Errno 24] Too many", "Transient"),
        (WORKER % "socket.gaierror: [Errno -2] Name or service not known", "ConnectionFailed"),
        (WORKER % "ValueError: HTTP Error 503", "Unknown"),
        ("nothing of the kind", "Unknown"),
    ],
)
def test_a_stack_trace_has_a_kind(text: str, kind: str) -> None:
    assert classify(facts_in_text(text)).kind == kind


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("Sun, 15 Nov 2026 12:00:30 GMT", 30.0),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-5", None),
        ("9" * 400, 604800.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 604800.0),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_moment(header: str | None, seconds: float | None) -> None:
    assert seconds_to_wait(header, datetime(2026, 11, 15, 12, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("org.apache.spark.SparkException: [TOO_MANY_ROWS] More than one row.", "More than one row."),
        (
            "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `a` cannot be resolved. SQLSTATE: 42703; line 1 pos 7",
            "A column `a` cannot be resolved.",
        ),
        (
            '[CAST_OVERFLOW] The value 2147483648L of the type "BIGINT" cannot be cast to "INT". SQLSTATE: 22003',
            'The value 2147483648 of the type "BIGINT" cannot be cast to "INT".',
        ),
        ("[a, b] is a list", "[a, b] is a list"),
        ("java.lang.RuntimeException: java.io.IOException: the disk is gone", "the disk is gone"),
        ("java.lang.NullPointerException", "java.lang.NullPointerException"),
    ],
)
def test_names_of_classes_and_codes_are_no_part_of_the_message(text: str, message: str) -> None:
    assert read_failure(RuntimeError(text)).message == message


def test_first_line_of_an_exception_that_says_nothing_is_its_class() -> None:
    assert first_line(OSError("no space\nleft")) == "no space"
    assert first_line(EOFError()) == "EOFError"
