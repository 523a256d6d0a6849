"""One model of a run, from its decision to its checked rows on the branch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tidegate.compiler import bind
from tidegate.compiler.values import CompiledModel, RunValues
from tidegate.errors import ModelError, QueryError, RunCancelledError, StrategyError, TidegateError
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress, ZoneInput
from tidegate.names import TableName, quote
from tidegate.planner.decide import Decision, RunType, keeps_history
from tidegate.planner.inputs import Inputs
from tidegate.planner.intervals import Interval, decode, encode
from tidegate.planner.plan import Facts, plan_model
from tidegate.project.landing import ZoneFile
from tidegate.project.model import Materialized, Strategy
from tidegate.runs.checks import run_checks
from tidegate.runs.context import Phases, RunContext
from tidegate.runs.deliveries import require_unchanged, take_files, zone_batches
from tidegate.runs.faults import fault
from tidegate.runs.result import CheckResult, Materialization
from tidegate.runs.tally import ModelOutcome
from tidegate.spark.session import use_pool
from tidegate.transform import Built, Sources, ZoneBatch, build_frame, explain
from tidegate.write import WriteOutcome, WriteRequest, write, write_view
from tidegate.write.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["run_model"]


def run_model(run: RunContext, table: TableName) -> ModelOutcome:
    """Build one model on the branch. A failure is a value; the table is then as it was before."""
    attempt = _Attempt(run, run.compiled.models[table])
    name = run.short(table)
    run.emit("before_model_run", name, {})
    before = run.lake.pointer(table)
    started = run.clock.monotonic()
    try:
        materialization = attempt.build()
    except Exception as error:
        if before != run.lake.pointer(table):
            run.catalog.restore(run.run_id, table, before)
        materialization = attempt.failed(error)
    duration = round((run.clock.monotonic() - started) * 1000)
    materialization = replace(materialization, duration_ms=duration, phases=dict(attempt.phases.ms))
    if materialization.status == "failed":
        run.emit("model_error", name, {"error": materialization.error, "failure_kind": materialization.failure_kind})
    run.emit("after_model_run", name, {"result": materialization})
    return ModelOutcome(materialization, tuple(attempt.checks), tuple(attempt.drift))


class _Attempt:
    """One try at one model; gathers what a failure must not lose."""

    def __init__(self, run: RunContext, model: CompiledModel) -> None:
        self.run = run
        self.model = model
        self.table = model.model.table
        self.settings = model.model.settings
        self.name = run.short(self.table)
        self.phases = Phases(run.clock)
        self.checks: list[CheckResult] = []
        self.drift: list[dict[str, Any]] = []
        self.warnings: list[str] = []
        self.decision: Decision | None = None
        self.sql = ""
        self.files: tuple[ZoneFile, ...] = ()

    def build(self) -> Materialization:
        run = self.run
        run.cancellation.check()
        fault("before_build")
        with self.phases.timed("config_loading"):
            self._require_upstreams()
            self._require_own_table()
            facts = plan_model(self.model, run.compiled, run.lake, run.settings, run.wish)
            self.decision = facts.decision
        if facts.decision.run_type is RunType.SKIP:
            return self._result("skipped")
        with run.session(self.table) as session:
            use_pool(session, self.name)
            try:
                if self.settings.materialized is Materialized.VIEW:
                    outcome, watermark = self._build_view(session, facts), None
                else:
                    outcome, watermark = self._build_table(session, facts)
                fault("after_progress")
                self._check()
            except TidegateError:
                raise
            except Exception as error:
                run.cancellation.check()
                raise explain(
                    error, self.sql, self.model.model.source, str(self.model.model.path), self.files
                ) from error
        fault("after_checks")
        return self._result("completed", outcome, watermark)

    def _require_upstreams(self) -> None:
        heads = self.run.lake.heads()
        in_lake = (name for name in self.model.sources if name.namespace not in self.run.settings.sources)
        missing = [name for name in (*self.model.depends_on, *in_lake) if name not in heads]
        if missing:
            names = ", ".join(self.run.short(name) for name in missing)
            raise QueryError(
                f"{names} has not been built yet",
                where=str(self.model.model.path),
                remedy=f"Run it first, or together with this model: tidegate run +{self.name}",
            )

    def _require_own_table(self) -> None:
        """What stands in the table's place must be this model's own work, in rows of the same shape."""
        metadata = self.run.lake.table(self.table)
        if metadata is None or self.run.options.full_refresh or self.settings.materialized is Materialized.VIEW:
            return
        progress = metadata.progress
        if progress is None:
            raise StrategyError(
                f"the table {self.table} is there already, and no model made it",
                where=str(self.model.model.path),
                remedy="Rename the model; or replace the table, and lose what is in it, with --full-refresh.",
            )
        before, now = progress.strategy, self.settings.written_as
        if before != now and (progress.keeps_history or keeps_history(self.model)):
            raise StrategyError(
                f"the rows of {self.table} were written by {before}, and {now} keeps other ones",
                where=str(self.model.model.path),
                remedy="Give the model another name, or make its table anew from its inputs with --full-refresh.",
            )

    def _metadata(self) -> TableMetadata:
        metadata = self.run.lake.table(self.table)
        assert metadata is not None
        return metadata

    def _values(self, watermark: str | None = None, interval: Interval | None = None) -> RunValues:
        exists = self.run.lake.table(self.table) is not None
        assert self.decision is not None
        return RunValues(
            run_started_at=self.run.started_at.isoformat(),
            incremental=exists and not self.decision.rebuild,
            watermark_value=watermark,
            start_date=interval[0].strftime("%Y-%m-%d %H:%M:%S") if interval else None,
            end_date=interval[1].strftime("%Y-%m-%d %H:%M:%S") if interval else None,
            vars=self.run.vars,
        )

    def _build_view(self, session: SparkSession, facts: Facts) -> WriteOutcome:
        run = self.run
        with self.phases.timed("build_result"):
            query = bind(run.compiled, run.settings, run.project, self.table, self._values())
            self.sql = query.sql
        fault("after_build")
        progress = self._progress(facts, facts.inputs, {}, None, ())
        with self.phases.timed("iceberg_write"):
            run.emit("before_materialize", self.name, {})
            write_view(session, run.lake, self.table, query.sql, {PROGRESS_PROPERTY: progress.to_json()})
            run.emit("after_materialize", self.name, {"rows_written": 0})
        fault("after_write")
        return WriteOutcome(0, 0, changed=True)

    def _build_table(self, session: SparkSession, facts: Facts) -> tuple[WriteOutcome, str | None]:
        decision, run = facts.decision, self.run
        watermark = self._watermark(session, decision)
        root = run.settings.landing.root
        batches = zone_batches(facts.inputs, decision, root)
        intervals: tuple[Interval | None, ...] = decision.intervals or (None,)
        if self.settings.strategy is Strategy.TIME_INTERVAL and not decision.intervals:
            raise QueryError(
                "No interval is complete yet",
                where=str(self.model.model.path),
                remedy="Set first_partition to an earlier time, or ask for a range with --from and --to.",
            )
        former = self.run.lake.progress(self.table)
        dropped = dict(former.dropped_columns) if former else {}
        outcomes: list[WriteOutcome] = []
        for number, interval in enumerate(intervals):
            run.cancellation.check()
            with self.phases.timed("build_result"):
                run.emit("phase", self.name, {"phase": "build_result", "step": number + 1, "steps": len(intervals)})
                forget = decision.rebuild and number == 0
                built = self._frame(session, decision, batches, watermark, interval, forget)
            fault("after_build")
            with self.phases.timed("iceberg_write"):
                run.emit("before_materialize", self.name, {"phase": "iceberg_write"})
                outcomes.append(self._write(session, decision, built, interval, dropped, first=number == 0))
                dropped = dict(outcomes[-1].dropped_columns)
        with self.phases.timed("iceberg_write"):
            fault("after_write")
            require_unchanged(built.zone_files, root)
            outcome = _sum(outcomes)
            location = self._metadata().table_location
            zones = take_files(built.zone_files, built.zone_columns, facts.inputs, location, run.run_id)
            progress = self._progress(
                facts, facts.inputs, zones, watermark, self._filled(decision, former), dropped, outcome
            )
            self._set_progress(session, progress)
            run.emit("after_materialize", self.name, {"rows_written": outcome.rows_written})
        self._report(outcome)
        return outcome, watermark

    def _watermark(self, session: SparkSession, decision: Decision) -> str | None:
        column = self.settings.watermark_column
        if not self.model.uses_watermark or column is None or decision.rebuild or not self.run.lake.table(self.table):
            return None
        row = session.sql(f"SELECT CAST(max({quote(column)}) AS STRING) AS w FROM {self.table.quoted}").first()
        return str(row["w"]) if row is not None and row["w"] is not None else None

    def _frame(
        self,
        session: SparkSession,
        decision: Decision,
        batches: dict[str, ZoneBatch],
        watermark: str | None,
        interval: Interval | None,
        forget: bool,
    ) -> Built:
        run = self.run
        query = bind(run.compiled, run.settings, run.project, self.table, self._values(watermark, interval))
        self.sql = query.sql
        since = decision.inserted_since
        built = build_frame(session, query, Sources(self.table, run.lake, forget, batches, since))
        self.sql = built.sql
        self.files = tuple(file for files in built.zone_files.values() for file in files)
        self.warnings += [f"{self.name}: {note}" for note in built.notes if f"{self.name}: {note}" not in self.warnings]
        return built

    def _write(
        self,
        session: SparkSession,
        decision: Decision,
        built: Built,
        interval: Interval | None,
        dropped: dict[str, str],
        first: bool,
    ) -> WriteOutcome:
        return write(
            WriteRequest(
                session=session,
                lake=self.run.lake,
                table=self.table,
                result=built.frame,
                settings=self.settings,
                run_started_at=self.run.started_at,
                complete=decision.complete,
                rebuild=decision.rebuild and first,
                allow_deletes=self.run.options.allow_deletes,
                interval=interval,
                dropped_columns=dropped,
                dropped_column_grace=self.run.settings.run.dropped_column_grace,
            )
        )

    def _progress(
        self,
        facts: Facts,
        inputs: Inputs,
        zones: dict[str, ZoneInput],
        watermark: str | None,
        intervals: tuple[tuple[str, str], ...],
        dropped: dict[str, str] | None = None,
        outcome: WriteOutcome | None = None,
    ) -> Progress:
        return Progress(
            run_id=self.run.run_id,
            fingerprint=self.model.fingerprint,
            run_type=str(facts.decision.run_type),
            strategy=self.settings.written_as,
            keeps_history=keeps_history(self.model),
            tables=inputs.tables,
            zones=zones,
            watermark=watermark,
            intervals=intervals,
            dropped_columns=dropped or {},
            rows=outcome.rows_written if outcome else 0,
            duration_ms=sum(self.phases.ms.values()),
        )

    def _filled(self, decision: Decision, former: Progress | None) -> tuple[tuple[str, str], ...]:
        """The intervals that are done: of the same definition, and over when this run began."""
        same = former is not None and former.fingerprint == self.model.fingerprint and not decision.rebuild
        before = decode(former.intervals) if former and same else ()
        return encode([*before, *(i for i in decision.intervals if i[1] <= self.run.started_at)])

    def _set_progress(self, session: SparkSession, progress: Progress) -> None:
        text = literal(progress.to_json())
        session.sql(f"ALTER TABLE {self.table.quoted} SET TBLPROPERTIES ('{PROGRESS_PROPERTY}' = {text})")

    def _report(self, outcome: WriteOutcome) -> None:
        for change in outcome.drift:
            entry = {"model": self.name, **{name: getattr(change, name) for name in change.__dataclass_fields__}}
            self.drift.append(entry)
            self.run.emit("drift_detected", self.name, entry)
        for warning in outcome.warnings:
            self.warnings.append(f"{self.name}: {warning}")
        for warning in self.warnings:
            self.run.emit("warning", self.name, {"message": warning})

    def _check(self) -> None:
        with self.phases.timed("quality_tests"):
            run_checks(self.run, self.model, self._values(), self.checks)

    def _result(
        self, status: str, outcome: WriteOutcome | None = None, watermark: str | None = None
    ) -> Materialization:
        assert self.decision is not None
        metadata = self.run.lake.table(self.table) if status == "completed" else None
        return Materialization(
            model=self.name,
            status=status,
            strategy=self.settings.written_as,
            run_type=str(self.decision.run_type),
            reason=self.decision.reason,
            rows_written=outcome.rows_written if outcome else 0,
            rows_deleted=outcome.rows_deleted if outcome else 0,
            watermark=watermark,
            snapshot_id=metadata.current_snapshot_id if metadata else None,
        )

    def failed(self, error: Exception) -> Materialization:
        if not isinstance(error, TidegateError):
            error = ModelError(f"{type(error).__name__}: {error}")
        cancelled = isinstance(error, RunCancelledError)
        return Materialization(
            model=self.name,
            status="cancelled" if cancelled else "failed",
            strategy=self.settings.written_as,
            run_type=str(self.decision.run_type) if self.decision else None,
            reason=self.decision.reason if self.decision else "",
            failure_kind=str(error.kind),
            error=str(error),
            where=error.where,
            remedy=error.remedy,
        )


def _sum(outcomes: list[WriteOutcome]) -> WriteOutcome:
    return WriteOutcome(
        rows_written=sum(o.rows_written for o in outcomes),
        rows_deleted=sum(o.rows_deleted for o in outcomes),
        changed=any(o.changed for o in outcomes),
        drift=tuple(change for o in outcomes for change in o.drift),
        warnings=tuple(dict.fromkeys(warning for o in outcomes for warning in o.warnings)),
        dropped_columns=outcomes[-1].dropped_columns,
    )
