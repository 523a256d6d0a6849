"""One Spark session and one server of each kind for all tests; a fresh lake for each."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key
from hypothesis import settings

from tests.file_order import FilesByServer, rank
from tests.lake.places import Place
from tests.state.migrated import migrate_once
from tidegate import redaction
from tidegate.config import SparkSection
from tidegate.lake.catalogs.embedded import EmbeddedCatalog
from tidegate.state import databases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.services.h2 import H2Server
    from tests.services.iceberg_rest import IcebergRest
    from tests.services.nessie import Nessie
    from tests.services.seaweed import ObjectStore
    from tests.sources.postgres import Postgres


QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Tests work on a few rows: a JVM that optimises little starts and warms up in half the time.

With one compiler a JVM reserves only 48 MiB for compiled code. Many different queries fill that within minutes; then a
quarter of the time goes into removing code that is compiled again.
"""

ROOMY_JVM = "-Xms1400m -Xmn900m -XX:SurvivorRatio=4 -XX:MetaspaceSize=256m"
"""For the session that all tests share: a heap that grows from little, and the room for classes, is collected often.

What statements leave behind stays among the young: where the others are, a collection takes a second.
"""

INTERPRETED = {} if os.environ.get("TIDEGATE_PROVE") else {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For a few rows it takes longer to compile an expression than to interpret it. Processes of their own compile."""

# A machine that is busy is no fault of what is tested.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")

PLANTED_TOKEN = ("TIDEGATE_TEST_TOKEN", "planted-42c0ffee42")
"""A variable that is there when Spark starts, with a value that nothing may show."""

PLANTED_VARIABLE = ("TIDEGATE_PLANTED", f"planted-variable-{token_hex(8)}")
"""A variable whose name says nothing of a secret, so that its value is redacted nowhere."""

_KINDS = ["embedded", "jdbc", *(pytest.param(kind, marks=pytest.mark.spark) for kind in ("nessie", "rest"))]
_numbers = count(1)


IN_MEMORY, ENOUGH_MEMORY = Path("/dev/shm"), 1 << 30
"""Where Linux keeps files in memory, and the room that all tests together need there.

Every commit of a SQLite catalog waits for the disk several times, and a run makes dozens of them.
"""


def pytest_configure(config: pytest.Config) -> None:
    os.environ["TIDEGATE_NO_WORKER"] = "1"  # also where a test opens a terminal; tests of the worker remove it
    # One look for what nobody closed instead of five, each over all that thousands of tests have left.
    config.stash[gc_collect_iterations_key] = 1
    if os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ENOUGH_MEMORY:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FilesByServer | None:
    return FilesByServer(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: the garbage collector need not visit them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> None:
    """A shell may start its jobs with the interrupt ignored, and what they start would ignore it too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def migrations_of_new_files_run_once() -> Iterator[None]:
    """Hundreds of tests begin with an empty SQLite database: all but the first get the tables that the first got."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(databases, "migrate", migrate_once(databases.migrate))
        yield


@pytest.fixture(autouse=True)
def own_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is secret to that test alone."""
    monkeypatch.setattr(redaction, "_values", set())
    monkeypatch.setattr(redaction, "_pattern", None)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    from tests.sources.postgres import running_postgres

    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    from tests.services.seaweed import running_seaweed

    with running_seaweed() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """For a user who needs a password, and finds nothing yet: a schema is made quicker than a database."""
    name = f"lake{next(_numbers)}"
    postgres.execute(
        f"CREATE ROLE {name} LOGIN PASSWORD 'pass:{name}/%'",
        f"CREATE SCHEMA {name} AUTHORIZATION {name}",
        f"ALTER ROLE {name} SET search_path = {name}",
    )
    return f"postgresql://{name}:pass%3A{name}%2F%25@127.0.0.1:{postgres.port}/postgres"


@pytest.fixture(scope="session")
def nessie() -> Iterator[Nessie]:
    from tests.services.nessie import running_nessie

    with running_nessie() as server:
        yield server


@pytest.fixture
def nessie_lake(nessie: Nessie) -> Iterator[str]:
    """An empty main on the server, and no other branch."""
    main = f"main-{next(_numbers)}"
    nessie.create_branch(main, "")
    yield f"{nessie.uri} {main}"
    for branch in nessie.branches():
        if branch != "main":
            nessie.delete_branch(branch)


@pytest.fixture(scope="session")
def h2() -> Iterator[H2Server]:
    from tests.services.h2 import running_h2

    with running_h2() as server:
        yield server


@pytest.fixture(scope="session")
def iceberg_rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IcebergRest]:
    from tests.services.iceberg_rest import running_iceberg_rest

    with running_iceberg_rest(tmp_path_factory.mktemp("rest")) as server:
        yield server


@pytest.fixture
def rest_lake(iceberg_rest: IcebergRest) -> Iterator[str]:
    """A server without a table."""
    yield iceberg_rest.uri
    iceberg_rest.forget_all()


@pytest.fixture(params=_KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "embedded":
        return Place("embedded", tmp_path)
    fixture = {"jdbc": "postgres_url", "nessie": "nessie_lake", "rest": "rest_lake"}[request.param]
    return Place(request.param, tmp_path, request.getfixturevalue(fixture))


@pytest.fixture(scope="module", autouse=True)
def frames_of_a_module() -> Iterator[None]:
    """Those that only cycles of Python objects still hold keep their plans in the JVM, and fill its heap."""
    yield
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.SparkContext._active_spark_context is not None:
        gc.collect()


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> Iterator[SparkSession]:
    from tests.services.delta import delta_jars
    from tests.services.h2 import h2_jar
    from tidegate.spark.jvm import running_jvm
    from tidegate.spark.launch_command import LAST_JARS
    from tidegate.spark.session import start_session
    from tidegate.spark.table_formats import DELTA

    for variable in (PLANTED_TOKEN, PLANTED_VARIABLE):
        os.environ.setdefault(*variable)
    section = SparkSection(
        master="local[2]",
        memory="2400m",
        conf={
            "spark.driver.extraJavaOptions": f"{QUICK_JVM} {ROOMY_JVM}",
            "spark.sql.codegen.wholeStage": "false",
            **INTERPRETED,
            **DELTA.local_conf,
        },
    )
    with pytest.MonkeyPatch.context() as patch:  # behind Spark's own jars, so that the archive of classes is used
        patch.setenv(LAST_JARS, os.pathsep.join(map(str, (h2_jar(), *delta_jars()))))
        session = start_session(section, spark_log.parent)
    if (jvm := running_jvm()) is not None:
        jvm.deltas = 100  # what a plan decides does not depend on which tests ran before
    yield session
    session.stop()


@pytest.fixture
def catalog(tmp_path: Path) -> EmbeddedCatalog:
    return EmbeddedCatalog(tmp_path / "catalog.db", tmp_path / "warehouse")


@pytest.fixture
def on_branch(spark: SparkSession, catalog: EmbeddedCatalog) -> Callable[[str], SparkSession]:
    """A child session on a branch of `catalog`, made if it is not there; "main" gives one on main."""
    from tidegate.spark.session import child_session

    def session(branch: str) -> SparkSession:
        if branch != "main" and branch not in {info.name for info in catalog.list_branches()}:
            catalog.create_branch(branch)
        return child_session(spark, catalog.spark_conf(branch), catalog.spark_catalog(branch))

    return session
