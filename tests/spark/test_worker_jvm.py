"""Commands that share a worker's JVM: nothing of one reaches another, and none is lost with the worker."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import QUICK_JVM
from tests.waiting import eventually

from tidegate.faults import FAULT_POINTS
from tidegate.worker.worker_folder import worker_places
from tidegate.worker.worker_lease import ask_worker

pytestmark = [pytest.mark.spark, pytest.mark.alone]

PROVE = bool(os.environ.get("TIDEGATE_PROVE"))
proven = pytest.mark.skipif(not PROVE, reason="starts another JVM, or takes minutes: TIDEGATE_PROVE=1")
LONG = "spark.range(1 << 40).selectExpr('sum(sha2(cast(id AS string), 512) LIKE \"0%\")').collect()"
ATTACH = """\
import os, sys
from pathlib import Path
from tidegate.config import load_settings
from tidegate.spark.jvm import running_jvm
from tidegate.spark.leased_jvm import LeasedJvm
from tidegate.spark.session import child_session, open_spark, stop_spark
spark = open_spark(load_settings(Path(sys.argv[1])))
assert isinstance(running_jvm(), LeasedJvm), "a Spark of its own"
"""


class Shop:
    """A project whose commands use a worker."""

    def __init__(self, root: Path, runtime: Path) -> None:
        self.root = root
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "TIDEGATE_NO_WORKER"},
            "XDG_RUNTIME_DIR": str(runtime),
            "TIDEGATE_FAULT_LOG": "",
        }
        (root / "models" / "a").mkdir(parents=True)
        (root / "tidegate.toml").write_text(
            '[project]\nname = "shop"\n\n[spark]\nmemory = "1g"\nmaster = "local[2]"\nkeep_alive = "5m"\n\n'
            f'[spark.conf]\n"spark.driver.extraJavaOptions" = "{QUICK_JVM}"\n'
        )
        landing = root / "landing" / "raw"
        landing.mkdir(parents=True)
        (landing / "a.csv").write_text("id,n\n" + "".join(f"{number},{number % 3}\n" for number in range(30)))
        (root / "models" / "a" / "one.sql").write_text("SELECT id, n FROM {{ landing_zone('raw') }}\n")
        (root / "models" / "a" / "two.sql").write_text("SELECT n, count(*) AS c FROM a.one GROUP BY n\n")

    def start(self, *args: str, **env: str) -> subprocess.Popen[str]:
        return self._start([sys.executable, "-m", "tidegate", *args, "--project", str(self.root)], env)

    def script(self, code: str, **env: str) -> subprocess.Popen[str]:
        """A process with a lease, whose session is `spark`."""
        return self._start([sys.executable, "-c", ATTACH + code, str(self.root)], env)

    def _start(self, command: list[str], env: dict[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.root,
            env={**self.environment, **env},
        )

    def run(self, *args: str, **env: str) -> str:
        return output(self.start(*args, **env))

    def status(self) -> dict[str, Any]:
        with runtime_of(self):
            answers = [ask_worker(place, "status") for place in worker_places(self.root)]
        return next((answer for answer in answers if answer is not None), {})

    @property
    def worker(self) -> int:
        return int(self.status()["pid"])

    def idle(self) -> bool:
        return self.status().get("state") == "idle"


@contextlib.contextmanager
def runtime_of(shop: Shop) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", shop.environment["XDG_RUNTIME_DIR"])
        yield


def output(process: subprocess.Popen[str], seconds: float = 120) -> str:
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, f"{out}\n{err}"
    return out


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    folder = Path("/tmp", f"tidegate-jvm-{os.getpid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, runtime: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path_factory.mktemp("shop"), runtime)
    yield shop
    shop.run("worker", "stop")
    assert eventually(lambda: not shop.status(), 20)


def plain(text: str) -> str:
    """Without numbers of runs and snapshots, and without times."""
    text = re.sub(r"run-\d{8}-\d{6}-\d{3}", "RUN", text)
    text = re.sub(r'("(?:[a-z_]*(?:_at|_ms|_seconds|snapshot_id|duration)[a-z_]*)": )[^,\n}]+', r"\1N", text)
    return re.sub(r"\b\d+(\.\d+)?(ms|s)\b", "T", re.sub(r'": \d+(\.\d+)?(?=,?\n)', '": N', text))


@proven
def test_a_run_gives_the_same_with_a_worker_as_without(shop: Shop) -> None:
    with_worker = shop.run("run", "--json")
    assert eventually(shop.idle, 20)
    rows = shop.run("sql", "SELECT * FROM a.two ORDER BY n", "--json")
    shutil.rmtree(shop.root / ".tidegate" / "warehouse")
    for path in (shop.root / ".tidegate").glob("*.db*"):
        path.unlink()
    without = shop.run("run", "--json", "--no-worker")
    assert plain(with_worker) == plain(without)
    assert shop.run("sql", "SELECT * FROM a.two ORDER BY n", "--json") == rows


CONNECT = """
from pyspark.sql.connect.proto import commands_pb2, relations_pb2
from tidegate.python_models.connect.connect_calls import ConnectCalls
from tidegate.spark.connect_server import connect_server
def through_connect(rows):
    relation = relations_pb2.Relation(range=relations_pb2.Range(start=0, end=rows, step=1))
    view = commands_pb2.CreateDataFrameViewCommand(input=relation, name="of_connect", is_global=True)
    ConnectCalls(connect_server(spark), {}).command(commands_pb2.Command(create_dataframe_view=view))
    assert spark.table("global_temp.of_connect").count() == rows
