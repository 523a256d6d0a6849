"""Runs the checks of one model's table, on a branch or on main."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tidegate.checks.check_parameters import Mistake
from tidegate.checks.check_registry import rule_of
from tidegate.checks.check_values import Check, CheckRule, FunctionRule, GroupRule, QueryRule, RowRule, Stage
from tidegate.compiler import bind_test
from tidegate.compiler.compiled import Compiled, CompiledModel, RunValues
from tidegate.compiler.hidden_columns import hidden_columns, hidden_in_query
from tidegate.datatypes import Relation
from tidegate.errors import FailureKind, TidegateError
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import Snapshot, TableMetadata
from tidegate.lake.view import BranchView
from tidegate.names import TableName
from tidegate.problems import Severity
from tidegate.quality import CheckAnswer, CheckQuery, OwnFunctions, evaluate_checks
from tidegate.quality.check_answers import redact_message
from tidegate.quality.file_proof import FileProof
from tidegate.results import CheckResult
from tidegate.runs.checks import kind_of_check
from tidegate.runs.damage import missing_file_behind
from tidegate.runs.reads import tables_read_by_check
from tidegate.transform.delta_views import delta_views
from tidegate.write.few_rows import for_small_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidegate.runs.context import RunContext

__all__ = ["CheckRunner", "former_version"]

_BY_KEY = frozenset({"composite_unique", "primary_key", "unique", "unique_expr"})
"""A key can break these only if one of its rows was written."""

_BY_ROW = frozenset({"references", "relationships"})
"""Each row passes or fails these on its own, although other rows must be read."""

_RUN_ID = "tidegate.run-id"


def former_version(metadata: TableMetadata | None) -> int | None:
    """The snapshot that the run before the last one to change rows left behind."""
    if metadata is None or metadata.last_change is None:
        return None
    last = metadata.last_change
    older = sorted(metadata.snapshots.values(), key=lambda s: s.sequence_number, reverse=True)
    return next((s.id for s in older if s.sequence_number < last.sequence_number and _other_run(s, last)), None)


def _other_run(snapshot: Snapshot, last: Snapshot) -> bool:
    return snapshot.summary.get(_RUN_ID) != last.summary.get(_RUN_ID)


class _Unfit(CheckAnswer):
    """The check does not fit the type of a column. Its message has only names and types, which are never hidden."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class CheckRunner:
    """Runs checks as SQL queries. `lake`: the branch that `session` reads. `functions`: those of the project's own
    checks."""

    compiled: Compiled
    lake: BranchView
    session: SparkSession
    values: RunValues
    functions: OwnFunctions
    cancelled: Callable[[], bool] = lambda: False

    @classmethod
    def of(
        cls, run: RunContext, lake: BranchView, session: SparkSession, values: RunValues, functions: OwnFunctions
    ) -> CheckRunner:
        return cls(
            run.compiled,
            lake,
            session,
            values,
            functions,
            cancelled=lambda: run.cancellation.requested,
        )

    def answer(
        self,
        model: CompiledModel,
        checks: Sequence[Check],
        written: str | None = None,
    ) -> tuple[CheckResult, ...]:
        """A result per check. `written`: a view of the rows that this run wrote, None where all are."""
        if not checks:
            return ()
        table = model.model.table
        metadata = self.lake.metadata(table)
        columns = relation_of(metadata.fields) if metadata is not None else Relation(())
        questions = [self._question(model, check, columns, written) for check in checks]
        hidden = self._hidden(table, questions, [column.name for column in columns.columns])
        former = former_version(metadata) if isinstance(metadata, TableMetadata) else None
        asked = [one for one in questions if isinstance(one, CheckQuery)]
        # A view, and a query of its own, may read other tables, of any size.
        few = isinstance(metadata, TableMetadata) and not any(isinstance(one.form, QueryRule) for one in asked)
        with for_small_tables(self.session, self.lake, table) if few else nullcontext():
            answers = evaluate_checks(
                self.session,
                table.quoted,
                asked,
                past=None if former is None else f"{table.quoted} VERSION AS OF {former}",
                hidden=hidden,
                keys=model.model.settings.unique_key,
                timeout=self.compiled.settings.run.test_timeout,
                cancelled=self.cancelled,
                functions=self.functions,
                proven=FileProof(metadata).proves,
            )
        name = table.short(self.compiled.namespace)
        given = iter(answers)
        results = [
            _result(name, check, self._explained(model, check, next(given)), one.form)
            if isinstance(one, CheckQuery)
            else _result(name, check, one)
            for check, one in zip(checks, questions, strict=True)
        ]
        if not hidden:
            return tuple(results)
        return tuple(
            replace(one, error=redact_message(one.error)) if one.error and not isinstance(question, _Unfit) else one
            for one, question in zip(results, questions, strict=True)
        )

    def _explained(self, model: CompiledModel, check: Check, answer: CheckAnswer) -> CheckAnswer:
        """If the check failed because a file is missing, the error names the table, its snapshot and how to restore
        it."""
        if answer.kind is not FailureKind.NOT_FOUND:
            return answer
        others = tables_read_by_check(self.compiled, model, check, self.values)
        damage = missing_file_behind(self.lake.heads(), {model.model.table, *others}, self.compiled.namespace)
        return answer if damage is None else replace(answer, error=f"{damage}: {damage.remedy}")

    def _question(
        self, model: CompiledModel, check: Check, columns: Relation, written: str | None
    ) -> CheckQuery | CheckAnswer:
        try:
            form = self._form(model.model.table, check, columns)
        except Mistake as mistake:
            why = f"{mistake}; {mistake.suggestion}" if mistake.suggestion else str(mistake)
            return (_Unfit if mistake.code == "CheckColumnType" else CheckAnswer)("error", None, "", error=why)
        except (TidegateError, ValueError) as error:
            return CheckAnswer("error", None, "", error=str(error))
        if written is None or check.stage is not Stage.BEFORE_WRITE or check.call is None:
            return CheckQuery(check, form)
        name = check.call.name
        if isinstance(form, RowRule | FunctionRule) or (isinstance(form, QueryRule) and name in _BY_ROW):
            return CheckQuery(check, form, relation=written)
        if isinstance(form, GroupRule) and name in _BY_KEY:
            return CheckQuery(check, form, concerning=written)
        return CheckQuery(check, form)

    def _hidden(
        self, table: TableName, questions: Sequence[CheckQuery | CheckAnswer], columns: Sequence[str]
    ) -> frozenset[str]:
        """Columns to redact in samples: hidden columns of the table, and columns that queries derive from hidden
        ones."""
        forms = (one.form for one in questions if isinstance(one, CheckQuery))
        queries = (form.sql.replace("{table}", table.quoted) for form in forms if isinstance(form, QueryRule))
        derived = (hidden_in_query(self.compiled, sql) for sql in queries)
        return hidden_columns(self.compiled, table, columns).union(*derived)

    def _form(self, table: TableName, check: Check, columns: Relation) -> CheckRule:
        if check.call is not None:
            return rule_of(check, columns, self.compiled.namespace)
        query = bind_test(self.compiled, check, table, self.values)
        delta = delta_views(self.session, query.reads, self.compiled.chunk_tables)
        return QueryRule(query.substitute(lambda read: delta.get(read.start)), "0 rows")


def _result(model: str, check: Check, answer: CheckAnswer, form: CheckRule | None = None) -> CheckResult:
    gentle = check.severity is Severity.WARN or check.stage is Stage.AFTER_PUBLISH
    return CheckResult(
        model=model,
        name=check.name,
        stage=str(check.stage),
        severity=str(check.severity),
        status="warned" if answer.status == "failed" and gentle else answer.status,
        value=answer.value,
        expected=answer.expected,
        duration_ms=answer.duration_ms,
        samples=answer.samples,
        description=check.description,
        remediation=check.remediation,
        error=answer.error,
        kind=kind_of_check(check),
        unit="row" if isinstance(form, RowRule | FunctionRule | QueryRule) else "",
    )
