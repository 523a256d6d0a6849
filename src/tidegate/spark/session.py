"""The Spark session of a process, and its children: one per model, so that settings and views stay apart."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tidegate.config import Settings, SparkSection
from tidegate.errors import SetupError
from tidegate.redaction import log_pattern
from tidegate.spark.class_archive import ensure_class_archive
from tidegate.spark.jars import Jar, ensure_jars
from tidegate.spark.java import Java, find_java
from tidegate.spark.java_options import java_options
from tidegate.spark.jvm import forget_spark, in_thread, is_connected, running_jvm, start_jvm
from tidegate.spark.jvm_watch import start_watching
from tidegate.spark.launch_command import LAST_JARS
from tidegate.spark.leased_jvm import LeasedJvm
from tidegate.spark.leased_session import leased_session
from tidegate.spark.project_jars import connection_jars
from tidegate.spark.s3a import s3a_conf, uses_s3
from tidegate.spark.starting import NOT_STARTED, STARTED, STARTING
from tidegate.spark.table_formats import TableFormat, formats_of
from tidegate.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "WALLED_PYTHON",
    "as_active_session",
    "child_session",
    "close_child",
    "interrupt",
    "local_cores",
    "open_spark",
    "start_session",
    "stop_spark",
    "temporary_conf",
    "use_pool",
]

SPARK_LOG = "spark.log"
WALLED_PYTHON = "workers/tidegate-python"
"""Beside Spark's log: the Python of functions that are not trusted."""

_LOG4J_FILE = "log4j2.properties"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_EXTENSIONS = "spark.sql.extensions"
_ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

_LOG_PATTERN = (
    "%d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1}: %replace{%m%n%ex}{${env:TIDEGATE_LOG_SECRETS:-NOTHING_IS_SECRET}}{***}"
)
_LOG4J = f"""\
status = error
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.alwaysWriteExceptions = false
appender.out.layout.pattern = {_LOG_PATTERN}
"""
_LOG_SECRETS = "TIDEGATE_LOG_SECRETS"
"""The variable that passes secrets to redact to the JVM: a configuration file would hold them itself."""


@dataclass(frozen=True)
class SessionPlan:
    """A Spark that is ready to start: everything that it needs is on this machine."""

    conf: Mapping[str, str] = field(repr=False)
    log_dir: Path
    formats: tuple[TableFormat, ...]
    java: Java
    own_jars: tuple[Path, ...]

    @property
    def log(self) -> Path:
        return self.log_dir / SPARK_LOG

    @property
    def environment(self) -> dict[str, str]:
        """Of the JVM, beside that of this process."""
        return {**_jvm_environment(self.log_dir, self.own_jars), _LOG_SECRETS: log_pattern() or "NOTHING_IS_SECRET"}

    def start(self) -> SparkSession:
        """In a JVM of this process's own, or in the one that it has already."""
        with self.log.open("ab") as log:
            start = log.tell()
            try:
                session = _connect(self.conf, log, self.environment)
            except Exception as error:
                tail = self.log.read_bytes()[start:].decode(errors="replace").strip().splitlines()
                because = next((line for line in reversed(tail) if "rror" in line), str(error).splitlines()[0])
                raise SetupError(
                    f"Spark did not start: {because.strip()}",
                    where=str(self.log),
                    remedy="See the log and check [spark] in tidegate.toml; `tidegate doctor --spark` tries again.",
                ) from error
        _require(session, self.formats)
        return session


def start_session(
    spark: SparkSection,
    log_dir: Path,
    report: Callable[[str], None] = lambda line: None,
    drivers: tuple[Jar, ...] = (),
    formats: tuple[TableFormat, ...] = (),
    work: Work = Work.LONG,
) -> SparkSession:
    """Find Java and the jars, start the JVM, return the root session. The JVM's output goes to `log_dir`/spark.log.

    `drivers`: jars of the project's own; they and those of `formats` follow the others on the class path.
    """
    return _plan(spark, log_dir, report, drivers, formats, work).start()


