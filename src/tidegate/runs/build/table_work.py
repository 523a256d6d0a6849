"""Builds and checks one model's table on the branch, in a Spark session of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidegate.checks.check_values import Check, Stage
from tidegate.compiler.hidden_columns import touches_hidden_columns
from tidegate.errors import ModelError, TidegateError
from tidegate.faults import fault
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.planner.inputs import recorded_delta
from tidegate.planner.make_plan import ModelPlan
from tidegate.project.model import Materialized
from tidegate.quality import OwnFunctions
from tidegate.quality.check_answers import redact_message
from tidegate.results import CheckResult
from tidegate.runs.build.check_runner import CheckRunner
from tidegate.runs.build.contract_check import view_notes
from tidegate.runs.build.shared_changes import SharedChanges
from tidegate.runs.build.table_build import TableBuild
from tidegate.runs.builder import ModelAttempt
from tidegate.runs.reads import bound_query, checked_inputs, tables_read
from tidegate.transform import QueryInputs, explain
from tidegate.write import WriteOutcome, write_view
from tidegate.write.added_rows import added_rows, newer_snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkTableWork"]

_WRITTEN = "tidegate_written"


class SparkTableWork:
    def __init__(
        self, attempt: ModelAttempt, session: SparkSession, functions: OwnFunctions, changes: SharedChanges
    ) -> None:
        self._attempt = attempt
        self._run = attempt.run
        self._model = attempt.model
        self._table = attempt.model.model.table
        self._phases = attempt.phases
        self._session = session
        self._functions = functions
        self._changes = changes

    def build(self, facts: ModelPlan) -> WriteOutcome:
        is_view = self._model.model.settings.materialized is Materialized.VIEW
        return self._build_view(facts) if is_view else self._build_table(facts)

    def _build_table(self, facts: ModelPlan) -> WriteOutcome:
        build = TableBuild(self._attempt, facts, self._session, self._functions, self._changes)
        try:
            outcome = build.write_table()
        except TidegateError:
            raise
        except Exception as error:
            self._run.cancellation.check()
            raise build.computed.explained(error, self.explained(error)) from error
        finally:
            self._attempt.values = build.values()
            build.computed.close()
        self._attempt.constraint_results = build.constraint_results
        return outcome

    def answer(self, checks: Sequence[Check], before: TableMetadata | None) -> tuple[CheckResult, ...]:
        constrained = any(check.stage is Stage.BEFORE_WRITE for check in checks)
        written = self._written(before) if before is not None and constrained else None
        runner = CheckRunner.of(self._run, self._run.lake, self._session, self._attempt.values, self._functions)
        return runner.answer(self._model, checks, written)

    def explained(self, error: Exception) -> ModelError:
        """A Spark exception as an error for the author of the query."""
        run, model = self._run, self._model.model
        chunked = run.compiled.chunk_tables.keys() & set(self._model.sources)
        tables = (*tables_read(run, self._model), *sorted(chunked))
        inputs = QueryInputs(tuple(map(run.short, tables)), self._model.zones, self._attempt.files)
        explained = explain(error, self._attempt.sql, model.source, str(model.path), inputs)
        if touches_hidden_columns(run.compiled, self._model):
            explained.message = redact_message(explained.message)
        return explained

    def _build_view(self, facts: ModelPlan) -> WriteOutcome:
        run, name = self._run, self._run.short(self._table)
        with self._phases.timed("build_result"):
            self._attempt.sql = bound_query(run, self._model).sql
        fault("after_build", self._table)
        progress = Progress(
            run_id=run.run_id,
            fingerprint=self._model.fingerprint,
            run_type=str(facts.decision.run_type),
            strategy=self._model.model.settings.written_as,
            tables=facts.inputs.tables,
            delta=recorded_delta(facts.inputs),
            duration_ms=sum(self._phases.ms.values()),
            checks=self._model.checks_digest,
            checked=checked_inputs(run, self._model, self._attempt.values),
        )
        with self._phases.timed("iceberg_write"):
            run.emit("before_materialize", name, {})
            fault("before_write", self._table)
            properties = {PROGRESS_PROPERTY: progress.to_json()}
            write_view(self._session, run.lake, self._table, self._attempt.sql, properties)
            run.emit("after_materialize", name, {"rows_written": 0})
        fault("after_write", self._table)
        return WriteOutcome(0, 0, changed=True, warnings=view_notes(self._model))

    def _written(self, before: TableMetadata) -> str | None:
        """A view of the rows that were written since `before`; None where these are all rows, or only Iceberg can find
        them."""
        now = self._run.lake.table(self._table)
        if now is None or now.uuid != before.uuid or before.current is None:
            return None
        since = before.current.sequence_number
        if newer_snapshots(now, since):
            rows = added_rows(self._session, self._table, now, since)
        else:
            rows = self._session.sql(f"SELECT * FROM {self._table.quoted} WHERE false")
        if rows is None:
            return None
        rows.createOrReplaceTempView(_WRITTEN)
        return _WRITTEN
