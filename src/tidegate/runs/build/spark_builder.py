"""Spark as the builder of a run. It is restarted when its JVM dies, as of a model that needs too much memory."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.checks.check_values import Check
from tidegate.compiler.compiled import CompiledModel
from tidegate.config import Settings
from tidegate.errors import FailureKind, SparkDiedError, TidegateError
from tidegate.failures import causes
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.planner.cost_rule import JvmState
from tidegate.planner.decide import RunType
from tidegate.quality import OwnFunctions
from tidegate.results import CheckResult
from tidegate.runs.builder import ModelAttempt
from tidegate.runs.jvm_warmth import count_build, jvm_state
from tidegate.spark.jvm import running_jvm
from tidegate.spark.session import child_session, close_child, open_spark, use_pool
from tidegate.spark.work import Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.runs.build.shared_changes import SharedChanges
    from tidegate.runs.build.table_work import SparkTableWork
    from tidegate.runs.context import RunContext

__all__ = ["SparkBuilder", "open_spark_builder"]

_MOST_RESTARTS = 2
"""The first after several models ran and any may be the cause, the second after one ran alone."""

_DYING_SECONDS = 10.0
_MOMENT_SECONDS = 0.5
"""Any error may be the first sign of a JVM that was killed: PySpark wraps what it gets."""
_OUT_OF_MEMORY = 52
"""The exit code of Spark for an OutOfMemoryError."""

_SIGNS = (
    "SparkContext was shut down",
    "stopped SparkContext",
    "Py4JNetworkError",
    "Answer from Java side is empty",
    "Error while sending or receiving",
    "OutOfMemoryError",
)
"""Texts in the failure of a model whose JVM is dying or dead; a source or a catalog that is down has none of them."""


def open_spark_builder(
    settings: Settings, report: Callable[[str], None] = lambda line: None, work: Work = Work.LONG
) -> SparkBuilder:
    return SparkBuilder(open_spark(settings, report, work=work), settings, report, work)


class SparkBuilder:
    """Thread-safe. `root`: the session that the models' own are made from."""

    def __init__(
        self,
        root: SparkSession,
        settings: Settings,
        report: Callable[[str], None] = lambda line: None,
        work: Work = Work.LONG,
    ) -> None:
        self.root = root
        self._work = work
        self._settings = settings
        self._report = report
        self._functions: OwnFunctions | None = None
        self._changes: SharedChanges | None = None
        self._restarts = 0
        self._jvm = running_jvm()
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def open(self, attempt: ModelAttempt) -> Iterator[SparkTableWork]:
        # Only here: this room needs pyspark.
        from tidegate.runs.build.table_work import SparkTableWork

        run, table = attempt.run, attempt.model.model.table
        conf = {
            **run.catalog.spark_conf(run.branch),
            **run.source_conf,
            "spark.sql.iceberg.snapshot-property.tidegate.run-id": run.run_id,
            "spark.sql.iceberg.snapshot-property.tidegate.model": str(table),
        }
        session = child_session(self.root, conf, run.catalog.spark_catalog(run.branch))
        with run.cancellation.watching(session), run.guard.overdue.limiting(session, attempt.deadline):
            use_pool(session, run.short(table))
            work = SparkTableWork(attempt, session, self._own_functions(run), self._shared_changes(run))
            try:
                yield work
                self._count(attempt)
            except TidegateError:
                raise
            except Exception as error:
                run.cancellation.check()
                raise work.explained(error) from error
            finally:
                close_child(session)

    def _own_functions(self, run: RunContext) -> OwnFunctions:
        from tidegate.python_models.check_conditions import SandboxedConditions

        with self._lock:
            if self._functions is None:
                conditions = SandboxedConditions(
                    run.settings, run.sandbox, run.values.run_started_at, lambda: run.cancellation.requested
                )
                self._functions = OwnFunctions(run.settings.root, conditions)
            return self._functions

    @property
    def jvm_state(self) -> JvmState:
        return jvm_state()

    def _count(self, attempt: ModelAttempt) -> None:
        decision = attempt.decision
        if decision is not None and decision.run_type is not RunType.SKIP:
            with self._lock:
                count_build(from_changes=decision.from_changes)

    def _shared_changes(self, run: RunContext) -> SharedChanges:
        from tidegate.runs.build.shared_changes import SharedChanges  # only here, as above

        with self._lock:
            if self._changes is None:
                catalog = run.catalog
                conf = catalog.spark_conf(run.branch)
                self._changes = SharedChanges(
                    run, lambda: child_session(self.root, conf, catalog.spark_catalog(run.branch))
                )
            return self._changes

    def release(self) -> None:
        with self._lock:
            if self._changes is not None:
                self._changes.drop()
                self._changes = None

    def answer_published(
        self, run: RunContext, model: CompiledModel, checks: Sequence[Check]
    ) -> tuple[CheckResult, ...]:
        from tidegate.runs.build.check_runner import CheckRunner

        conf = {**run.catalog.spark_conf(MAIN), **run.source_conf}
        session = child_session(self.root, conf, run.catalog.spark_catalog(MAIN))
        use_pool(session, run.short(model.model.table))
        with run.cancellation.watching(session):
            main = BranchView(run.catalog, MAIN)
            return CheckRunner.of(run, main, session, run.values, self._own_functions(run)).answer(model, checks)

    def session_factory(self, catalog: BranchCatalog) -> Callable[[str], SparkSession]:
        return lambda branch: child_session(self.root, catalog.spark_conf(branch), catalog.spark_catalog(branch))

    @property
    def died(self) -> bool:
        return self._jvm is not None and not self._jvm.alive

    def died_of(self, error: BaseException) -> bool:
        """Whether `error` comes from a JVM that has died. One that is out of memory takes a moment to end."""
        if self._jvm is None:
            return False
        if isinstance(error, TidegateError) and error.__cause__ is None:
            return self.died
        text = " ".join(f"{type(each).__name__}: {each}" for each in causes(error))
        return self._jvm.dies_within(_DYING_SECONDS if any(sign in text for sign in _SIGNS) else _MOMENT_SECONDS)

    def restart(self) -> bool:
        """False where it has died too often, or does not start again."""
        with self._lock:
            if not self.died:
                return True
            if self._restarts >= _MOST_RESTARTS:
                return False
            self._restarts += 1
            self._changes = None
            self._report(f"Spark's JVM ended ({self.why}); it is started again for the models that are left")
            try:
                self.root = open_spark(self._settings, self._report, work=self._work)
            except TidegateError:
                self._restarts = _MOST_RESTARTS
                return False
            self._jvm = running_jvm()
            return True

    @property
    def why(self) -> str:
        if self._jvm is not None and self._jvm.ended_because:
            return self._jvm.ended_because
        code = self._jvm.exit_code if self._jvm is not None else None
        if code is None:
            return "the worker that held it is gone"
        if code == _OUT_OF_MEMORY:
            return "out of memory"
        return f"killed by signal {-code}, as by a system short of memory" if code and code < 0 else f"exit code {code}"

    def error(self, message: str) -> SparkDiedError:
        memory = self._settings.spark.memory
        error = SparkDiedError(
            message,
            where=str(self._settings.root / ".tidegate" / "logs" / "spark.log"),
            remedy=f"Give Spark more memory ([spark] memory, now {memory}), run fewer models side by side"
            " ([run] concurrency), or let the model read or keep less at a time.",
        )
        error.kind = FailureKind.TRANSIENT  # with fewer models at a time there may be enough memory
        return error