"""
LEAVING = """
through_connect(3)
spark.conf.set("spark.sql.shuffle.partitions", "7")
spark.conf.set("spark.sql.catalog.left", "org.apache.iceberg.spark.SparkCatalog")
spark.sql("CREATE TEMPORARY VIEW left_view AS SELECT 1 AS a")
spark.sql("CREATE GLOBAL TEMPORARY VIEW left_global AS SELECT 1 AS a")
spark.sql("CREATE TABLE spark_catalog.default.left_table AS SELECT 1 AS a")
spark.range(5).cache().count()
spark.sparkContext.setLocalProperty("spark.scheduler.pool", "left")
@__import__("pyspark.sql.functions", fromlist=["udf"]).udf("string")
def leave(_):
    import builtins, os
    builtins.left = getattr(builtins, "left", 0) + 1
    return f"{os.getpid()} {os.environ.get('OF_CALL')} {builtins.left}"
print(spark.range(1).select(leave("id")).first()[0])
"""
LOOKING = """
shown = [row[1] for row in spark.sql("SHOW VIEWS IN global_temp").collect()]
assert "of_connect" not in shown and "left_global" not in shown, shown
through_connect(5)
assert spark.conf.get("spark.sql.shuffle.partitions") != "7"
assert spark.conf.get("spark.sql.catalog.left", None) is None
assert not spark.catalog.tableExists("left_view")
assert not spark.catalog.tableExists("spark_catalog.default.left_table")
assert "InMemory" not in spark.range(5)._jdf.queryExecution().executedPlan().toString()
assert spark.sparkContext.getLocalProperty("spark.scheduler.pool") is None
@__import__("pyspark.sql.functions", fromlist=["udf"]).udf("string")
def look(_):
    import builtins, os
    return f"{os.getpid()} {os.environ.get('OF_CALL')} {getattr(builtins, 'left', 0)}"