def _plan(
    spark: SparkSection,
    log_dir: Path,
    report: Callable[[str], None],
    drivers: tuple[Jar, ...],
    formats: tuple[TableFormat, ...],
    work: Work,
) -> SessionPlan:
    java = find_java()
    jars = ensure_jars(java, report)
    starts_here = spark.master.startswith("local") and not is_connected()
    own = (*drivers, *(jar for table_format in formats for jar in table_format.jars))
    own_jars = ensure_jars(java, report, own) if own else ()
    archive = ensure_class_archive(java, jars, report) if starts_here else None
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # it repeats the exception, with the JVM's stack
    if not logging.getLogger().handlers:  # else Py4J prints the stack of every call to a JVM that has ended
        logging.getLogger().addHandler(logging.NullHandler())
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        (log_dir / _LOG4J_FILE).write_text(_LOG4J)
        (log_dir / SPARK_LOG).open("ab").close()
    except OSError as error:
        raise SetupError(
            f"Cannot write Spark's log: {error.strerror}",
            where=str(log_dir),
            remedy="Check the folder's permissions and disk.",
        ) from error
    conf = {"spark.app.name": "tidegate", **_conf(spark, jars, own_jars, log_dir, archive, formats, work)}
    return SessionPlan(conf, log_dir, formats, java, own_jars)


def _require(session: SparkSession, formats: tuple[TableFormat, ...]) -> None:
    """A Spark that was running already may have been started for a project without them."""
    extensions = session.conf.get(_EXTENSIONS, "") or ""
    for table_format in formats:
        if table_format.extension not in extensions:
            raise SetupError(
                f"Spark runs in this process already, without {table_format.name}",
                remedy=f"Stop that session first, or start it through a project that uses {table_format.name}.",
            )


def _jvm_environment(log_dir: Path, last_jars: tuple[Path, ...]) -> dict[str, str]:
    """`last_jars`: behind Spark's own, since an archive of classes fits every class path that begins as its own did.

    Python functions that come through Spark's Connect server run with the JVM's `PYSPARK_PYTHON`; those of this
    process with its own. The file is not there before code that is not trusted is to run, see `walled_functions`."""
    own = os.environ["PYSPARK_PYTHON"]
    behind = [os.environ.get(LAST_JARS, ""), *map(str, last_jars)]
    return {
        LAST_JARS: os.pathsep.join(filter(None, behind)),
        "PYSPARK_PYTHON": str((log_dir / WALLED_PYTHON).absolute()),
        "PYSPARK_DRIVER_PYTHON": os.environ.get("PYSPARK_DRIVER_PYTHON", own),
    }


def _connect(conf: Mapping[str, str], log: IO[bytes], environment: Mapping[str, str]) -> SparkSession:
    # Only here: commands that only read metadata must not pay for it. Before the JVM starts: a signal that interrupts
    # an import may leave its lock held.
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    if is_connected():
        return in_thread(builder.getOrCreate)
    forget_spark()
    jvm = start_jvm(conf, log, environment)
    session = jvm.connect(builder.getOrCreate)
    start_watching(jvm, session.sparkContext)
    return session


