"""Publish a branch that `run --no-publish` kept, then archive its landing files and check its warnings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.checks.check_values import Stage
from tidegate.compiler import compile_from_disk
from tidegate.compiler.compiled import Compiled
from tidegate.config import Settings
from tidegate.errors import BranchMissingError, OptionsError, RunInFlightError, TidegateError
from tidegate.failures import kind_of
from tidegate.faults import fault
from tidegate.hooks.events import Ending, Event, Listener
from tidegate.hooks.run_hooks import open_run_hooks
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.planner.plan_size import work_on_tables
from tidegate.planner.selection import select
from tidegate.project import Model
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.results import CheckResult
from tidegate.runs.archive import archive_consumed
from tidegate.runs.build.spark_builder import SparkBuilder
from tidegate.runs.clock import Clock, SystemClock
from tidegate.runs.context import Phases, RunContext
from tidegate.runs.control.cancellation import Cancellation, cancelled_by_signals
from tidegate.runs.control.guard import Guard
from tidegate.runs.options import RunOptions
from tidegate.runs.publishing import compacted_only
from tidegate.runs.reads import recorded_reads, still_on_main
from tidegate.runs.recorder import Recorder
from tidegate.runs.result import Publish, RunResult
from tidegate.spark.session import open_spark
from tidegate.state import RunRecord, StateStore, open_state
from tidegate.state.liveness import is_alive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["publish_run"]


def publish_run(
    settings: Settings,
    run_id: str,
    listeners: Sequence[Listener] = (),
    clock: Clock | None = None,
    root: SparkSession | None = None,
) -> RunResult:
    """Move everything on the kept branch to main in one step, or raise PublishConflictError and change nothing.

    Then the warnings of the published tables are checked. `root`: the Spark session to use; else one is started.
    """
    catalog = open_catalog(settings)
    if not any(branch.name == run_id and branch.kept for branch in catalog.list_branches()):
        raise BranchMissingError(
            f"There is no branch {run_id} waiting to be published",
            remedy="`tidegate branches` lists them; `tidegate run --no-publish` keeps one.",
        )
    clock = clock or SystemClock()
    with open_state(settings.state.url) as store:
        _require_checked(store.reader().run(run_id), clock.now())
        return _Publishing(settings, run_id, listeners, clock, store, catalog).publish(root)


def _require_checked(run: RunRecord | None, now: datetime) -> None:
    """A run that is resumed writes to the branch that it kept, which may be published only when the run has ended."""
    if run is None or (run.result or {}).get("branch_kept_for") == "publish":
        return
    if is_alive(run, now):
        raise RunInFlightError(
            f"Run {run.run_id} is at work on its branch: process {run.pid} on {run.host}; nothing was published",
            remedy="Publish it when it has ended.",
        )
    raise OptionsError(
        f"Run {run.run_id} was interrupted while it worked on its branch, so what is there is not checked; nothing was"
        " published",
        remedy=f"Let it end first: tidegate run --resume {run.run_id}",
    )


class _Publishing:
    def __init__(
        self,
        settings: Settings,
        run_id: str,
        listeners: Sequence[Listener],
        clock: Clock,
        store: StateStore,
        catalog: BranchCatalog,
    ) -> None:
        self.settings = settings
        self.run_id = run_id
        self.clock = clock
        self.catalog = catalog
        self.recorder = Recorder(store)
        self.listeners: tuple[Listener, ...] = (self.recorder, *listeners)
        self.started_at = clock.now()
        self.started = clock.monotonic()
        self.phases = Phases(clock)
        self.warnings: list[str] = []
        self.error: TidegateError | None = None
        self.watch = open_run_hooks(settings, "publish", self.emit, self._halt)

    def publish(self, root: SparkSession | None) -> RunResult:
        try:
            changed = [self._short(change.table) for change in self.catalog.changed_tables(self.run_id)]
            self._notify_hooks("pipeline_start", {"models": changed, "publish": "run"})
            with self.phases.timed("branch_resolution"):
                published = self._publish()
            check_results = self._after_publish(published, root)
            if self.recorder.failure is not None:
                self._warn(f"this publish is not in the history: {self.recorder.failure}")
        except BaseException as error:
            with suppress(Exception):
                self._end(error)
            raise
        self._end()
        stopped = self.error
        return RunResult(
            run_id=self.run_id,
            status="partial" if stopped else "success",
            branch=self.run_id,
            publish=Publish("run", tuple(map(self._short, published))),
            started_at=self.started_at,
            duration_ms=round((self.clock.monotonic() - self.started) * 1000),
            phase_profiles=self.phases.ms,
            materializations=(),
            check_results=check_results,
            warnings=tuple(self.warnings),
            error=str(stopped) if stopped else None,
            failure_kind=str(stopped.kind) if stopped else None,
            remedy=stopped.remedy if stopped else None,
        )

    def emit(self, name: str, model: str | None, data: Mapping[str, Any]) -> None:
        event = Event(name, self.run_id, self.clock.now(), model, data)
        for listener in self.listeners:
            listener(event)
        if name == "warning":
            self.warnings.append(str(data["message"]))
        self.watch(event)

    def _notify_hooks(self, name: str, data: Mapping[str, Any]) -> None:
        """Hooks alone: for other listeners this is part of the run that built the branch."""
        self.watch(Event(name, self.run_id, self.clock.now(), None, data))

    def _halt(self, error: TidegateError) -> None:
        self.error = self.error or error

    def _end(self, failure: BaseException | None = None) -> None:
        """`failure`: why nothing was published."""
        ending = self._ending(failure)
        done = "pipeline_complete" if ending.status == "success" else "pipeline_error"
        error = failure or self.error
        facts = {"status": ending.status, "error": ending.error, "failure_kind": str(kind_of(error)) if error else None}
        self._notify_hooks(done, {**facts, "duration_ms": ending.duration_ms})
        # A hook may have failed it.
        self.watch.close(self._ending(failure))

    def _ending(self, failure: BaseException | None) -> Ending:
        error = failure or self.error
        status = "partial" if error else "success"
        if failure is not None:
            status = "cancelled" if isinstance(failure, KeyboardInterrupt) else "failed"
        message = (str(error) or type(error).__name__) if error else None
        took = round((self.clock.monotonic() - self.started) * 1000)
        return Ending(self.run_id, status, 0, took, self.phases.ms, message)

    def _short(self, table: TableName) -> str:
        return table.short(self.settings.project.namespace)

    def _publish(self) -> list[TableName]:
        changes = self.catalog.changed_tables(self.run_id)
        changed, present = [change.table for change in changes], [change.table for change in changes if change.after]
        accepted = compacted_only(self.catalog, self.run_id, changed)
        branch = BranchView(self.catalog, self.run_id)
        unmoved = still_on_main(
            self.catalog, self.run_id, recorded_reads(branch, present) if self.settings.run.serializable else {}
        )
        if self.error is not None:
            raise self.error
        fault("before_publish")
        published = [change.table for change in self.catalog.publish(self.run_id, changed, accepted, unmoved)]
        fault("after_publish")
        self.emit("published", None, {"tables": list(map(self._short, published))})
        fault("before_cleanup")
        try:
            self.catalog.drop_branch(self.run_id)
            fault("after_cleanup")
        except TidegateError as error:
            self._warn(f"the branch {self.run_id} could not be removed: {error}; `tidegate reap` does it later")
        return published

    def _after_publish(self, tables: Collection[TableName], root: SparkSession | None) -> tuple[CheckResult, ...]:
        """The publish is done: an error from here on is a warning, and is not raised."""
        try:
            compiled, _ = compile_from_disk(self.settings, self.catalog.head(MAIN), {})
        except TidegateError as error:
            self._warn(f"landing files were not archived, and warnings not checked: {error}")
            return ()
        warned = [model for model in compiled.project.models if model.table in tables and _has_warnings(model)]
        if compiled.project_errors:
            if warned:
                self._warn("warnings were not checked, because the project has errors: `tidegate compile` reports them")
            return ()
        fault("before_archive")
        try:
            for note in archive_consumed(compiled, self.settings, BranchView(self.catalog, MAIN))[1]:
                self._warn(note)
        except TidegateError as error:
            self._warn(f"landing files were not archived: {error}")
        fault("after_archive")
        if not warned:
            return ()
        try:
            with self.phases.timed("quality_tests"):
                return self._check(compiled, tables, root)
        except TidegateError as error:
            self._warn(f"warnings were not checked: {error}")
            return ()

    def _check(
        self, compiled: Compiled, tables: Collection[TableName], root: SparkSession | None
    ) -> tuple[CheckResult, ...]:
        # Only here: these rooms need pyspark, and most that is published has no warnings.
        from tidegate.runs.checks import check_published

        self.watch.choose(lambda patterns: {self._short(table) for table in select(compiled, patterns)})
        cancellation = Cancellation()

        def halt(error: TidegateError) -> None:
            cancellation.request(str(error))

        sandbox = RunSandbox(self.settings)
        with suppress(KeyboardInterrupt), cancelled_by_signals(cancellation), closing(sandbox):
            root = open_spark(self.settings, self._notify, root, work_on_tables(self.catalog.head(), tables))
            cancellation.orderly = True
            run = RunContext(
                run_id=self.run_id,
                settings=self.settings,
                options=RunOptions(),
                compiled=compiled,
                catalog=self.catalog,
                clock=self.clock,
                started_at=self.started_at,
                cancellation=cancellation,
                publish_mode="run",
                emit=self.emit,
                builder=SparkBuilder(root, self.settings, self._notify),
                guard=Guard(self.settings.run, self.clock, cancellation, halt, self.emit),
                sandbox=sandbox,
            )
            return check_published(run, tables)
        self._warn("warnings were not checked: cancelled")
        return ()

    def _notify(self, line: str) -> None:
        self.emit("phase", None, {"phase": "setup", "message": line})

    def _warn(self, message: str) -> None:
        self.emit("warning", None, {"message": message})


def _has_warnings(model: Model) -> bool:
    return any(check.stage is Stage.AFTER_PUBLISH for check in model.checks)
