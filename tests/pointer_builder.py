"""A builder without Spark: it writes metadata files and moves pointers, and no rows. For tests of a run's life.

The files of a project say what happens: a query that calls `raise_error('…')` fails, as in Spark, and every other query
gives one row. What a test needs besides is in the builder's attributes.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidegate.checks.check_values import Check
from tidegate.compiler import bind
from tidegate.compiler.compiled import CompiledModel
from tidegate.config import Settings
from tidegate.errors import FailureKind, QueryError, SparkDiedError, TidegateError
from tidegate.faults import fault
from tidegate.lake.branch_catalog import MAIN, BranchCatalog, Pointer, PointerKind
from tidegate.lake.metadata import TableMetadata, load_json
from tidegate.lake.progress import PROGRESS_PROPERTY, Progress
from tidegate.names import TableName
from tidegate.planner.cost_rule import WARM, JvmState
from tidegate.planner.decide import keeps_history
from tidegate.planner.inputs import recorded_delta, recorded_inputs
from tidegate.planner.make_plan import ModelPlan
from tidegate.project.model import Materialized
from tidegate.results import CheckResult
from tidegate.runs.build.deliveries import bronze_properties, require_unchanged, take_files
from tidegate.runs.builder import ModelAttempt
from tidegate.runs.checks import kind_of_check
from tidegate.runs.context import RunContext
from tidegate.runs.reads import checked_inputs
from tidegate.spark.work import Work
from tidegate.write.request import WriteOutcome

_RAISES = re.compile(r"raise_error\('([^']*)'\)")
_COLUMN = [{"id": 1, "name": "x", "required": False, "type": "int"}]

Action = Callable[[RunContext, CompiledModel], None]


@dataclass
class PointerBuilder:
    """Counts and scripts by the models' short names."""

    while_building: dict[str, Action] = field(default_factory=dict)
    """Called in the middle of a build: it may raise, wait, cancel, or publish something of its own."""

    failing_checks: dict[str, int] = field(default_factory=dict)
    """Checks, by name, that find so many rows; the others find none."""

    unanswered_checks: dict[str, str] = field(default_factory=dict)
    """Checks, by name, that cannot be run, and why."""

    unchanged: set[str] = field(default_factory=set)
    """Models whose result differs in no row from what their table has: no snapshot is written."""

    rows: dict[str, int] = field(default_factory=dict)
    """How many rows a model writes: one, unless it is named here. Each takes 100 bytes."""

    quarantined: dict[str, int] = field(default_factory=dict)
    """How many rows a model refuses."""

    builds: list[str] = field(default_factory=list)
    """Every build that began, in order."""

    answered: list[tuple[str, str]] = field(default_factory=list)
    """Model and check, for every check that was answered before the publish."""

    most_restarts: int = 2
    died: bool = False
    why: str = "killed by signal 9"
    opened: int = 0
    work: Work | None = None
    """What it was opened for."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, settings: Settings, report: Callable[[str], None], work: Work) -> PointerBuilder:
        self.opened += 1
        self.work = work
        return self

    def die(self, run: RunContext, model: CompiledModel) -> None:
        """An action: the builder dies under this model."""
        self.died = True
        raise ConnectionError("Py4JNetworkError")

    def died_of(self, error: BaseException) -> bool:
        return self.died

    def restart(self) -> bool:
        with self._lock:
            if self.died and self.most_restarts > 0:
                self.most_restarts -= 1
                self.died = False
            return not self.died

    def error(self, message: str) -> TidegateError:
        error = SparkDiedError(message)
        error.kind = FailureKind.TRANSIENT
        return error

    @contextmanager
    def open(self, attempt: ModelAttempt) -> Iterator[PointerTableWork]:
        yield PointerTableWork(self, attempt)

    def answer_published(
        self, run: RunContext, model: CompiledModel, checks: Sequence[Check]
    ) -> tuple[CheckResult, ...]:
        return tuple(self.result(run.short(model.model.table), check) for check in checks)

    @property
    def jvm_state(self) -> JvmState:
        return WARM

    def release(self) -> None:
        pass

    def session_factory(self, catalog: BranchCatalog) -> None:
        return None

    def result(self, model: str, check: Check) -> CheckResult:
        rows, error = self.failing_checks.get(check.name, 0), self.unanswered_checks.get(check.name)
        status = "error" if error else "passed" if not rows else "failed" if check.severity == "error" else "warned"
        return CheckResult(
            model=model,
            name=check.name,
            stage=str(check.stage),
            severity=str(check.severity),
            status=status,
            value=None if error else rows,
            expected="0 rows",
            duration_ms=0,
            remediation=check.remediation,
            error=error,
            kind=kind_of_check(check),
            unit="row",
        )


class PointerTableWork:
    def __init__(self, builder: PointerBuilder, attempt: ModelAttempt) -> None:
        self._builder = builder
        self._run = attempt.run
        self._model = attempt.model
        self._phases = attempt.phases
        self._values = attempt.values
        self._table = self._model.model.table
        self._name = self._run.short(self._table)

    def build(self, facts: ModelPlan) -> WriteOutcome:
        run, builder = self._run, self._builder
        builder.builds.append(self._name)
        with self._phases.timed("build_result"):
            sql = bind(run.compiled, self._table, self._values).sql
            if self._name in builder.while_building:
                builder.while_building[self._name](run, self._model)
            if raised := _RAISES.search(sql):
                raise QueryError(raised[1], where=str(self._model.model.path))
        fault("after_build", self._table)
        with self._phases.timed("iceberg_write"):
            run.emit("before_materialize", self._name, {"phase": "iceberg_write"})
            fault("before_write", self._table)
            outcome = self._write(facts, sql)
            fault("after_write", self._table)
            run.emit("after_materialize", self._name, {"rows_written": outcome.rows_written})
        return outcome

    def answer(self, checks: Sequence[Check], before: TableMetadata | None) -> tuple[CheckResult, ...]:
        self._builder.answered += [(self._name, check.name) for check in checks]
        return tuple(self._builder.result(self._name, check) for check in checks)

    def _write(self, facts: ModelPlan, sql: str) -> WriteOutcome:
        run = self._run
        is_view = self._model.model.settings.materialized is Materialized.VIEW
        changed = self._name not in self._builder.unchanged or run.lake.pointer(self._table) is None
        run.lake.create_namespace(self._table)
        if refused := self._builder.quarantined.get(self._name, 0):
            self._commit(self._table.quarantine, refused)
        if is_view:
            progress = {PROGRESS_PROPERTY: self._progress(facts, {}).to_json()}
            place = self._place()
            run.lake.restore(self._table, written(None, place, PointerKind.VIEW, sql=sql, properties=progress))
            return WriteOutcome(0, 0, changed=True)
        rows = self._builder.rows.get(self._name, 1)
        if changed:
            self._commit(self._table, rows)
        root, files = run.settings.landing.root, {z: state.fresh.all for z, state in facts.inputs.zones.items()}
        require_unchanged(files, root)
        metadata = run.lake.table(self._table)
        assert metadata is not None
        zones = take_files(files, {}, facts.inputs, root, metadata.table_location, run.run_id, run.started_at)
        recorded = bronze_properties(self._model.model.stage, metadata, files, facts.inputs, root, rows, rebuilt=False)
        fault("before_progress", self._table)
        run.lake.set_progress(self._table, self._progress(facts, zones), recorded)
        fault("after_progress", self._table)
        return WriteOutcome(rows if changed else 0, 0, changed=changed, rows_quarantined=refused)

    def _commit(self, table: TableName, rows: int) -> None:
        run = self._run
        summary = {"tidegate.run-id": run.run_id, "tidegate.model": str(self._table)}
        now = run.lake.pointer(table)
        upon = now if now is not None and now.kind is PointerKind.TABLE else None
        place = self._place(table)
        run.lake.restore(table, written(upon, place, rows=rows, summary=summary))

    def _progress(self, facts: ModelPlan, zones: Mapping[str, Any]) -> Progress:
        run, settings = self._run, self._model.model.settings
        return Progress(
            run_id=run.run_id,
            fingerprint=self._model.fingerprint,
            run_type=str(facts.decision.run_type),
            strategy=settings.written_as,
            keeps_history=keeps_history(self._model),
            tables=facts.inputs.tables
            if settings.materialized is Materialized.VIEW
            else recorded_inputs(self._model, facts.inputs, {}),
            delta=recorded_delta(facts.inputs),
            zones=zones,
            rows=1,
            checks=self._model.checks_digest,
            checked=checked_inputs(run, self._model, self._values),
        )

    def _place(self, table: TableName | None = None) -> Path:
        return self._run.settings.lake.warehouse / str(table or self._table)


def published(catalog: BranchCatalog, branch: str, table: TableName, place: Path, rows: int = 1) -> None:
    """Another process commits `rows` rows to the table on main, in the name of a run called `branch`."""
    catalog.create_branch(branch)
    summary = {"tidegate.run-id": branch, "tidegate.model": str(table)}
    catalog.restore(branch, table, written(catalog.pointer(MAIN, table), place, rows=rows, summary=summary))
    catalog.publish(branch, [table])
    catalog.drop_branch(branch)


def written(
    upon: Pointer | None,
    place: Path,
    kind: PointerKind = PointerKind.TABLE,
    *,
    rows: int = 0,
    sql: str = "",
    summary: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
) -> Pointer:
    """A new metadata file. `upon`: the one that it follows. `rows`: 0 makes no snapshot."""
    identity = uuid.uuid4()
    kind = kind if upon is None else upon.kind
    data = load_json(upon.location) if upon is not None else _empty(kind, place, identity, sql)
    data = {**data, "properties": {**data["properties"], **(properties or {})}}
    if rows:
        data = _with_snapshot(data, place, identity, rows, summary or {})
    path = place / "metadata" / f"{identity.hex}.metadata.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
    return Pointer(kind, f"file:{path}")


def _empty(kind: PointerKind, place: Path, identity: uuid.UUID, sql: str) -> dict[str, Any]:
    schema = {"type": "struct", "schema-id": 0, "fields": _COLUMN}
    common = {"location": f"file:{place}", "schemas": [schema], "properties": {}}
    if kind is PointerKind.VIEW:
        text = {"type": "sql", "sql": sql, "dialect": "spark"}
        version = {"version-id": 1, "timestamp-ms": 0, "schema-id": 0, "summary": {}, "representations": [text]}
        return {
            **common,
            "view-uuid": str(identity),
            "format-version": 1,
            "current-version-id": 1,
            "versions": [{**version, "default-namespace": []}],
        }
    return {
        **common,
        "table-uuid": str(identity),
        "format-version": 3,
        "last-sequence-number": 0,
        "current-schema-id": 0,
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "next-row-id": 0,
        "snapshots": [],
    }


def _with_snapshot(
    data: dict[str, Any], place: Path, identity: uuid.UUID, rows: int, summary: Mapping[str, str]
) -> dict[str, Any]:
    number, parent = identity.int >> 65, data.get("current-snapshot-id")
    total = rows + (int(data["snapshots"][-1]["summary"]["total-records"]) if data["snapshots"] else 0)
    snapshot = {
        "snapshot-id": number,
        **({} if parent is None else {"parent-snapshot-id": parent}),
        "sequence-number": data["last-sequence-number"] + 1,
        "timestamp-ms": 1_700_000_000_000 + data["last-sequence-number"],
        "manifest-list": f"file:{place}/metadata/snap-{number}.avro",
        "schema-id": 0,
        "first-row-id": data["next-row-id"],
        "added-rows": rows,
        "summary": {
            "operation": "append",
            "added-records": str(rows),
            "total-records": str(total),
            "added-files-size": str(100 * rows),
            **summary,
        },
    }
    return {
        **data,
        "last-sequence-number": snapshot["sequence-number"],
        "next-row-id": data["next-row-id"] + rows,
        "current-snapshot-id": number,
        "snapshots": [*data["snapshots"], snapshot],
        "refs": {"main": {"snapshot-id": number, "type": "branch"}},
    }
