"""When a JVM that still lives is given up."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tidegate.spark.jvm import Jvm, running_jvm
from tidegate.spark.jvm_watch import JvmHealth, JvmProbe, SparkProbe, watch_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = frozenset({"dag-scheduler-event-loop", "Spark Context Cleaner", "Thread-2"})
TASK = "Executor task launch worker for task 0.0 in stage 95.0 (TID 140)"


def test_jvm_that_answers_is_left_alone() -> None:
    health = JvmHealth()
    assert [health.reason_to_end(JvmProbe(SPARK, frozenset())) for _ in range(100)] == [None] * 100


def test_jvm_is_given_up_after_silence_on_end_not_after_single_ones() -> None:
    health, good = JvmHealth(), JvmProbe(SPARK, frozenset())
    assert [health.reason_to_end(probe) for probe in (None, good, None, None, None, good, None)] == [None] * 7
    assert [health.reason_to_end(None) for _ in range(3)] == [None, None, "it did not answer, as for want of memory"]


def test_jvm_without_a_thread_of_spark_is_given_up_others_may_go() -> None:
    health = JvmHealth()
    assert health.reason_to_end(JvmProbe(SPARK, frozenset())) is None
    without = JvmProbe(SPARK - {"Thread-2"}, frozenset())
    assert [health.reason_to_end(without) for _ in range(3)] == [None] * 3
    lost = JvmProbe(SPARK - {"Spark Context Cleaner"}, frozenset())
    assert health.reason_to_end(lost) is None  # the context may be stopping
    assert health.reason_to_end(lost) == "it lost its thread Spark Context Cleaner, as for want of memory"


def test_task_that_computes_on_after_its_stage_has_ended_costs_the_jvm() -> None:
    health = JvmHealth()
    running = JvmProbe(SPARK | {TASK}, frozenset({95}))
    assert [health.reason_to_end(running) for _ in range(50)] == [None] * 50
    cancelled = JvmProbe(SPARK | {TASK}, frozenset({96}))
    assert [health.reason_to_end(cancelled) for _ in range(12)] == [None] * 12
    assert health.reason_to_end(cancelled) == "a task that was cancelled did not end"


def test_short_tasks_of_ended_stages_do_not_add_up() -> None:
    health = JvmHealth()
    for task in range(100):
        name = f"Executor task launch worker for task 0.0 in stage 1.0 (TID {task})"
        assert health.reason_to_end(JvmProbe(SPARK | {name}, frozenset())) is None


@pytest.fixture
def process(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.wait()
    assert started.stdin is not None
    started.stdin.close()


def _jvm(process: subprocess.Popen[bytes], folder: Path, port: int) -> Jvm:
    (folder / "gateway").write_bytes(struct.pack("!ii", port, 6) + b"secret")
    jvm = Jvm(process, folder)
    jvm._gateway = jvm.wait_for_gateway()
    return jvm


def test_answer_is_a_greeting_on_a_new_connection(process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        received: list[bytes] = []

        def greet() -> None:
            connection, _ = server.accept()
            with connection:
                received.append(connection.recv(100))
                connection.sendall(b"!yv\n")

        greeting = threading.Thread(target=greet)
        greeting.start()
        jvm = _jvm(process, tmp_path, server.getsockname()[1])
        assert jvm.answers(10)
        greeting.join()
        assert received == [b"A\nsecret\n"]
        assert not jvm.answers(0.05)  # the system accepts, and no thread greets
    assert not jvm.answers(10)


def test_watch_ends_a_jvm_that_is_given_up_and_says_why(process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        jvm = _jvm(process, tmp_path, server.getsockname()[1])
        pauses: list[float] = []
        watch_jvm(jvm, cast("SparkProbe", _Silent(jvm)), pauses.append)
    assert (jvm.alive, len(pauses)) == (False, 4)
    assert jvm.ended_because == "it did not answer, as for want of memory"


class _Silent:
    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm

    @property
    def needed(self) -> bool:
        return self.jvm.alive

    def __call__(self) -> None:
        return None


@pytest.mark.spark
def test_jvm_of_spark_answers_with_its_threads_and_stages(spark: SparkSession) -> None:
    jvm = running_jvm()
    assert jvm is not None
    probe = SparkProbe(jvm, spark.sparkContext)()
    assert probe is not None
    assert {"dag-scheduler-event-loop", "Spark Context Cleaner", "spark-listener-group-appStatus"} <= probe.threads
    assert JvmHealth().reason_to_end(probe) is None
