"""A model's contract against what a run made, because the compiler does not know every column before a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.amounts import plural
from tidegate.checks.check_values import GroupRule, QueryRule
from tidegate.compiler.compiled import CompiledModel
from tidegate.compiler.hidden_columns import hidden_columns, hidden_in_query, touches_hidden_columns
from tidegate.compiler.table_columns import table_columns
from tidegate.contracts import ColumnRule, ContractTerm, ModelContract, RowRules
from tidegate.contracts.ingestion import QualityRule
from tidegate.datatypes import Column, Relation, from_json
from tidegate.errors import ContractBrokenError, QueryError
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import TableMetadata
from tidegate.names import quote
from tidegate.problems import Place
from tidegate.quality import CheckAnswer, evaluate_checks
from tidegate.quality.check_answers import redact_message
from tidegate.quality.file_proof import FileProof
from tidegate.runs.build.contract_queries import (
    RowQuestion,
    key_columns,
    quality_question,
    questions_about_nulls,
    questions_about_rows,
)
from tidegate.transform.silver.sql_rules import gives_one_value, read_rule, scalar_failures

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tidegate.runs.context import RunContext

__all__ = ["check_result", "check_table", "difference", "view_notes"]

_BUILT = "__tidegate_built"
_SHOWN = 3
"""Samples of the rows that break one rule."""
_LONGEST = 80
"""Characters of a value in a sample."""


def check_result(model: CompiledModel, frame: DataFrame) -> None:
    """The columns and types of a result, before it is written and before its columns are masked."""
    contract = model.model.contract
    if contract is None:
        return
    fields = frame.schema.jsonValue()["fields"]
    result = Relation(tuple(Column(field["name"], from_json(field["type"]), None) for field in fields))
    table = table_columns(model.model.settings, result)
    _require(model, [*_missing(contract, table), *_other_types(contract, result, table)])


def check_table(run: RunContext, model: CompiledModel, session: SparkSession, metadata: TableMetadata) -> Sequence[str]:
    """The types that a table kept from earlier results, and its rows: what the contract asks of values, keys and NULLs
    that the compiler could not exclude, and its quality rules. Gives notes about what cannot be checked."""
    contract = model.model.contract
    if contract is None:
        return ()
    table = relation_of(metadata.fields)
    masked = frozenset(mask.column.lower() for mask in model.model.masks)
    plain = Relation(tuple(column for column in table.columns if column.name.lower() not in masked))
    _require(
        model,
        [*_other_types(contract, plain, plain)],
        "Run it with --full-refresh, which rebuilds the table with the types of the query, or change the contract.",
    )
    check = _RowCheck(run, model, contract, session, metadata, table, masked)
    _require(model, check.differences())
    return check.notes


def view_notes(model: CompiledModel) -> tuple[str, ...]:
    """Of a view, whose rows change without a build of it."""
    rules = model.model.contract.rows if model.model.contract is not None else None
    if rules is None or not (rules.quality or any(questions_about_rows(rules, model.relation, frozenset(), "UTC"))):
        return ()
    return ("the rules of its contract about rows are not checked: it is a view, whose rows change without a build",)


def _missing(contract: ModelContract, table: Relation) -> Iterator[str]:
    reported = set()
    for term in (*contract.protected, *contract.required):
        if table.find(term.value) is None and term.value.lower() not in reported:
            reported.add(term.value.lower())
            yield f"column '{term.value}' is missing ({_text(term.place)})"


def _other_types(contract: ModelContract, result: Relation, table: Relation) -> Iterator[str]:
    for rule in contract.columns:
        column = result.find(rule.name) or table.find(rule.name)
        if column is not None and rule.type is not None and not rule.type.value.accepts(column.type):
            wanted = rule.type.value.text
            yield f"column '{column.name}' is {column.type}, and must be {wanted} ({_text(rule.type.place)})"


@dataclass(frozen=True, slots=True)
class _RowCheck:
    run: RunContext
    model: CompiledModel
    contract: ModelContract
    session: SparkSession
    metadata: TableMetadata
    table: Relation
    masked: frozenset[str]

    def differences(self) -> list[str]:
        open_rules = [rule for rule in self.contract.columns if _is_open(rule, self.model.relation)]
        questions = list(questions_about_nulls(open_rules, self.table))
        rules = self.contract.rows
        broken: list[str] = []
        if rules is not None:
            zone = self.session.conf.get("spark.sql.session.timeZone", None) or "UTC"
            questions += questions_about_rows(rules, self.table, self.masked, zone)
        with self._rows_as_view(rules) as view:
            for term in rules.quality if rules is not None else ():
                question = self._about_quality(term, view)
                if isinstance(question, RowQuestion):
                    questions.append(question)
                elif question is not None:
                    broken.append(question)
            return [*self._answers(questions), *broken] if questions else broken

    @property
    def notes(self) -> tuple[str, ...]:
        rules = self.contract.rows
        if rules is None:
            return ()
        others = ", ".join(rules.not_evaluated)
        judged = (column for column in rules.table.columns if column.unique or column.allowed or column.options)
        hidden = ", ".join(column.name for column in judged if column.name.lower() in self.masked)
        return (
            *([f"not evaluated, of what the contract asks: {others}"] if others else []),
            *(
                [f"masked columns are not held against the values that their contract asks for: {hidden}"]
                if hidden
                else []
            ),
        )

    @contextmanager
    def _rows_as_view(self, rules: RowRules | None) -> Iterator[str]:
        """For quality rules, which may call the table by its name; empty where there are none."""
        if rules is None or not rules.quality:
            yield ""
            return
        self.session.table(self.model.model.table.quoted).createOrReplaceTempView(_BUILT)
        try:
            yield _BUILT
        finally:
            with suppress(Exception):  # the session may be gone; the view goes with it
                self.session.catalog.dropTempView(_BUILT)

    def _about_quality(self, term: ContractTerm[QualityRule], view: str) -> RowQuestion | str | None:
        """A question about rows; of a rule about one value what is wrong with it."""
        assert self.contract.rows is not None
        rules = self.contract.rows.table
        try:
            sql = read_rule(term.value, rules, view, self.model.model.table.layer)
            if not sql.is_select or not gives_one_value(self.session, sql, rules):
                return quality_question(sql, term.place)
            failures = list(map(str, scalar_failures(self.session, sql)))
        except QueryError as error:
            raise QueryError(
                self._safe(str(error)), where=_text(term.place), remedy="Correct the rule in the contract."
            ) from error
        if failures and self._hidden_in(sql.text):
            failures = [f"quality rule '{sql.rule.name}' fails, with a value that may come from a hidden column"]
        return f"{' and '.join(failures)} ({_text(term.place)})" if failures else None

    def _answers(self, questions: Sequence[RowQuestion]) -> Iterator[str]:
        run, table = self.run, self.model.model.table
        forms = (question.query.form for question in questions)
        derived = (self._hidden_in(form.sql) for form in forms if isinstance(form, QueryRule))
        hidden = hidden_columns(run.compiled, table, self.metadata.column_names).union(*derived)
        answers = evaluate_checks(
            self.session,
            table.quoted,
            [question.query for question in questions],
            hidden=hidden,
            keys=key_columns(self.contract.rows, self.table) or self.model.model.settings.key,
            timeout=run.settings.run.test_timeout,
            cancelled=lambda: run.cancellation.requested,
            proven=FileProof(self.metadata).proves,
        )
        run.cancellation.check()
        for question, answer in zip(questions, answers, strict=True):
            if answer.status == "error":
                raise QueryError(
                    f"The contract of the model cannot be checked: {question.query.check.name}: "
                    f"{self._safe(answer.error or '')}",
                    where=_text(question.place),
                    remedy="Correct the rule in the contract.",
                )
            if answer.status == "failed":
                yield difference(question, answer)

    def _hidden_in(self, sql: str) -> frozenset[str]:
        """The hidden columns that a quality rule's query reads or gives, in lower case."""
        return hidden_in_query(self.run.compiled, sql.replace(quote(_BUILT), self.model.model.table.quoted))

    def _safe(self, message: str) -> str:
        return redact_message(message) if touches_hidden_columns(self.run.compiled, self.model) else message


