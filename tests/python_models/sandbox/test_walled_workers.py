"""Functions of the project in Spark's workers."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tidegate.config.sandbox_settings import SandboxSection
from tidegate.python_models.sandbox.worker_launcher import WORKER_CONF, worker_python

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def walled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The shared session, whose functions run in walled workers for as long as this module."""
    section = SandboxSection(memory=256 << 20, cpu_time=timedelta(seconds=2))
    context = spark.sparkContext
    conf = spark._jvm.org.apache.spark.SparkEnv.get().conf()
    before = {name: conf.get(name, "") for name in WORKER_CONF}
    python = context.pythonExec
    for name, value in WORKER_CONF.items():
        conf.set(name, value)
    context.pythonExec = str(worker_python(section, tmp_path_factory.mktemp("workers")))
    yield spark
    context.pythonExec = python
    for name, value in before.items():
        conf.set(name, value) if value else conf.remove(name)


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_plain_and_pandas_functions_work(walled: SparkSession) -> None:
    @F.udf("long")
    def twice(number):
        return number * 2

    @F.pandas_udf("long")
    def more(numbers: pd.Series) -> pd.Series:
        return numbers + 1

    assert rows(walled.range(3).select(twice("id"), more("id"))) == [(0, 1), (2, 2), (4, 3)]


def test_functions_of_whole_frames_work(walled: SparkSession) -> None:
    def sums(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"total": [frame["id"].sum()]})

    def sizes(frame: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"size": [len(frame)]})

    assert rows(walled.range(0, 10, 1, 1).mapInPandas(sums, "total long")) == [(45,)]
    assert rows(walled.range(6).groupBy(F.col("id") % 2).applyInPandas(sizes, "size long")) == [(3,), (3,)]


def test_a_function_reaches_no_secret(walled: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the-secret")
    secret.chmod(0o644)
    listener = socket.create_server(("127.0.0.1", 0))
    path, port, jvm = str(secret), listener.getsockname()[1], os.getppid()

    @F.udf("string")
    def attack(number):
        import json
        import os
        import socket

        def attempt(function):
            try:
                return repr(function())
            except BaseException as error:
                return type(error).__name__

        return json.dumps(
            {
                "file": attempt(lambda: open(path).read()),
                "folder": attempt(lambda: os.listdir("/etc")),
                "socket": attempt(lambda: socket.create_connection(("127.0.0.1", port))),
                "unix": attempt(lambda: socket.socket(socket.AF_UNIX)),
                "fork": attempt(lambda: os.fork()),
                "signal": attempt(lambda: os.kill(jvm, 0)),
                "parent": attempt(lambda: os.kill(os.getppid(), 9)),
                "environment": sorted(os.environ),
                "files": os.listdir("."),
                "proc": attempt(lambda: os.listdir("/proc")),
            }
        )

    found = json.loads(walled.range(1).select(attack("id")).collect()[0][0])
    listener.close()
    environment = found.pop("environment")
    assert not [name for name in environment if "SECRET" in name or "TOKEN" in name or "PASSWORD" in name]
    assert found.pop("files") == []
    assert set(found.values()) <= {
        "PermissionError",
        "FileNotFoundError",
        "BlockingIOError",
        "ProcessLookupError",
    }, found


BOMBS = {
    "memory": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "cpu": "while True: pass",
    "fork": "import os\nwhile True: os.fork()",
    "exit": "import os\nos._exit(3)",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_fails_its_query_alone(walled: SparkSession, name: str) -> None:
    source = BOMBS[name]

    @F.udf("long")
    def bomb(number):
        exec(source)
        return 1

    @F.udf("long")
    def same(number):
        return number

    with pytest.raises(Exception, match=r"MemoryError|crashed|EOF|BlockingIOError|unexpectedly"):
        walled.range(0, 1, 1, 1).select(bomb("id")).collect()
    assert rows(walled.range(1).select(same("id"))) == [(0,)]


def test_arrow_data_that_leads_out_of_its_buffers_does_not_reach_the_jvm(walled: SparkSession) -> None:
    """The JVM would read its own memory there, and crash or give it to the function's query."""

    def leaks(batches):
        import struct
        import sys

        import pyarrow as pa

        frame = sys._getframe()
        while "outfile" not in frame.f_locals:
            frame = frame.f_back
        texts = pa.StructArray.from_arrays([pa.array(["thirteen signs"], pa.large_string())], ["a"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, pa.schema({"_0": texts.type})) as writer:
            writer.write_batch(pa.record_batch({"_0": texts}))
        stream = sink.getvalue().to_pybytes().replace(struct.pack("<qq", 0, 14), struct.pack("<qq", 0, 300_000))
        end = struct.pack("!i5q", -3, 0, 0, 0, 0, 0) + struct.pack("!iii", -1, 0, -4)
        frame.f_locals["outfile"].write(struct.pack("!i", -6) + stream + end)
        frame.f_locals["outfile"].flush()
        list(batches)
        yield from ()

    with pytest.raises(Exception, match=r"crashed|EOF|unexpectedly"):
        walled.range(0, 1, 1, 1).mapInArrow(leaks, "a string").collect()


def test_many_rows_of_every_type_pass(walled: SparkSession) -> None:
    made = walled.range(0, 20_000, 1, 1).selectExpr(
        "id", "CAST(id AS STRING) AS s", "array(id, NULL) AS l", "map('k', id) AS m", "named_struct('x', id / 2) AS t",
        "CAST(id AS DECIMAL(20, 2)) AS d", "timestamp_micros(id) AS at", "if(id % 2 = 0, NULL, id) AS n",
    )  # fmt: skip
    passed = made.mapInArrow(lambda batches: batches, made.schema)
    assert passed.selectExpr("to_json(struct(*))").exceptAll(made.selectExpr("to_json(struct(*))")).count() == 0
    assert passed.count() == 20_000


def test_an_array_that_does_not_fit_fails_its_query_alone(walled: SparkSession) -> None:
    with pytest.raises(Exception, match="OutOfMemoryError"):
        walled.range(1).selectExpr("length(repeat(CAST(id AS STRING), 2147483000))").collect()
    assert rows(walled.range(1)) == [(0,)]


def test_a_function_is_not_told_the_settings_of_spark(walled: SparkSession) -> None:
    """The project's own are among them, and may hold passwords."""

    @F.udf("string")
    def told(number):
        from pyspark.taskcontext import TaskContext

        return str(TaskContext.get()._localProperties)

    assert rows(walled.range(1).select(told("id"))) == [("{}",)]