print(spark.range(1).select(look("id")).first()[0])
"""


def test_nothing_of_a_command_reaches_the_next_or_one_beside_it(shop: Shop) -> None:
    first = shop.script(CONNECT + LEAVING + "print('left', flush=True); sys.stdin.readline()", OF_CALL="first")
    assert first.stdout is not None
    process, call, left = first.stdout.readline().split()
    assert (call, left) == ("first", "1")
    assert first.stdout.readline() == "left\n"
    beside = output(shop.script(CONNECT + LOOKING, OF_CALL="second")).split()
    assert beside[1:] == ["second", "0"]
    assert first.stdin is not None
    first.stdin.write("\n")
    output(first)
    assert eventually(shop.idle, 20)
    after = output(shop.script(CONNECT + LOOKING)).split()
    assert after[1:] == ["None", "0"]
    assert eventually(shop.idle, 20)
    assert not Path("/proc", process).exists()
    assert not Path("/proc", after[0]).exists()


def test_a_command_that_is_killed_leaves_nothing_that_runs(shop: Shop) -> None:
    killed = shop.script(f"print('begins', flush=True)\n{LONG}")
    assert killed.stdout is not None
    killed.stdout.readline()
    time.sleep(1)  # the job has begun, most often; before that the test is easier
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    count = (
        "tracker = spark.sparkContext._jsc.sc().statusStore()\n"
        "print(tracker.activeStages().size(), running_jvm()._lease.name)"
    )
    assert output(shop.script(count)).split()[0] == "0"


@proven
def test_a_function_that_changes_what_all_share_ends_the_worker(shop: Shop) -> None:
    output(shop.script("pass"))
    assert eventually(shop.idle, 20)
    worker = shop.worker
    output(shop.script("spark.sparkContext._jsc.hadoopConfiguration().set('fs.s3a.access.key', 'left')"))
    assert eventually(lambda: not Path("/proc", str(worker)).exists(), 20)


@proven
def test_a_call_with_other_credentials_gets_another_worker(shop: Shop) -> None:
    output(shop.script("pass"))
    worker = shop.worker
    seen = (
        "print(spark._jvm.java.lang.System.getenv('AWS_SECRET_ACCESS_KEY'), spark._jvm.java.lang.System.getenv('MINE'))"
    )
    other = output(shop.script(seen, AWS_SECRET_ACCESS_KEY="other-secret", MINE="mine"))
    assert other.split() == ["other-secret", "None"]
    assert eventually(lambda: not Path("/proc", str(worker)).exists(), 20)
    log = (shop.root / ".tidegate" / "logs" / "spark.log").read_text()
    assert "other-secret" not in log


OF_RUNS = [name for name, point in FAULT_POINTS.items() if not point.of_load]


def add_rows(shop: Shop, name: str) -> None:
    number = 1000 + sum(1 for _ in (shop.root / "landing" / "raw").iterdir())
    (shop.root / "landing" / "raw" / f"{name.replace(':', '-')}-{number}.csv").write_text(f"id,n\n{number},5\n")


def is_whole(shop: Shop) -> None:
    counted = json.loads(
        shop.run("sql", "SELECT (SELECT sum(c) FROM a.two) AS a, (SELECT count(*) FROM a.one) AS b", "--json")
    )
    landed = sum(len(path.read_text().splitlines()) - 1 for path in (shop.root / "landing" / "raw").iterdir())
    assert counted["rows"] == [{"a": landed, "b": landed}]


@pytest.mark.parametrize("point", OF_RUNS if PROVE else ["before_write:a.two"])
def test_a_run_goes_on_when_the_worker_is_killed(shop: Shop, point: str) -> None:
    add_rows(shop, point)
    points = shop.root / "points"
    points.unlink(missing_ok=True)
    run = shop.start("run", "--json", TIDEGATE_FAULT_LOG=str(points))
    assert eventually(lambda: run.poll() is not None or (points.exists() and point in points.read_text()), 90)
    if run.poll() is None and (status := shop.status()):
        os.kill(status["pid"], signal.SIGKILL)
    out = run.communicate(timeout=120)[0]
    if json.loads(out)["status"] != "success":
        assert json.loads(shop.run("run", "--json"))["status"] == "success"
    is_whole(shop)


@proven
@pytest.mark.parametrize("point", OF_RUNS)
def test_a_run_that_is_killed_is_repeated_in_the_same_worker(shop: Shop, point: str) -> None:
    add_rows(shop, point)
    run = shop.start("run", "--json", TIDEGATE_FAULT=point)
    run.communicate(timeout=120)
    assert run.returncode in (0, -signal.SIGKILL)
    if run.returncode:
        assert json.loads(shop.run("run", "--json", "--resume-latest"))["status"] == "success"
    is_whole(shop)


@proven
def test_a_hundred_commands_leave_its_memory_where_it_was(shop: Shop) -> None:
    def query() -> None:
        shop.run("sql", "SELECT n, count(*) FROM a.one GROUP BY n")

    shop.run("run")
    for _ in range(20):
        query()
    assert eventually(shop.idle, 20)
    time.sleep(5)
    worker, before = shop.worker, shop.status()["memory_bytes"]
    for _ in range(100):
        query()
    assert eventually(shop.idle, 20)
    time.sleep(5)
    assert shop.worker == worker
    assert shop.status()["memory_bytes"] < 1.1 * before
