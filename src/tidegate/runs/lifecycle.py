"""A run from top to bottom: compile, plan, branch, build, check, publish, clean up."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from tidegate.compiler import DiagnosticSeverity, compile_from_disk
from tidegate.compiler.compiled import BoundQuery, Compiled, RunValues
from tidegate.config import Settings
from tidegate.errors import FailureKind, ProjectError, RunCancelledError, TidegateError
from tidegate.failures import kind_of
from tidegate.faults import fault
from tidegate.hooks.budget import bytes_added
from tidegate.hooks.events import Ending, Event, Listener
from tidegate.hooks.run_hooks import open_run_hooks
from tidegate.lake import open_catalog
from tidegate.lake.branch_catalog import MAIN, BranchCatalog
from tidegate.lake.branch_or_main import BranchOrMain
from tidegate.lake.view import BranchView
from tidegate.lake.warehouse import require_writable
from tidegate.names import TableName
from tidegate.planner.decide import RunType
from tidegate.planner.make_plan import Plan, make_plan
from tidegate.planner.plan_size import work_of_plan
from tidegate.planner.readers import readers_of
from tidegate.planner.selection import select
from tidegate.python_models.run_sandbox import RunSandbox
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.after_publish import Maintain, archive_landing_files, report_anomalies, run_maintenance
from tidegate.runs.builder import Builder, OpenBuilder
from tidegate.runs.called_functions import versions_of_functions
from tidegate.runs.clock import Clock, SystemClock
from tidegate.runs.context import Phases, PhaseSpans, RunContext, plan_request
from tidegate.runs.control.cancellation import Cancellation, cancelled_by_signals, without_signals
from tidegate.runs.control.guard import Guard
from tidegate.runs.control.heartbeat import Heartbeat
from tidegate.runs.jvm_warmth import jvm_state
from tidegate.runs.ledger import Ledger
from tidegate.runs.options import RunOptions
from tidegate.runs.recorder import Recorder
from tidegate.runs.register import RegisteredRun, interrupted_runs, register_run, require_confirmation, select_for_run
from tidegate.runs.result import Publish, RunResult, attach_result
from tidegate.runs.run_branch import RunBranch
from tidegate.runs.source_availability import require_one_readable, unreadable_models
from tidegate.runs.tally import EarlierTry, ModelOutcome, Tally
from tidegate.sources.source_catalogs import readable
from tidegate.spark.work import Work
from tidegate.state import RunRecord, StateStore, open_state

__all__ = ["run_project"]


def run_project(
    settings: Settings,
    options: RunOptions = RunOptions(),  # noqa: B008 - frozen
    listeners: Sequence[Listener] = (),
    clock: Clock | None = None,
    *,
    open_builder: OpenBuilder,
    maintain: Maintain,
) -> RunResult:
    """Run the project. Raises only what stops a run before its first model; everything else is in the result.

    `open_builder`: called if a table is to be built. `maintain`: called after a publish, if [maintenance] says so.
    """
    clock = clock or SystemClock()
    cancellation = Cancellation()
    cancellation.orderly = True  # a signal waits until the run can record that it was cancelled
    with open_state(settings.state.url) as store, cancelled_by_signals(cancellation):
        registered = register_run(store, settings, options, clock)
        if isinstance(registered, RunResult):
            return registered
        return _Run(settings, registered, listeners, clock, store, cancellation, open_builder, maintain).run()


class _Run:
    def __init__(
        self,
        settings: Settings,
        registered: RegisteredRun,
        listeners: Sequence[Listener],
        clock: Clock,
        store: StateStore,
        cancellation: Cancellation,
        open_builder: OpenBuilder,
        maintain: Maintain,
    ) -> None:
        self.settings = settings
        self.open_builder = open_builder
        self.maintain = maintain
        self.record = registered.record
        self.options = registered.options
        self.clock = clock
        self.store = store
        self.recorder = Recorder(store)
        self.listeners: tuple[Listener, ...] = (self.recorder, *listeners)
        self.run_id = registered.record.run_id
        self.started_at = registered.record.started_at
        self.started = clock.monotonic()
        self.spans = PhaseSpans()
        self.phases = Phases(clock, self.spans)
        self.tally = Tally()
        self.ledger = Ledger.of(store, registered.record, clock, settings.sources)
        self.earlier = EarlierTry.of(store, registered.record)
        self.cancellation = cancellation
        self.sandbox = RunSandbox(settings)
        self._emitting = threading.Lock()
        self._failure_reported = False
        self.heartbeat = Heartbeat(self.record, store, clock, self._cancel_on_request, self._halt)
        self.watch = open_run_hooks(settings, "run", self.emit, self._halt, self._bytes_written)
        self._work = Work.LONG
        """Until there is a plan, which knows better."""
        self.branch = RunBranch(
            self.record, self.options, self.ledger, self.tally, self.cancellation, self.heartbeat, self.emit
        )

    def run(self) -> RunResult:
        fault("after_register")
        try:
            with cancelled_by_signals(self.cancellation):
                self.heartbeat.start()
                self.cancellation.orderly = False
                self.cancellation.check()
                with contextlib.closing(self.sandbox):
                    self._run_phases()
        except BaseException as error:
            with without_signals():
                self.heartbeat.stop()
                cause = self._cause(error)
                self._stopped(cause)
            if cause is error:
                raise
            raise cause from error
        with without_signals():
            return self._finish()

    def _cause(self, error: BaseException) -> BaseException:
        """What ended the run: whatever failed after a cancel was requested failed because of that."""
        if isinstance(error, RunCancelledError) and self.tally.error is not None:
            return self.tally.error
        cancelled = isinstance(error, RunCancelledError | KeyboardInterrupt)
        if self.cancellation.requested and self.tally.error is None and not cancelled:
            return RunCancelledError(self.cancellation.why)
        return error

    def _run_phases(self) -> None:
        for other in interrupted_runs(self.store.reader(), self.record, self.clock.now()):
            again = f"tidegate run --resume {other}"
            self._log(f"{other} was interrupted; to resume it: {again}")
        with self.phases.timed("config_loading"):
            compiled, catalog = self._compile()
            selected = self._select(compiled, catalog)
            self.watch.choose(partial(_chosen, compiled))
            not_read = self._ingest(compiled, selected, catalog)
            versions = self._versions(compiled, selected)
            request = plan_request(self.options, self.started_at, versions, jvm_state(self.settings))
            query = partial(self._query, compiled)
            plan = make_plan(compiled, selected, BranchView(catalog, MAIN), request, query)
            self._work = work_of_plan(plan)
            require_one_readable(plan, compiled, catalog, self.options.full_refresh)
            sources, unreadable = unreadable_models(self.settings, compiled, plan, catalog)
        self.heartbeat.check_record()
        self.cancellation.check()
        self.store.set_status(self.run_id, "running")
        names = [step.table.short(compiled.namespace) for step in plan.steps]
        resumed = {"resumes": self.record.resumes} if self.record.resumes else {}
        self.emit("pipeline_start", None, {"models": names, "publish": self.branch.mode, **resumed})
        if plan.idle:
            for failure in not_read.values():
                raise failure
            self._nothing_to_do(plan, compiled, catalog)
        else:
            self._build(compiled, catalog, plan, sources, {**unreadable, **not_read}, versions)

    def _versions(self, compiled: Compiled, selected: Collection[TableName]) -> Mapping[str, str]:
        return versions_of_functions(
            compiled,
            selected,
            self.sandbox,
            self.started_at.isoformat(),
            self.options.vars,
            self._log,
            lambda: self.cancellation.requested,
        )

    def _ingest(
        self, compiled: Compiled, selected: Collection[TableName], catalog: BranchCatalog
    ) -> Mapping[TableName, TidegateError]:
        contracts = {} if self.options.no_ingest else compiled.ingestions(selected)
        if not contracts:
            return {}
        from tidegate.runs.source_reads import (  # only here: most projects read no source
            SourceReading,
            ingest_contracts,
        )

        of_run = SourceReading(self.run_id, lambda: self._builder, self.emit, self.cancellation.check, self.clock)
        return ingest_contracts(contracts, compiled, catalog, of_run)

    def _log(self, line: str) -> None:
        self.emit("phase", None, {"phase": "setup", "message": line})

    @cached_property
    def _builder(self) -> Builder:
        return self.open_builder(self.settings, self._log, self._work)

    def _query(self, compiled: Compiled, table: TableName) -> BoundQuery:
        from tidegate.compiler import bind  # only here: most runs with nothing to do bind no query

        values = RunValues(self.started_at.isoformat(), vars=dict(self.options.vars))
        return bind(compiled, table, values)

    def emit(self, name: str, model: str | None, data: Mapping[str, Any]) -> None:
        event = Event(name, self.run_id, self.clock.now(), model, data)
        with self._emitting:
            for listener in self.listeners:
                listener(event)
            lost = None if self._failure_reported else self.recorder.failure
            self._failure_reported = self._failure_reported or lost is not None
        if lost is not None:
            self._halt(lost)
        if name == "warning":
            self.tally.warnings.append(str(data["message"]))
        if not self.heartbeat.taken_over:  # else another process notifies
            self.watch(event)

    def _halt(self, error: TidegateError) -> None:
        """Stop the run: nothing more is started or published, and this is its error. A run that has an error, or is
        ending already, only warns."""
        if self.cancellation.requested or self.tally.error is not None:
            self.emit("warning", None, {"message": str(error)})
        else:
            self.tally.error = error
        self.cancellation.request(f"The run was stopped: {error}")

    def _cancel_on_request(self, record: RunRecord) -> None:
        self.cancellation.request_from_outside("The run was cancelled")
        self.emit("warning", None, {"message": f"cancelled from outside at {record.cancel_requested_at:%H:%M:%S} UTC"})

    def _bytes_written(self, model: str) -> int:
        table = TableName.parse(model, self.settings.project.namespace)
        return bytes_added(BranchView(open_catalog(self.settings), self.branch.name).table(table), self.run_id)

    def _compile(self) -> tuple[Compiled, BranchCatalog]:
        catalog = open_catalog(self.settings)
        if self.settings.lake.on_branch_failure == "direct":
            catalog = BranchOrMain(catalog, self.run_id)
        compiled, discovery = compile_from_disk(
            self.settings, catalog.head(MAIN), self.options.vars, vars_given_before=self.record.resumes > 0
        )
        if self.settings.sources:
            counts = {"sources": len(discovery.queried), "tables": len(discovery.tables)}
            self.emit("discover_complete", None, counts)
        self.emit("compile_complete", None, {"errors": len(compiled.errors), "models": len(compiled.models)})
        if compiled.project_errors:
            raise ProjectError("The project has errors; nothing was run", diagnostics=compiled.diagnostics)
        for diagnostic in compiled.diagnostics:
            if diagnostic.severity is not DiagnosticSeverity.WARNING:
                continue
            place = f"{diagnostic.span.file}:{diagnostic.span.line}: " if diagnostic.span else ""
            self.emit("warning", diagnostic.model, {"message": f"{place}{diagnostic.message}"})
        return compiled, catalog

    def _select(self, compiled: Compiled, catalog: BranchCatalog) -> frozenset[TableName]:
        selected = select_for_run(compiled, self.options, catalog, self.record, self.store.reader())
        if compiled.waves and not selected:
            patterns = " ".join(self.options.select) or "the selection"
            self._log(f"No model is selected: none is of the state that {patterns} asks for")
        require_confirmation(compiled, selected, self.options)
        return selected

    def _nothing_to_do(self, plan: Plan, compiled: Compiled, catalog: BranchCatalog) -> None:
        for step in plan.steps:
            strategy = compiled.models[step.table].model.settings.written_as
            name = step.table.short(compiled.namespace)
            # Only for hooks: the event that follows is enough for the history.
            self.watch(Event("before_model_run", self.run_id, self.clock.now(), name, {}))
            result = ModelResult(name, "skipped", strategy, str(step.decision.run_type), step.decision.reason)
            reused = str(step.table) in self.ledger.earlier
            self.tally.outcomes[step.table] = ModelOutcome(result, reused=reused)
            self.emit("after_model_run", name, {"result": result, **({"kept": True} if reused else {})})
        archive_landing_files(compiled, self.settings, catalog, self.emit)
        if self.branch.left_behind(catalog):
            catalog.drop_branch(self.run_id)

    def _build(
        self,
        compiled: Compiled,
        catalog: BranchCatalog,
        plan: Plan,
        sources: frozenset[str],
        unreadable: Mapping[TableName, TidegateError],
        versions: Mapping[str, str],
    ) -> None:
        built = [step.table for step in plan.steps if step.decision.run_type is not RunType.SKIP]
        if any(map(compiled.runs_in_sandbox, built)):
            self.sandbox.start()  # beside Spark
        with self.phases.timed("branch_creation"):
            require_writable(self.settings.lake)
            builder = self._builder
        with readable(self.settings, sources) as conf:
            self._build_on_branch(compiled, catalog, plan, builder, versions, conf, unreadable)

    def _build_on_branch(
        self,
        compiled: Compiled,
        catalog: BranchCatalog,
        plan: Plan,
        builder: Builder,
        versions: Mapping[str, str],
        source_conf: Mapping[str, str],
        unreadable: Mapping[TableName, TidegateError],
    ) -> None:
        # Only here: these rooms need pyspark, and a run with nothing to do ends without it.
        from tidegate.runs.building import Building

        run = RunContext(
            run_id=self.run_id,
            settings=self.settings,
            options=self.options,
            compiled=compiled,
            catalog=catalog,
            clock=self.clock,
            started_at=self.started_at,
            cancellation=self.cancellation,
            publish_mode=self.branch.mode,
            emit=self.emit,
            builder=builder,
            sandbox=self.sandbox,
            versions=versions,
            vars=dict(self.options.vars),
            source_conf=source_conf,
            unreadable=unreadable,
            readers=readers_of(compiled),
            guard=Guard(self.settings.run, self.clock, self.cancellation, self._halt, self.emit, self.started),
            check_record=self.heartbeat.check_record,
            ledger=self.ledger,
            decided=plan.decided,
            spans=self.spans,
        )
        self.cancellation.check()
        self.cancellation.orderly = True
        if gap := catalog.capabilities.gaps.get("atomic_publish"):
            self.emit("phase", None, {"phase": "publish", "message": f"A publish is not one step here: {gap}."})
        tables = {step.table for step in plan.steps}
        with self.branch.held(run, tables, self.phases) as run, self.heartbeat.with_branch(catalog, run.branch):
            try:
                Building(run, self.phases, self.tally, tables).build_and_publish()
            finally:
                run.builder.release()
            if self.recorder.failure is None:
                report_anomalies(run, self.tally, self.store.reader())
            if self.tally.published or self.tally.reused:
                archive_landing_files(compiled, self.settings, catalog, self.emit)
        self.cancellation.orderly = False
        if self.tally.published and self.settings.maintenance.after_run and not self.cancellation.requested:
            with contextlib.suppress(KeyboardInterrupt):
                if run.builder.restart():
                    run_maintenance(run, self.maintain, tuple(self.tally.published))

    def _stopped(self, error: BaseException) -> None:
        """The run ended without a result: the history must not show it as running."""
        cancelled = isinstance(error, RunCancelledError | KeyboardInterrupt)
        status = "cancelled" if cancelled else "failed"
        message = str(error) or (self.cancellation.why if cancelled else type(error).__name__)
        kind = str(FailureKind.CANCELLED if cancelled else kind_of(error))
        remedy, where = getattr(error, "remedy", None), getattr(error, "where", None)
        result = replace(self._result(), status=status, error=message, failure_kind=kind, remedy=remedy, where=where)
        attach_result(error, result)
        with contextlib.suppress(Exception), self._notifying():
            data = {"status": status, "error": message, "failure_kind": kind, "duration_ms": self._elapsed()}
            self.emit("pipeline_error", None, data)
        with contextlib.suppress(Exception):
            if not self.heartbeat.taken_over:
                self.store.finish_run(
                    self.run_id,
                    status,
                    finished_at=self.clock.now(),
                    duration_ms=self._elapsed(),
                    phase_profiles=self.phases.ms,
                    error=message,
                    resumes=self.record.resumes,
                )
                self.emit("state_synced", None, {"status": status})
        with contextlib.suppress(Exception):
            self._close_watch(Ending(self.run_id, status, 0, self._elapsed(), self.phases.ms, message))

    def _elapsed(self) -> int:
        return round((self.clock.monotonic() - self.started) * 1000)

    def _finish(self) -> RunResult:
        facts = ("status", "error", "failure_kind", "duration_ms", "rows_written")
        with self._notifying():
            self.heartbeat.check_record()
            result = self._result()
            done = "pipeline_complete" if result.exit_code == 0 else "pipeline_error"
            self.emit(done, None, {name: getattr(result, name) for name in facts})
            self.watch.drain()
        self.heartbeat.stop()
        result = self._store_result()
        reported = self._reported()
        with self._notifying():
            if self.recorder.failure is None:
                self.emit("state_synced", None, {"status": result.status})
            # The last hooks may have failed the run, or warned.
            self._close_watch((result if reported == self._reported() else self._result()).ending)
        return result if reported == self._reported() else self._store_result()

    def _reported(self) -> tuple[TidegateError | None, int]:
        return self.tally.error, len(self.tally.warnings)

    @contextlib.contextmanager
    def _notifying(self) -> Iterator[None]:
        """The run itself is over: a signal only ends the waiting for hooks."""
        try:
            with cancelled_by_signals(self.cancellation):
                yield
        except KeyboardInterrupt:
            message = (
                "interrupted while hooks were notified of the end of the run; not all of them may have received it"
            )
            self.emit("warning", None, {"message": message})

    def _close_watch(self, ending: Ending) -> None:
        self.watch.close(None if self.heartbeat.taken_over else ending)

    def _store_result(self) -> RunResult:
        result = self._result()
        if self.heartbeat.taken_over:
            return result
        fault("before_history")
        self.recorder.finish(result, self.clock.now())
        fault("after_history")
        if self.recorder.failure is None:
            return result
        self.tally.error = self.tally.error or self.recorder.failure
        return self._result()

    def _result(self) -> RunResult:
        outcomes = [self.tally.outcomes[table] for table in sorted(self.tally.outcomes)]
        phases = dict(self.phases.ms)
        for outcome in outcomes:
            for name, ms in outcome.result.phases.items():
                phases[name] = phases.get(name, 0) + ms
        outcomes = [self.earlier.restored(outcome) for outcome in outcomes]
        checks: list[CheckResult] = [check for outcome in outcomes for check in outcome.checks]
        checks += self.tally.after_publish
        error = self.tally.error
        return RunResult(
            run_id=self.run_id,
            status=self.tally.status([outcome.result.status for outcome in outcomes]),
            branch=self.branch.name,
            publish=Publish(
                self.branch.mode,
                tuple(table.short(self.settings.project.namespace) for table in self.tally.published),
                self.tally.conflicts,
                self.tally.in_doubt,
            ),
            started_at=self.started_at,
            duration_ms=self._elapsed(),
            phase_profiles=phases,
            phase_wall_ms=self.spans.wall_ms(),
            materializations=tuple(outcome.result for outcome in outcomes),
            check_results=tuple(checks),
            drift=tuple(entry for outcome in outcomes for entry in outcome.drift),
            anomalies=tuple(self.tally.anomalies),
            warnings=tuple(self.tally.warnings),
            error=str(error) if error else None,
            failure_kind=str(error.kind) if error else str(FailureKind.CANCELLED) if self.tally.cancelled else None,
            remedy=error.remedy if error else None,
            where=error.where if error else None,
            resumes=self.record.resumes,
            branch_kept_for=self.branch.kept_for,
            idempotency_key=self.options.idempotency_key,
        )


def _chosen(compiled: Compiled, patterns: Sequence[str]) -> frozenset[str]:
    return frozenset(table.short(compiled.namespace) for table in select(compiled, patterns))