def _conf(
    spark: SparkSection,
    jars: tuple[Path, ...],
    own_jars: tuple[Path, ...],
    log_dir: Path,
    archive: Path | None,
    formats: tuple[TableFormat, ...],
    work: Work,
) -> dict[str, str]:
    conf = {
        "spark.master": spark.master,
        "spark.driver.memory": spark.memory,
        _EXTENSIONS: ",".join([_ICEBERG_EXTENSION, *(table_format.extension for table_format in formats)]),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (log_dir / "spark-warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        # `${env:…}` in a model would silently be another query on another machine.
        "spark.sql.variable.substitute": "false",
        # Files are read through landing zones; parquet.`/any/path` would read any file that this process can.
        "spark.sql.runSQLOnFiles": "false",
        "spark.scheduler.mode": "FAIR",
        # An array that does not fit fails its task; by default it would end the JVM, and every other model with it.
        "spark.executor.killOnFatalError.depth": "0",
        "spark.ui.enabled": "false",
        # Each statement's plan is written for that interface, which is off, once for each of its stages.
        "spark.sql.ui.explainMode": "simple",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
    }
    for table_format in formats:
        conf |= {**table_format.conf, **(table_format.local_conf if spark.master.startswith("local") else {})}
    if spark.master.startswith("local"):
        # On one machine the class path does; shipping the jars to an executor in the same JVM costs a second.
        conf["spark.driver.extraClassPath"] = os.pathsep.join(map(str, jars))
        conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
        conf["spark.sql.shuffle.partitions"] = str(max(2, 2 * local_cores(spark.master)))
    else:
        conf["spark.jars"] = ",".join(map(str, (*jars, *own_jars)))
    own = dict(spark.conf)
    for key, separator in (("spark.driver.extraClassPath", os.pathsep), ("spark.jars", ","), (_EXTENSIONS, ",")):
        if key in conf and key in own:  # a project adds to what Tidegate needs, and does not replace it
            own[key] = separator.join([conf[key], own[key]])
    conf.update(own)
    conf[_JAVA_OPTIONS] = java_options(log_dir / _LOG4J_FILE, archive, conf.get(_JAVA_OPTIONS, ""), work)
    return conf


def local_cores(master: str) -> int:
    """How many tasks a local master runs at once; 4 for a cluster, whose size is not known here."""
    if not master.startswith("local"):
        return 4
    inside = master.removeprefix("local").strip("[]").split(",")[0]
    return int(inside) if inside.isdigit() else (1 if not inside else os.cpu_count() or 1)


def child_session(root: SparkSession, conf: Mapping[str, str], catalog: str) -> SparkSession:
    """A session of its own whose current catalog is `catalog`. It inherits nothing that was set at run time."""
    session = root.newSession()
    leased = running_jvm()
    if isinstance(leased, LeasedJvm):
        leased.opened(session)
    for key, value in {**conf, "spark.sql.defaultCatalog": catalog}.items():
        session.conf.set(key, value)
    return session


def close_child(session: SparkSession) -> None:
    """Nothing uses the child session again. In a JVM that stays, its connections to the lake would stay as well."""
    leased = running_jvm()
    if isinstance(leased, LeasedJvm):
        leased.closed(session)


@contextlib.contextmanager
def temporary_conf(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set these settings for the block, then restore the former ones."""
    before = {name: session.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            session.conf.set(name, value)
        yield
    finally:
        with contextlib.suppress(Exception):  # the session may have ended, with its settings
            for name, former in before.items():
                if former is None:
                    session.conf.unset(name)
                else:
                    session.conf.set(name, former)


@contextlib.contextmanager
def as_active_session(session: SparkSession) -> Iterator[None]:
    """For code of users in this thread: PySpark finds the session by itself, and errors of columns name the line that
    made them. Only of a classic session."""
    from pyspark.errors import utils

    active = session._get_j_spark_session_class(session._jvm)
    former = active.getActiveSession()
    utils._enable_debugging_cache = True  # PySpark decides once, and without an active session against it
    active.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        with contextlib.suppress(Exception):  # the JVM may have ended
            active.clearActiveSession()
            if former.isDefined():
                active.setActiveSession(former.get())


def use_pool(session: SparkSession, name: str) -> None:
    """Run this thread's jobs in a scheduler pool of their own. Spark Connect has no pools."""
    context = getattr(session, "sparkContext", None)
    if context is not None:
        context.setLocalProperty("spark.scheduler.pool", name)


def interrupt(session: SparkSession) -> None:
    """End the jobs that `session` runs now. A model between two jobs has none: call again until its thread ended."""
    with contextlib.suppress(Exception):
        session.interruptAll()


def open_spark(
    settings: Settings,
    report: Callable[[str], None] = lambda line: None,
    root: SparkSession | None = None,
    work: Work = Work.LONG,
) -> SparkSession:
    """`root`, or a new session: of this process's Spark, of a worker's, or of one that starts now.

    `report` receives STARTING, then STARTED or NOT_STARTED, where a JVM has to start. `work`: what one of this
    process's own is started for.
    """
    if root is not None:
        return root
    if _is_running():
        return _plan_of(settings, report, work).start()
    begun: list[bool] = []

    def starting() -> None:
        if not begun:
            begun.append(True)
            report(STARTING)

    try:
        session = leased_session(settings, lambda: _plan_of(settings, report, Work.LASTING), starting)
        if session is None:
            starting()
            session = _plan_of(settings, report, work).start()
    except BaseException:
        if begun:
            report(NOT_STARTED)
        raise
    if begun:
        report(STARTED)
    return session


def stop_spark(session: SparkSession) -> None:
    """End the Spark of this process, or its use of a worker's."""
    jvm = running_jvm()
    if isinstance(jvm, LeasedJvm):
        jvm.end()
        forget_spark()
    else:
        session.stop()


def _plan_of(settings: Settings, report: Callable[[str], None], work: Work) -> SessionPlan:
    """With what the project's sources, its table formats and the places of its files need."""
    spark, logs = settings.spark, settings.root / ".tidegate" / "logs"
    if uses_s3(settings):
        spark = replace(spark, conf={**s3a_conf(settings.s3), **spark.conf})
    return _plan(spark, logs, report, connection_jars(settings), formats_of(settings), work)


def _is_running() -> bool:
    """Whether this process has a running Spark, which the next session shares."""
    jvm = running_jvm()
    return jvm is not None and jvm.alive
