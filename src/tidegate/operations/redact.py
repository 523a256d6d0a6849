"""Redacts hidden columns in what the history recorded: a column may be tagged after a run recorded its values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

from tidegate.checks.check_registry import rule_of
from tidegate.checks.check_values import AggregateRule, Check
from tidegate.compiler import bind_test
from tidegate.compiler.compiled import Compiled, RunValues
from tidegate.compiler.hidden_columns import (
    has_errors_upstream,
    hidden_in_query,
    hidden_in_table,
    touches_hidden_columns,
)
from tidegate.errors import TidegateError
from tidegate.names import TableName
from tidegate.operations.workspace import Workspace
from tidegate.quality.check_answers import REDACTED, redact_message
from tidegate.quality.check_queries import mentioned
from tidegate.state import AnomalyRecord, ModelRunRecord, QualityRecord

__all__ = ["HiddenColumnRedactor"]

_ABOUT_VALUES = ("mean", "freshness")
"""Kinds of anomalies that are about values, not about how many there are."""


class HiddenColumnRedactor:
    """Uses the tags that the project has now; it is compiled only where something might have to be hidden."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def checks(self, records: Sequence[QualityRecord]) -> tuple[QualityRecord, ...]:
        names = ("samples", "value", "error")
        redacted = (self._check(asdict(record)) for record in records)
        return tuple(
            replace(record, **{name: fields[name] for name in names})
            for record, fields in zip(records, redacted, strict=True)
        )

    def runs(self, records: Sequence[ModelRunRecord]) -> tuple[ModelRunRecord, ...]:
        return tuple(replace(record, error=self._text(record.model, record.error)) for record in records)

    def anomalies(self, records: Sequence[AnomalyRecord]) -> tuple[AnomalyRecord, ...]:
        """Those about the values of a hidden column are left out."""
        return tuple(record for record in records if not self._shows_values(asdict(record)))

    def event(self, data: Mapping[str, Any], model: str | None) -> Mapping[str, Any]:
        """`data` of an event about the model."""
        if model is None:
            return data
        if self._shows_values({"model": model, **data}):
            return {**data, "value": REDACTED, "expected": REDACTED, "message": REDACTED}
        result = data.get("result")
        if isinstance(result, Mapping):
            return {**data, "result": self._result({"model": model, **result})}
        return {**data, **self._texts(model, data)}

    def result(self, result: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The document of a whole run."""
        if result is None:
            return None
        checks = [self._check(check) for check in result.get("check_results", ())]
        models = [self._result(model) for model in result.get("materializations", ())]
        anomalies = [anomaly for anomaly in result.get("anomalies", ()) if not self._shows_values(anomaly)]
        return {**result, "check_results": checks, "materializations": models, "anomalies": anomalies}

    def _result(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if "severity" in fields:
            return self._check(fields)
        return {**fields, **self._texts(fields.get("model"), fields)}

    def _check(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        samples, value, error = fields.get("samples") or (), fields.get("value"), fields.get("error")
        may_show_values = samples or error or (value is not None and not fields.get("unit"))
        table = self._table(fields.get("model")) if may_show_values else None
        if table is None:
            return fields
        declared = self._declared(table, fields)
        hidden = self._hidden(table, {name for sample in samples for name in sample})
        if fields.get("kind") == "test":
            of_query = self._hidden_in_test(table, declared)
            hidden |= {name.lower() for sample in samples for name in sample} if of_query is None else of_query
        if not hidden and not self._is_unknown(table):
            return fields
        redacted = tuple(_redact_sample(sample, hidden) for sample in samples)
        value = REDACTED if value is not None and self._is_of_hidden(table, declared, fields, hidden) else value
        return {**fields, "samples": redacted, "value": value, "error": redact_message(error) if error else error}

    def _shows_values(self, fields: Mapping[str, Any]) -> bool:
        column, table = fields.get("column"), None
        if column and fields.get("kind") in _ABOUT_VALUES:
            table = self._table(fields.get("model"))
        return table is not None and str(column).lower() in self._hidden(table, {str(column)})

    def _texts(self, model: str | None, fields: Mapping[str, Any]) -> dict[str, str | None]:
        return {
            name: self._text(model, fields[name]) for name in ("error", "message") if isinstance(fields.get(name), str)
        }

    def _text(self, model: str | None, text: str | None) -> str | None:
        table = self._table(model) if text else None
        return redact_message(text) if text and table is not None and self._sees_hidden(table) else text

    def _sees_hidden(self, table: TableName) -> bool:
        compiled = self._compiled
        model = compiled.models.get(table) if compiled is not None else None
        return compiled is None or model is None or touches_hidden_columns(compiled, model)

    def _is_of_hidden(
        self, table: TableName, check: Check | None, fields: Mapping[str, Any], hidden: Collection[str]
    ) -> bool:
        """Whether the value that was found is one of a hidden column, not only a count."""
        if fields.get("unit") or self._is_unknown(table):
            return not fields.get("unit")
        if check is not None and check.call is not None and self._compiled is not None:
            try:
                form = rule_of(check, self._compiled.models[table].relation, self._compiled.namespace)
                return isinstance(form, AggregateRule) and form.of.lower() in hidden
            except (TidegateError, ValueError):
                pass
        return bool(mentioned(str(fields.get("name", "")), hidden))

    def _hidden_in_test(self, table: TableName, check: Check | None) -> frozenset[str] | None:
        """Columns of the query that are made of hidden ones, under any name; None where the query no longer exists."""
        if self._compiled is None or check is None:
            return None
        try:
            values = RunValues("1970-01-01T00:00:00+00:00")
            query = bind_test(self._compiled, check, table, values)
        except TidegateError:
            return None
        return hidden_in_query(self._compiled, query.sql)

    def _is_unknown(self, table: TableName) -> bool:
        """Whether it is unknown what its columns hold."""
        return self._compiled is None or has_errors_upstream(self._compiled, table)

    def _declared(self, table: TableName, fields: Mapping[str, Any]) -> Check | None:
        model = self._compiled.models.get(table) if self._compiled is not None else None
        key = fields.get("stage"), fields.get("name")
        return next((check for check in model.checks if (str(check.stage), check.name) == key), None) if model else None

    def _hidden(self, table: TableName, columns: Collection[str]) -> frozenset[str]:
        return hidden_in_table(self._compiled, table, columns)

    def _table(self, model: str | None) -> TableName | None:
        """None where the model can have no hidden columns."""
        if not model or (self._compiled is not None and not self._compiled.tagged):
            return None
        try:
            return TableName.parse(model, self._workspace.settings.project.namespace)
        except ValueError:
            return None

    @cached_property
    def _compiled(self) -> Compiled | None:
        try:
            return self._workspace.compile()
        except TidegateError:
            return None


def _redact_sample(sample: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    """The key of a group may be an expression over a hidden column."""
    secret = {name for name in sample if name.lower() in hidden or mentioned(name, hidden)}
    return {name: REDACTED if name in secret and value is not None else value for name, value in sample.items()}
