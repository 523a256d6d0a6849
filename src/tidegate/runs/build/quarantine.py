"""Quarantine in a run: the constraints by which a model refuses rows, and their results."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from tidegate.checks.check_registry import RowConstraint, row_constraints
from tidegate.compiler.compiled import CompiledModel
from tidegate.compiler.table_columns import shared_columns
from tidegate.datatypes import Column, Relation, from_json
from tidegate.planner.decide import Decision
from tidegate.quality import SAMPLES, OwnFunctions
from tidegate.quality.quarantine_marks import RefusedRows
from tidegate.results import CheckResult
from tidegate.runs.checks import kind_of_check
from tidegate.runs.context import RunContext
from tidegate.write.quarantine_table import QuarantineRules
from tidegate.write.request import BadRecords

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["constraint_results", "left_out", "sieve_of"]


def sieve_of(
    run: RunContext,
    model: CompiledModel,
    decision: Decision,
    frame: DataFrame,
    bad_records: BadRecords | None,
    functions: OwnFunctions,
) -> QuarantineRules | None:
    """None where no row can be refused."""
    constraints: tuple[RowConstraint, ...] = ()
    if model.model.settings.quarantine:
        fields = frame.schema.jsonValue()["fields"]
        columns = Relation(tuple(Column(field["name"], from_json(field["type"])) for field in fields))
        constraints = row_constraints(model.checks, columns, run.settings.project.namespace)
    if not constraints and bad_records is None:
        return None
    local = run.settings.spark.master.startswith("local")
    return QuarantineRules(
        constraints,
        functions,
        run.run_id,
        whole=_reads_all(model, decision),
        staged=model.reads_itself or not (local or model.deterministic),
        bad_records=bad_records,
        has_texts=not model.model.masks,
        shared=shared_columns(model.model),
    )


def _reads_all(model: CompiledModel, decision: Decision) -> bool:
    """Rows that were refused before and are still invalid are in the result again."""
    traits = model.model.settings.traits
    if traits.replaces_table:
        return True
    return traits.complete_result and decision.delta is None and not (model.manual or model.zones)


def left_out(run: RunContext, model: CompiledModel) -> tuple[CheckResult, ...]:
    """The results of a quarantining model's constraints where nothing is written: no row of its table breaks them."""
    if not model.model.settings.quarantine:
        return ()
    constraints = row_constraints(model.checks, model.relation, run.settings.project.namespace)
    return constraint_results(
        run.short(model.model.table), [[RefusedRows(constraint, 0) for constraint in constraints]]
    )


def constraint_results(model: str, batches: Collection[Collection[RefusedRows]]) -> tuple[CheckResult, ...]:
    """The results of the quarantining constraints over all batches. None of them can fail any more, but some could not
    be evaluated."""
    together: dict[str, list[RefusedRows]] = {}
    for batch in batches:
        for refused in batch:
            together.setdefault(refused.constraint.check.name, []).append(refused)
    return tuple(_result(model, refusals) for refusals in together.values())


def _result(model: str, refusals: list[RefusedRows]) -> CheckResult:
    check, rows = refusals[0].constraint.check, sum(refused.rows for refused in refusals)
    error = next((refused.error for refused in refusals if refused.error), None)
    samples: list[Mapping[str, object]] = [sample for refused in refusals for sample in refused.samples]
    return CheckResult(
        model=model,
        name=check.name,
        stage=str(check.stage),
        severity=str(check.severity),
        status="error" if error else "warned" if rows else "passed",
        value=None if error else rows,
        expected=refusals[0].constraint.rule.expected,
        duration_ms=0,
        samples=tuple(samples[:SAMPLES]),
        description=check.description,
        remediation=check.remediation,
        error=error,
        kind=kind_of_check(check),
        unit="row",
    )
