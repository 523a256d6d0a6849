"""One model of a run, from its decision to its checked rows on the branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tidegate.compiler.compiled import CompiledModel
from tidegate.errors import (
    FailureKind,
    LakeError,
    ModelError,
    QueryError,
    RunAbortedError,
    RunCancelledError,
    StrategyError,
    TidegateError,
)
from tidegate.faults import fault
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import TableInput
from tidegate.lake.unfinished_writes import pointer_before_unfinished_write
from tidegate.names import TableName
from tidegate.planner.decide import Decision, RunType, keeps_history
from tidegate.planner.make_plan import ModelPlan, plan_model
from tidegate.project.model import Materialized
from tidegate.quality.column_profiles import Profile
from tidegate.results import CheckResult, ModelResult
from tidegate.runs.builder import ModelAttempt, TableWork
from tidegate.runs.checks import check_before_publish
from tidegate.runs.context import Phases, RunContext
from tidegate.runs.control.limits import Deadline
from tidegate.runs.control.retries import Attempt, AttemptFailure
from tidegate.runs.damage import explain_damage
from tidegate.runs.reads import bound_query, checked_inputs, checked_tables, owned_tables, tables_read
from tidegate.runs.result import KEPT
from tidegate.runs.tally import ModelOutcome
from tidegate.sources.source_catalogs import services_behind

if TYPE_CHECKING:
    from tidegate.write.request import WriteOutcome

__all__ = ["run_model"]


def run_model(run: RunContext, table: TableName) -> ModelOutcome:
    """Build one model on the branch, in one or more attempts. A failure is a value; the table is restored then."""
    model, name = run.compiled.models[table], run.short(table)
    run.emit("before_model_run", name, {})
    started = run.clock.monotonic()
    deadline = run.guard.deadline(model.model.settings)
    tries: list[_ModelBuild] = []
    before: dict[TableName, Pointer | None] = {}

    def once(number: int) -> ModelResult:
        tries.append(_ModelBuild(run, model, deadline, tries[-1].note if tries else ""))
        return tries[-1].run_once(before)

    def failed(result: ModelResult) -> AttemptFailure | None:
        if result.status != "failed" or tries[-1].aborted or tries[-1].lost:
            return None
        return AttemptFailure(FailureKind(result.failure_kind or ""), result.error or "", tries[-1].retry_after)

    def warn_of_retry(attempt: Attempt, pause: float) -> None:
        message = f"{name}: attempt {attempt.number} failed ({attempt.failure_kind}: {attempt.error})"
        run.emit("warning", name, {"message": f"{message}; trying again in {pause:.1f} s"})

    tried = run.guard.retries(model.model.settings, deadline).until_done(once, failed, warn_of_retry)
    attempt, result = tries[-1], tried.outcome
    duration = round((run.clock.monotonic() - started) * 1000)
    result = replace(
        result,
        status="cancelled" if tried.cancelled else result.status,
        duration_ms=duration,
        phases={**attempt.phases.ms},
        attempts=tuple(each.to_dict() for each in tried.attempts),
    )
    if attempt.lost and result.status == "failed":
        return ModelOutcome(result, unrestored=attempt.unrestored, lost=True)
    if result.status == "failed":
        failure = {"error": result.error, "failure_kind": result.failure_kind}
        if attempt.writing:
            run.emit("materialize_error", name, failure)
        run.emit("model_error", name, failure)
    reused = attempt.reused and result.status == "skipped"
    run.emit("after_model_run", name, {"result": result, **({"kept": True} if reused else {})})
    checked_again = attempt.checked_again and result.status == "skipped"
    profile = attempt.profile if result.status == "completed" or reused else None
    checks, drift = tuple(attempt.checks), tuple(attempt.drift)
    read = attempt.read if result.status == "skipped" else None
    return ModelOutcome(result, checks, drift, checked_again, profile, attempt.unrestored, read, reused)


class _ModelBuild:
    """One attempt at one model; records what a failure must not lose."""

    def __init__(self, run: RunContext, model: CompiledModel, deadline: Deadline, note: str = "") -> None:
        """`note`: why what an earlier try of the run built was not used."""
        self.run = run
        self.model = model
        self.phases = Phases(run.clock, run.spans)
        self.attempt = ModelAttempt(run, model, deadline, self.phases, run.values)
        self.table = model.model.table
        self.settings = model.model.settings
        self.name = run.short(self.table)
        self.note = note
        self.checks: list[CheckResult] = []
        self.drift: list[dict[str, Any]] = []
        self.profile: Profile | None = None
        self.read: Mapping[str, TableInput] | None = None
        self.retry_after: float | None = None
        self.checked_again = False
        self.reused = False
        self.unrestored = False
        self.aborted = False
        self.lost = False

    @property
    def writing(self) -> bool:
        """Whether it reached the write, and not the checks."""
        return "iceberg_write" in self.phases.ms and "quality_tests" not in self.phases.ms

    def run_once(self, before: dict[TableName, Pointer | None]) -> ModelResult:
        """`before`: the pointers of the model's tables before its first attempt; empty until they are known."""
        run = self.run
        services = services_behind(run.settings, self.model.sources)
        try:
            if before:
                self._restore(before)  # where the attempt before this one could not
            elif self._is_reused():
                return self._result("skipped")
            else:
                before |= {owned: run.lake.pointer(owned) for owned in owned_tables(run.compiled, [self.table])}
            with run.guard.services.calling(*services, deadline=self.attempt.deadline):
                return self.build()
        except Exception as failure:
            self.lost = not run.cancellation.requested and run.builder.died_of(failure)
            error = failure if self.lost else explain_damage(failure, run, self.model)
            try:
                self._restore(before)
            except TidegateError as lost:
                self.unrestored = True
                if not run.cancellation.requested:  # else its branch may be gone already
                    message = f"{self.name}: its table could not be restored: {lost}"
                    run.emit("warning", self.name, {"message": message})
            return self.failed(error)

    def _is_reused(self) -> bool:
        run = self.run
        if run.ledger is None:
            return False
        earlier = run.ledger.reuse_or_restore(self.model, run.compiled, run.lake, run.settings)
        self.note = earlier.note
        if earlier.reused:
            self.reused, self.profile = True, earlier.profile
            self.attempt.decision = Decision(RunType.SKIP, KEPT)
        return earlier.reused

    def _restore(self, before: Mapping[TableName, Pointer | None]) -> None:
        for owned, pointer in before.items():
            if pointer != self.run.lake.pointer(owned):
                self.run.catalog.restore(self.run.branch, owned, pointer)

    def build(self) -> ModelResult:
        run = self.run
        run.cancellation.check()
        fault("before_build", self.table)
        with self.phases.timed("config_loading"):
            self._drop_unreadable()
            self._require_upstreams()
            self._require_own_table()
            self._undo_unfinished_write()
            facts = self._decide()
            self.attempt.decision = facts.decision
        if facts.decision.run_type is RunType.SKIP:
            self.read = self._tables_seen(facts)
            if facts.decision.record_digests:
                self._record_digests(facts)
            return self._check_again() if facts.decision.check_again else self._result("skipped")
        before = None if facts.decision.rebuild or self._has_new_constraints() else run.lake.table(self.table)
        with run.builder.open(self.attempt) as work:
            outcome = work.build(facts)
            if self.attempt.decision.run_type is RunType.SKIP:
                return self._recorded()
            self._report(outcome)
            self.profile = self._profile(outcome)
            self._check(work, before if self._adds(outcome) else None, self.attempt.constraint_results)
        fault("after_checks", self.table)
        self._record_built()
        return self._result("completed", outcome)

    def _decide(self) -> ModelPlan:
        """What the plan decided, unless what it was decided from has moved since: by an upstream of this run, or by
        another run."""
        run, planned = self.run, self.run.decided.get(self.table)
        if planned is not None and planned.holds(run.lake):
            return planned
        bound = partial(bound_query, run, self.model)
        facts = plan_model(self.model, run.compiled, run.lake, run.request, bound, lambda: run.readers)
        return replace(facts, decision=facts.decision.in_jvm(self.model, run.builder.jvm_state))

    def _record_built(self) -> None:
        run = self.run
        if run.ledger is not None:
            checked = checked_tables(run, self.model, self.attempt.values)
            run.ledger.add_built(self.model, run.compiled, run.lake, self.profile, checked)

    def _tables_seen(self, facts: ModelPlan) -> dict[str, TableInput]:
        own = self.run.lake.metadata(self.table)
        return {**facts.inputs.tables, **({} if own is None else {str(self.table): own.table_input()})}

    def _require_upstreams(self) -> None:
        heads = self.run.lake.heads()
        missing = [name for name in tables_read(self.run, self.model) if name not in heads]
        if missing:
            names = ", ".join(self.run.short(name) for name in missing)
            raise QueryError(
                f"{names} has not been built yet",
                where=str(self.model.model.path),
                remedy=f"Run it first, or together with this model: tidegate run +{self.name}",
            )

    def _require_own_table(self) -> None:
        """The table must have been made by this model, with rows of the same shape."""
        metadata = self.run.lake.table(self.table)
        if metadata is None or self.run.options.full_refresh or self.settings.materialized is Materialized.VIEW:
            return
        progress = metadata.progress
        summary = metadata.current.summary if metadata.current else {}
        if progress is None and summary.get("tidegate.model") == str(self.table):
            raise StrategyError(
                f"{summary.get('tidegate.run-id')}, which wrote main itself, "
                f"was killed before {self.table} was finished",
                where=str(self.model.model.path),
                remedy=f"Rebuild the table from its inputs: tidegate run {self.name} --full-refresh",
            )
        if progress is None:
            raise StrategyError(
                f"the table {self.table} exists already, and no model made it",
                where=str(self.model.model.path),
                remedy="Rename the model; or replace the table, and lose what is in it, with --full-refresh.",
            )
        before, now = progress.strategy, self.settings.written_as
        if before != now and (progress.keeps_history or keeps_history(self.model)):
            raise StrategyError(
                f"the rows of {self.table} were written by {before}, and {now} keeps other ones",
                where=str(self.model.model.path),
                remedy="Give the model another name, or rebuild its table from its inputs with --full-refresh.",
            )

    def _drop_unreadable(self) -> None:
        """A table whose metadata file is missing is rebuilt from nothing, if its rebuild was asked for."""
        if not self.run.options.full_refresh:
            return
        for owned in owned_tables(self.run.compiled, [self.table]):
            try:
                self.run.lake.metadata(owned)
            except LakeError as error:
                if error.kind is not FailureKind.NOT_FOUND:
                    raise
                self.run.lake.restore(owned, None)
                message = f"{self.run.short(owned)}: its metadata file is missing, so it is built as if it were new"
                self.run.emit("warning", self.name, {"message": message})

    def _undo_unfinished_write(self) -> None:
        """Rows that were written without progress would be written twice."""
        metadata = self.run.lake.table(self.table)
        pointer = pointer_before_unfinished_write(self.table, metadata) if metadata is not None else None
        if pointer is not None:
            message = f"{self.name}: rows that a run wrote to main itself before it was killed are removed"
            self.run.emit("warning", self.name, {"message": message})
            self.run.lake.restore(self.table, pointer)

    def _profile(self, outcome: WriteOutcome) -> Profile | None:
        now = self.run.lake.table(self.table)
        if outcome.counted is None or now is None:
            return None
        return outcome.counted.profile(now.total_records, now.last_change.id if now.last_change else None)

    def _report(self, outcome: WriteOutcome) -> None:
        for change in outcome.drift:
            entry = {"model": self.name, **{name: getattr(change, name) for name in change.__dataclass_fields__}}
            self.drift.append(entry)
            self.run.emit("drift_detected", self.name, entry)
        for warning in outcome.warnings:
            self.run.emit("warning", self.name, {"message": f"{self.name}: {warning}"})

    def _adds(self, outcome: WriteOutcome) -> bool:
        """Some of the table's rows are not this run's."""
        assert self.attempt.decision is not None
        now = self.run.lake.table(self.table)
        return now is not None and not self.attempt.decision.rebuild and outcome.rows_written < now.total_records

    def _has_new_constraints(self) -> bool:
        """The table was published with other constraints, and all of its rows have to meet the new ones; history is
        left as it is."""
        former = self.run.lake.progress(self.table)
        return former is not None and former.checks != self.model.checks_digest and not keeps_history(self.model)

    def _check(self, work: TableWork, before: TableMetadata | None = None, settled: Sequence[CheckResult] = ()) -> None:
        fault("before_checks", self.table)
        with self.phases.timed("quality_tests"):
            check_before_publish(self.run, self.model, work, self.checks, before, settled)

    def _check_again(self) -> ModelResult:
        """The table stays unchanged; it was published with other checks."""
        from tidegate.runs.build.quarantine import left_out  # only here: a run with nothing to build imports no writers

        run = self.run
        with run.builder.open(self.attempt) as work:
            # Constraints that refuse rows apply to new rows: a changed one would have rebuilt the table.
            self._check(work, settled=left_out(run, self.model))
            progress = run.lake.progress(self.table)
            assert progress is not None
            others = checked_inputs(run, self.model, self.attempt.values)
            self.read = {**(self.read or {}), **others}
            fault("before_progress", self.table)
            run.lake.set_progress(self.table, replace(progress, checks=self.model.checks_digest, checked=others))
            fault("after_progress", self.table)
            return self._recorded()

    def _recorded(self) -> ModelResult:
        """No row was written, and the table records something else now, which is published."""
        self.checked_again = True
        self._record_built()
        return self._result("skipped")

    def _record_digests(self, facts: ModelPlan) -> None:
        """Of landing files that were consumed without digests: a property of the table and no snapshot, so its
        readers are still up to date."""
        from tidegate.runs.build.deliveries import take_files  # only here, as above

        run, metadata = self.run, self.run.lake.table(self.table)
        assert metadata is not None
        assert metadata.progress is not None
        root, location = run.settings.landing.root, metadata.table_location
        zones = take_files({}, {}, facts.inputs, root, location, metadata.progress.run_id, run.started_at)
        run.lake.set_progress(self.table, replace(metadata.progress, zones=zones))
        self.checked_again = True

    @property
    def _reason(self) -> str:
        return "; ".join(
            part for part in (self.attempt.decision.reason if self.attempt.decision else "", self.note) if part
        )

    def _result(self, status: str, outcome: WriteOutcome | None = None) -> ModelResult:
        assert self.attempt.decision is not None
        metadata = self.run.lake.table(self.table) if status == "completed" else None
        return ModelResult(
            model=self.name,
            status=status,
            strategy=self.settings.written_as,
            run_type=str(self.attempt.decision.run_type),
            reason=self._reason,
            rows_written=outcome.rows_written if outcome else 0,
            rows_deleted=outcome.rows_deleted if outcome else 0,
            rows_quarantined=outcome.rows_quarantined if outcome else 0,
            stages=self.attempt.stages,
            watermark=self.attempt.watermark,
            snapshot_id=metadata.current_snapshot_id if metadata else None,
        )

    def failed(self, error: Exception) -> ModelResult:
        if not isinstance(error, TidegateError):
            error = ModelError(f"{type(error).__name__}: {error}")
        self.retry_after = error.retry_after
        self.aborted = isinstance(error, RunAbortedError)
        for rule in self.attempt.failed_rules:
            self.checks.append(rule)
            self.run.emit("check_result", self.name, {"result": rule})
        result = ModelResult(
            model=self.name,
            status="failed",
            strategy=self.settings.written_as,
            run_type=str(self.attempt.decision.run_type) if self.attempt.decision else None,
            reason=self._reason,
            stages=self.attempt.stages,
        )
        return result.failed(error, "cancelled" if isinstance(error, RunCancelledError) else "failed")
