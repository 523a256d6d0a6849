"""A decided model → rows and progress in its table on the branch: from all rows, from changes alone, by intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from tidegate.compiler.compiled import BoundQuery, FunctionRead, RunValues
from tidegate.compiler.hidden_columns import hidden_columns, touches_hidden_columns
from tidegate.errors import FailureKind, QueryError, TidegateError
from tidegate.faults import fault
from tidegate.lake.branch_catalog import Pointer
from tidegate.lake.metadata import TableMetadata
from tidegate.lake.progress import Order, Progress, TableInput, ZoneInput
from tidegate.names import TableName, quote
from tidegate.planner.arrival_order import Arrival, by_arrival, keeps_order, order_after
from tidegate.planner.decide import Decision, RunType, keeps_history
from tidegate.planner.delta_rule import has_foreign_rows, used_columns
from tidegate.planner.inputs import recorded_delta, recorded_inputs, with_discarded
from tidegate.planner.intervals import Interval, decode, encode
from tidegate.planner.make_plan import ModelPlan
from tidegate.planner.model_traits import unique_after
from tidegate.planner.readers import as_difference
from tidegate.planner.row_keys import proven_since, row_key
from tidegate.quality import OwnFunctions
from tidegate.quality.check_answers import redact_message
from tidegate.results import CheckResult
from tidegate.runs.build.contract_check import check_result, check_table
from tidegate.runs.build.deliveries import (
    bronze_properties,
    delivery_warnings,
    require_unchanged,
    take_files,
    zone_batches,
)
from tidegate.runs.build.python_build import PythonBuild
from tidegate.runs.build.quarantine import constraint_results, sieve_of
from tidegate.runs.build.query_build import QueryBuild, SqlBuild
from tidegate.runs.build.result_frame import BuildStamp, masked_frame
from tidegate.runs.build.shared_changes import ReaderChanges, SharedChanges
from tidegate.runs.build.silver_build import write_silver
from tidegate.runs.build.verify import can_be_verified, verification_due, verify
from tidegate.runs.builder import ModelAttempt
from tidegate.runs.called_functions import function_calls, log_of_code
from tidegate.runs.damage import is_damaged
from tidegate.runs.reads import bound_query, checked_inputs, tables_read_by_checks
from tidegate.runs.result import UNREACHED, VERIFIED
from tidegate.spark.spark_errors import read_failure
from tidegate.transform import Built, Sources
from tidegate.transform.changed_rows import bind_images, result_sql, touched_keys
from tidegate.transform.delta_steps import delta_steps
from tidegate.transform.delta_views import with_delta_views
from tidegate.write import WriteOutcome, WriteRequest, write
from tidegate.write.commits import partly_written
from tidegate.write.few_rows import FEW_ROWS, for_few_rows
from tidegate.write.quarantine_table import write_with_quarantine
from tidegate.write.request import BadRecords, summed
from tidegate.write.touched_regions import write_region

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.compiler.sql.row_by_row import Obstacle
    from tidegate.python_models.function_views import FunctionViews
    from tidegate.quality.quarantine_marks import RefusedRows

__all__ = ["TableBuild"]

_OF_THE_PLACE = (
    FailureKind.AUTH_FAILED,
    FailureKind.CANCELLED,
    FailureKind.CONNECTION_FAILED,
    FailureKind.QUOTA_EXCEEDED,
    FailureKind.TIMEOUT,
    FailureKind.TRANSIENT,
)
"""Failures that another query would have too."""


class TableBuild:
    """One try at one table."""

    def __init__(
        self,
        attempt: ModelAttempt,
        facts: ModelPlan,
        session: SparkSession,
        functions: OwnFunctions,
        changes: SharedChanges,
    ) -> None:
        self.attempt = attempt
        self.run = attempt.run
        self.model = attempt.model
        self.phases = attempt.phases
        self.functions = functions
        self.changes = changes
        self.reader_changes: ReaderChanges | None = None
        self.facts = facts
        self.session = session
        self.stamp = BuildStamp(session, self.model.model.source, self.run.clock)
        self.table = self.model.model.table
        self.settings = self.model.model.settings
        self.name = self.run.short(self.table)
        self.former = self.run.lake.progress(self.table)
        self.jvm = self.run.builder.jvm_state
        self.verified = False
        self.aside_ms = 0
        """Time spent on work that did not build the table."""

        self.notes: list[str] = []
        self.refused: list[tuple[RefusedRows, ...]] = []
        self.query: BoundQuery | None = None
        self.computed: QueryBuild = PythonBuild(self) if self.model.code else SqlBuild(self)
        self.arrival: Arrival | None = None
        self.obstacle: Obstacle | None = None
        self._functions: FunctionViews | None = None

    @property
    def decision(self) -> Decision:
        assert self.attempt.decision is not None
        return self.attempt.decision

    def write_table(self) -> WriteOutcome:
        """Rows and progress. Whatever is raised, the caller restores the table."""
        self.attempt.watermark = self._read_watermark()
        self.notes += self.decision.warnings
        arrival = by_arrival(self.model, self.facts.inputs, self._bound)
        self.arrival, self.obstacle = (arrival, None) if isinstance(arrival, Arrival) else (None, arrival)
        if self._is_unreached():
            return self._skipped()
        outcome = self._from_changes_if_they_can() if self.decision.delta else None
        zones: Mapping[str, ZoneInput] = {}
        if outcome is None and self.model.model.is_silver:
            outcome = write_silver(self)
        elif outcome is None:
            outcome, zones = self._from_rows()
        self.notes += check_table(self.run, self.model, self.session, self._metadata())
        with self.phases.timed("iceberg_write"):
            self._set_progress(outcome, zones)
            self.run.emit("after_materialize", self.name, {"rows_written": outcome.rows_written})
        return replace(outcome, warnings=(*dict.fromkeys(self.notes), *outcome.warnings))

    @property
    def constraint_results(self) -> tuple[CheckResult, ...]:
        """Of the constraints that the result was checked against, because rows that break them go to quarantine."""
        results = constraint_results(self.name, self.refused)
        if not touches_hidden_columns(self.run.compiled, self.model):
            return results
        return tuple(replace(one, error=redact_message(one.error)) if one.error else one for one in results)

    def values(self, interval: Interval | None = None) -> RunValues:
        exists = self.run.lake.table(self.table) is not None
        return RunValues(
            run_started_at=self.run.started_at.isoformat(),
            incremental=exists and not self.decision.rebuild,
            watermark_value=self.attempt.watermark,
            start_date=interval[0].strftime("%Y-%m-%d %H:%M:%S") if interval else None,
            end_date=interval[1].strftime("%Y-%m-%d %H:%M:%S") if interval else None,
            vars=self.run.vars,
        )

    def _from_rows(self) -> tuple[WriteOutcome, Mapping[str, ZoneInput]]:
        """The whole query, or as much of it as its strategy reads, once per interval."""
        run, root = self.run, self.run.settings.landing.root
        intervals: tuple[Interval | None, ...] = self.decision.intervals or (None,)
        if self.settings.traits.by_intervals and not self.decision.intervals:
            raise QueryError(
                "No interval is complete yet",
                where=str(self.model.model.path),
                remedy="Set first_partition to an earlier time, or ask for a range with --from and --to.",
            )
        dropped = dict(self.former.dropped_columns) if self.former else {}
        outcomes: list[WriteOutcome] = []
        for number, interval in enumerate(intervals):
            run.cancellation.check()
            rebuilt = self.decision.rebuild and number == 0
            with self.phases.timed("build_result"):
                run.emit("phase", self.name, {"phase": "build_result", "step": number + 1, "steps": len(intervals)})
                built = self.computed.built(interval, rebuilt)
            fault("after_build", self.table)
            if number > 0:  # the first interval brings the bad records of all: they have no time
                built = replace(built, bad_records=None)
            with partly_written(self.session, if_any=number + 1 < len(intervals)):
                outcomes.append(self.computed.write(built, interval, dropped, rebuilt))
            dropped = dict(outcomes[-1].dropped_columns)
        with self.phases.timed("iceberg_write"):
            own, inputs, files = self._metadata(), self.facts.inputs, built.zone_files
            require_unchanged(files, root)
            location = own.table_location
            zones = take_files(files, built.zone_columns, inputs, root, location, run.run_id, run.started_at)
            if zones:
                fault("after_consumed", self.table)
            outcome, stage = summed(outcomes), self.model.model.stage
            rows = outcome.rows_written
            recorded = bronze_properties(stage, own, files, inputs, root, rows, rebuilt=self.decision.rebuild)
        return replace(outcome, properties={**outcome.properties, **recorded}), zones

    def _is_unreached(self) -> bool:
        """Whether no changed row reaches the query, so that the table is as its query gives it, and there is nothing
        else for which it has to be built."""
        run, model, decision = self.run, self.model, self.decision
        if self.former is None or not (decision.from_changes or decision.skips_unreached):
            return False
        if self.arrival is not None:
            return False  # its query reads more of a row than the columns that it names
        with self.phases.timed("build_result"):
            self.reader_changes = self.changes.of(self.attempt, self.facts)
            if not self.reader_changes.may_be_unreached or self.former.checks != model.checks_digest:
                return False
            if self._is_verified_now or tables_read_by_checks(run, model, self.values()):
                return False
            try:
                return not self.reader_changes.reach(self.session)
            except Exception:
                run.cancellation.check()
                return False  # its own build knows what to do about the failure

    def _skipped(self) -> WriteOutcome:
        """The table stays, and records that it is up to date with its inputs."""
        self.attempt.decision = replace(self.decision, run_type=RunType.SKIP, reason=UNREACHED)
        dropped = self.former.dropped_columns if self.former else {}
        outcome = WriteOutcome(0, 0, changed=False, dropped_columns=dropped)
        with self.phases.timed("iceberg_write"):
            self._set_progress(outcome, {})
        return outcome

    def _from_changes_if_they_can(self) -> WriteOutcome | None:
        """A query may fail on a changed row that it would leave out among all rows; then all rows are read."""
        before = {table: self.run.lake.pointer(table) for table in (self.table, self.table.quarantine)}
        try:
            return self._from_changes()
        except TidegateError:
            raise
        except Exception as error:
            self.run.cancellation.check()
            failure = read_failure(error)
            if failure.kind in _OF_THE_PLACE:
                raise
            for table, pointer in before.items():
                if self.run.lake.pointer(table) != pointer:
                    self.run.lake.restore(table, pointer)
            self.refused.clear()
            why = (
                redact_message(failure.message)
                if touches_hidden_columns(self.run.compiled, self.model)
                else failure.message
            )
            self.notes.append(f"built from all rows, because its changes could not be read: {why}")
            self.turn_to_all_rows("its changes could not be read")
            return None

    def _from_changes(self) -> WriteOutcome | None:
        """Only what the changes touch; None where that turns out to be most of the table."""
        run, decision, chunked = self.run, self.decision, self.run.compiled.chunk_tables
        assert decision.delta is not None
        run.emit("phase", self.name, {"phase": "build_result", "step": 1, "steps": 1})
        self.attempt.sql = decision.delta.result
        with ExitStack() as stack:
            with self.phases.timed("build_result"):
                delta = with_delta_views(self.session, decision.delta, chunked)
                shared = self.reader_changes.images(delta.reads) if self.reader_changes else {}
                stack.enter_context(bind_images(self.session, run.lake, delta.reads, decision.changes, chunked, shared))
                few = not self._may_be_most(sum(change.rows for change in decision.changes.values()))
                with for_few_rows(self.session):
                    doubt = stack.enter_context(delta_steps(self.session, delta, self.table, self._metadata()))
                    if doubt is None:
                        touched = stack.enter_context(touched_keys(self.session, delta, few=few))
            if doubt is not None:
                self.turn_to_all_rows(doubt)
                return None
            if touched.rows is not None and self._may_be_most(touched.rows):
                self.turn_to_all_rows("most of it is touched")
                return None
            self.attempt.sql = result_sql(delta, touched.nulls)
            fault("after_build", self.table)
            before = run.lake.pointer(self.table)
            dropped = dict(self.former.dropped_columns) if self.former else {}
            request = self.request(self.session.sql(self.attempt.sql), dropped=dropped)
            if not decision.complete:
                outcome: WriteOutcome | None = self.write_request(request)
            elif self.settings.traits.keeps_versions:
                outcome = self.write_request(replace(request, touched=touched.keys))
            else:
                outcome = self.write_region(
                    replace(request, touched=touched.keys), unique=decision.delta.unique, nulls=touched.nulls
                )
            if outcome is None:
                self.turn_to_all_rows("it cannot be written in parts")
                return None
        return self.verified_outcome(outcome, before)

    def turn_to_all_rows(self, why: str) -> None:
        self.attempt.decision = self.decision.from_all_rows(why, self.model)
        self.aside_ms = self._spent_ms

    @property
    def _spent_ms(self) -> int:
        return sum(self.phases.ms.values())

    def _may_be_most(self, touched: int) -> bool:
        """Whether reading all rows is faster. A few rows never count as most, however small the table is."""
        return touched > 10_000 and touched * 2 > self._metadata().total_records and not self._always

    @property
    def _always(self) -> bool:
        return self.run.request.deltas == "always" or self.settings.deltas == "always"

    def verified_outcome(self, outcome: WriteOutcome, former: Pointer | None) -> WriteOutcome:
        """The full build's rows, where the table differs from them: written to the table as `former` has it."""
        if not self._is_verified_now:
            return outcome
        before = self._spent_ms
        with self.phases.timed("build_result"):
            frame = self.computed.all_rows()
            verification = verify(self.request(frame))
        self.verified = True
        if verification.equal:
            self.aside_ms = self._spent_ms - before
            self.attempt.decision = replace(self.decision, reason=f"{self.decision.reason}; {VERIFIED}")
            return outcome
        self.turn_to_all_rows("verification failed")
        self.notes.append(verification.message)
        self.run.lake.restore(self.table, former)
        dropped = dict(self.former.dropped_columns) if self.former else {}
        return self.write_request(self.request(frame, dropped=dropped))

    @property
    def _is_verified_now(self) -> bool:
        every, count = self.run.settings.run.verify_every, (self.former.deltas if self.former else 0) + 1
        return can_be_verified(self.model) and verification_due(self.run.options.verify, every, count)

    def sources(self, inserted_since: Mapping[str, TableInput], forget: bool = False) -> Sources:
        """What the names in its queries refer to. `inserted_since`: tables of which only new rows are read."""
        run, inputs = self.run, self.facts.inputs
        return Sources(
            table=self.table,
            lake=run.lake,
            forget=forget,
            zones=zone_batches(inputs, self.decision, run.settings.landing.root, run.run_id, run.started_at),
            inserted_since=inserted_since,
            keys=inputs.keys,
            in_order=self.reads_in_order,
            delta=run.compiled.chunk_tables,
            function_view=self.function_view,
        )

    def function_view(self, read: FunctionRead) -> str:
        if self._functions is None:
            from tidegate.python_models.function_views import FunctionViews  # few models call one

            calls = function_calls(self.run, lambda line: self.run.emit("phase", self.name, log_of_code(line)))
            self._functions = FunctionViews(calls, self.session, self.time_left)
        return self._functions.view(read)

    def time_left(self) -> float | None:
        return self.attempt.deadline.left(self.run.clock.monotonic())

    def take_notes(self, *inputs: Built) -> None:
        self.attempt.files = tuple(file for built in inputs for files in built.zone_files.values() for file in files)
        hides = touches_hidden_columns(self.run.compiled, self.model)
        notes = [redact_message(note) if hides else note for built in inputs for note in built.notes]
        self.notes += [*delivery_warnings(self.facts.inputs, self.decision), *notes]

    def request(
        self,
        frame: DataFrame,
        interval: Interval | None = None,
        dropped: Mapping[str, str] | None = None,
        rebuild: bool = False,
    ) -> WriteRequest:
        run, readers = self.run, self.run.readers.get(self.table, ())
        check_result(self.model, frame)
        self.stamp.describe(frame.columns)
        return WriteRequest(
            session=self.session,
            lake=run.lake,
            table=self.table,
            result=masked_frame(frame, self.model.model.masks, str(self.model.model.path)),
            settings=self.settings,
            run_started_at=run.started_at,
            complete=self.decision.complete,
            rebuild=rebuild,
            allow_deletes=run.options.allow_deletes,
            interval=interval,
            dropped_columns=dropped or {},
            dropped_column_grace=run.settings.run.dropped_column_grace,
            # A table that is rebuilt because a file of it is gone is not what it was, though no row differs.
            has_readers=bool(readers) and not is_damaged(run, self.table),
            as_difference=as_difference(self.model, replace(self.facts, decision=self.decision), readers, run.lake),
            hidden=hidden_columns(run.compiled, self.table, frame.columns),
            profiled=run.settings.run.profiles,
            stamp=self.stamp,
            expected_rows=max((m.total_records for m in self.facts.inputs.metadata.values()), default=0),
            reads_few=self._reads_few,
            in_order=self.reads_in_order,
            arrival=self.arrival.unknown if self.arrival else None,
            obstacle=self.obstacle,
        )

    @property
    def _reads_few(self) -> bool:
        """Whether the query reads tables of the lake only, all of them small."""
        inputs, sizes = self.facts.inputs, [table.total_records for table in self.facts.inputs.metadata.values()]
        elsewhere = self.model.code or self.model.functions or inputs.zones or inputs.untracked or inputs.delta
        return bool(sizes) and max(sizes) <= FEW_ROWS and not elsewhere

    @property
    def reads_in_order(self) -> bool:
        """Whether landing files are read and staged in the order of their arrival. Whether the rows of the result still
        stand in it, so that a reader may rely on it, is for `keeps_order` to say, of the query."""
        return self.settings.traits.keeps_arrival_order and bool(self.model.zones)

    def write_request(self, request: WriteRequest, bad_records: BadRecords | None = None) -> WriteOutcome:
        with self.phases.timed("iceberg_write"):
            self.run.emit("before_materialize", self.name, {"phase": "iceberg_write"})
            sieve = sieve_of(self.run, self.model, self.decision, request.result, bad_records, self.functions)
            fault("before_write", self.table)
            if sieve is None:
                outcome = write(request)
            else:
                outcome, refused = write_with_quarantine(request, sieve)
                self.refused.append(refused)
            fault("after_write", self.table)
            return outcome

    def write_region(self, request: WriteRequest, *, unique: bool, nulls: bool | None) -> WriteOutcome | None:
        with self.phases.timed("iceberg_write"):
            self.run.emit("before_materialize", self.name, {"phase": "iceberg_write"})
            fault("before_write", self.table)
            outcome = write_region(request, unique=unique, nulls=nulls)
            fault("after_write", self.table)
            return outcome

    def _read_watermark(self) -> str | None:
        column = self.settings.watermark_column
        if not self.model.uses_watermark or column is None or self.decision.rebuild or self.former is None:
            return None
        query = f"SELECT CAST(max({quote(column)}) AS STRING) AS w FROM {self.table.quoted}"
        row = self.session.sql(query).first()
        return str(row["w"]) if row is not None and row["w"] is not None else None

    def _set_progress(self, outcome: WriteOutcome, zones: Mapping[str, ZoneInput]) -> None:
        progress = self._progress(outcome, zones)
        fault("before_progress", self.table)
        self.run.lake.set_progress(self.table, progress, outcome.properties)
        fault("after_progress", self.table)

    def _progress(self, outcome: WriteOutcome, zones: Mapping[str, ZoneInput]) -> Progress:
        facts, decision, former = self.facts, self.decision, self.former
        metadata = self._metadata()
        used = {} if self.model.opaque or self.arrival else used_columns(facts.inputs, self._bound())
        run = self.run
        took = self._spent_ms - self.aside_ms
        full_ms = max(took - round(self.jvm.longer * 1000), took // 4)  # as a JVM takes that has built before
        from_changes = decision.from_changes or decision.run_type is RunType.SKIP
        whole = not from_changes and (decision.complete or self.settings.traits.replaces_table)
        rebuilt = decision.rebuild or former is None
        rows = sum(metadata.total_records for metadata in facts.inputs.metadata.values())
        key = row_key(self.model, facts.inputs, metadata, self._bound)
        progress = Progress(
            run_id=self.run.run_id,
            fingerprint=former.fingerprint if decision.replay and former else self.model.fingerprint,
            run_type=str(decision.run_type),
            strategy=self.settings.written_as,
            keeps_history=keeps_history(self.model),
            tables=self._read_tables(used),
            delta=former.delta if decision.replay and former else recorded_delta(facts.inputs),
            zones=zones,
            watermark=self.attempt.watermark,
            intervals=self._filled(),
            dropped_columns=outcome.dropped_columns,
            rows=outcome.rows_written,
            duration_ms=took,
            snapshot_id=metadata.table_input().snapshot_id,
            full_ms=full_ms if whole else former.full_ms if former else 0,
            full_rows=rows if whole else former.full_rows if former else 0,
            delta_factor=self._delta_factor(took),
            deltas=0 if not from_changes or self.verified else (former.deltas if former else 0) + 1,
            unique=unique_after(self.model, rebuilt, () if has_foreign_rows(metadata) or not former else former.unique),
            order=self._order(metadata, rebuilt),
            key=key.columns,
            proven_since=proven_since(metadata, key, former, whole=not from_changes),
            functions={read.key: run.versions[read.key] for read in self.model.functions if read.key in run.versions},
            checks=self.model.checks_digest,
            checked=checked_inputs(self.run, self.model, self.values()),
        )
        if decision.run_type is not RunType.SKIP or former is None:
            return progress
        return replace(progress, run_type=former.run_type, rows=former.rows, duration_ms=former.duration_ms)

    def _order(self, metadata: TableMetadata, rebuilt: bool) -> Order | None:
        if not keeps_order(self.model, self._bound):
            return None
        return order_after(metadata, self.former, self.run.run_id, rebuilt=rebuilt)

    def _bound(self) -> BoundQuery:
        return self.query or bound_query(self.run, self.model)

    def _read_tables(self, used: Mapping[TableName, frozenset[str] | None]) -> Mapping[str, TableInput]:
        inputs, former = self.facts.inputs, self.former
        if self.decision.replay and former is not None:
            return former.tables
        tables = recorded_inputs(self.model, inputs, used)
        if not self.model.model.takes_new_rows or former is None or self.decision.rebuild:
            return tables
        return with_discarded(tables, former.tables, inputs.metadata)

    def _delta_factor(self, took_ms: int) -> float:
        """The factor for the next estimate of this kind; old outliers lose their weight."""
        expected = self.decision.estimate.seconds
        if self.decision.run_type is RunType.SKIP or (self.decision.delta and not self.jvm.knows_deltas):
            return self.former.delta_factor if self.former else 1.0
        if self.decision.delta is None or not expected:
            return math.sqrt(self.former.delta_factor) if self.former else 1.0
        former = self.former.delta_factor if self.former else 1.0
        return round(former * took_ms / 1000 / expected, 3)

    def _filled(self) -> tuple[tuple[str, str], ...]:
        """The intervals that are done: of the same definition, and over when this run began."""
        former, decision = self.former, self.decision
        same = former is not None and former.fingerprint == self.model.fingerprint and not decision.rebuild
        before = decode(former.intervals) if former and same else ()
        return encode([*before, *(i for i in decision.intervals if i[1] <= self.run.started_at)])

    def _metadata(self) -> TableMetadata:
        metadata = self.run.lake.table(self.table)
        assert metadata is not None
        return metadata