def difference(question: RowQuestion, answer: CheckAnswer) -> str:
    """Rows that break a rule, for a person."""
    form = question.query.form
    word = "value" if isinstance(form, GroupRule) else "row"
    telling = [sample for sample in answer.samples if any(value is not None for value in sample.values())]
    samples = [_sample(sample, is_group=word == "value") for sample in telling[:_SHOWN]]
    such = f", such as {', '.join(samples)}" if samples else ""
    return f"{question.complaint}: {plural(int(answer.value or 0), word)}{such} ({_text(question.place)})"


def _sample(sample: Mapping[str, Any], is_group: bool) -> str:
    cells = [f"{name} = {_cell(value)}" for name, value in sample.items() if not (is_group and name == "n")]
    times = f" {sample['n']} times" if is_group and "n" in sample else ""
    return f"({', '.join(cells)}){times}"


def _cell(value: Any) -> str:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_open(rule: ColumnRule, result: Relation) -> bool:
    """Whether the contract excludes NULLs that the query may give, as far as the compiler knows."""
    column = result.find(rule.name)
    return rule.nullable is not None and not rule.nullable.value and (column is None or column.nullable is not False)


def _text(place: Place) -> str:
    return f"{place.file}:{place.line}"


def _require(model: CompiledModel, differences: Sequence[str], remedy: str | None = None) -> None:
    if differences:
        raise ContractBrokenError(
            f"The contract of the model is broken: {'; '.join(differences)}",
            where=str(model.model.path),
            remedy=remedy
            or "See which rows or files brought this, then correct them, the query (try_cast, COALESCE, a filter) "
            "or the contract. Nothing of this table was published.",
        )
