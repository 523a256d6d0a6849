"""Functions that sandboxed code sends to Spark run behind walls, also where no check has seen the code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.python_models.connect.served import granted, open_proxy
from tidegate.config import SandboxSection
from tidegate.errors import PythonCodeError
from tidegate.python_models.connect.plan_proxy import PlanProxy
from tidegate.python_models.sandbox.sandbox import Sandbox
from tidegate.python_models.sandbox.sandbox_job import SandboxJob
from tidegate.python_models.walled_functions import with_walled_functions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

BEGIN = """
from pyspark.sql import functions as F
from tidegate.python_models.connect.frame_channel import connect_session
spark = connect_session(link)
"""
ATTACK = """
secret, jvm = values["secret"], values["jvm"]

def attack(number):
    import json, os, socket

    def attempt(function):
        try:
            return repr(function())
        except BaseException as error:
            return type(error).__name__

    return json.dumps({
        "file": attempt(lambda: open(secret).read()),
        "jvm": attempt(lambda: open(f"/proc/{jvm}/environ").read()),
        "socket": attempt(lambda: socket.create_connection(("127.0.0.1", 9))),
        "signal": attempt(lambda: os.kill(jvm, 0)),
        "fork": attempt(lambda: os.fork()),
        "environment": [name for name in os.environ if "SECRET" in name or "TOKEN" in name or "PLANTED" in name],
    })

result = spark.range(1).select(F.udf(attack, "string")("id")).collect()[0][0]
"""


@pytest.fixture(scope="module")
def proxy(spark: SparkSession) -> Iterator[PlanProxy]:
    with granted(spark, {"ref shop.silver.orders": spark.range(4)}) as grants, open_proxy(spark, grants) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def run(proxy: PlanProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with Sandbox(SandboxSection(), tmp_path_factory.mktemp("sandbox")) as sandbox:
        yield lambda source, **values: sandbox.run(SandboxJob("script", "models/x.py", source, values), proxy).value


def test_they_reach_no_secret(run: Any, spark: SparkSession, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the-secret")
    secret.chmod(0o644)
    jvm = spark._jvm.java.lang.ProcessHandle.current().pid()
    found = json.loads(run(BEGIN + ATTACK, secret=str(secret), jvm=jvm))
    assert found.pop("environment") == []
    assert set(found.values()) <= {"PermissionError", "FileNotFoundError", "ProcessLookupError", "BlockingIOError"}


def test_they_compute(run: Any) -> None:
    source = """
import pandas as pd
rows = spark.range(4)
twice = F.udf(lambda number: number * 2, "long")
def sums(frames):
    for frame in frames:
        yield pd.DataFrame({"total": [int(frame["id"].sum())]})
result = [
    [row[0] for row in rows.select(twice("id")).collect()],
    sum(row[0] for row in rows.mapInPandas(sums, "total long").collect()),
]
"""
    assert run(BEGIN + source) == [[0, 2, 4, 6], 6]


def test_so_do_table_functions_and_those_over_arrow_data(run: Any) -> None:
    source = """
import pyarrow.compute as pc

class Twice:
    def eval(self, number: int):
        yield number, number * 2

more = F.arrow_udf(lambda column: pc.add(column, 1), "long")
quick = F.udf(lambda number: number + 2, "long", useArrow=True)
rows = spark.range(2).select(more("id"), quick("id"))
result = [
    [list(row) for row in F.udtf(Twice, returnType="a long, b long")(F.lit(3)).collect()],
    [list(row) for row in rows.collect()],
]
"""
    assert run(BEGIN + source) == [[[3, 6]], [[1, 2], [2, 3]]]


def test_a_bomb_fails_alone(run: Any) -> None:
    source = "def bomb(number):\n    return len([bytearray(1 << 20) for _ in range(1 << 20)])\n"
    with pytest.raises(PythonCodeError, match="MemoryError"):
        run(BEGIN + source + "spark.range(0, 1, 1, 1).select(F.udf(bomb, 'long')('id')).collect()")
    assert run(BEGIN + "result = spark.range(0, 1, 1, 1).select(F.udf(lambda n: n, 'long')('id')).collect()[0][0]") == 0


def test_functions_are_refused_where_workers_are_on_other_machines(spark: SparkSession) -> None:
    elsewhere = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://there", _jvm=spark._jvm))
    assert with_walled_functions(spark, SandboxSection()).udfs == "sandbox"
    assert with_walled_functions(elsewhere, SandboxSection()).udfs == "refuse"  # type: ignore[arg-type]
