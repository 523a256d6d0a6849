"""A model's contract against what a run made, because the compiler does not know every column before a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tidegate.amounts import plural
from tidegate.compiler.compiled import CompiledModel
from tidegate.compiler.table_columns import table_columns
from tidegate.contracts import ColumnRule, ModelContract
from tidegate.datatypes import Column, Relation, from_json
from tidegate.errors import ContractBrokenError
from tidegate.lake.iceberg_types import relation_of
from tidegate.lake.metadata import TableMetadata
from tidegate.names import quote
from tidegate.problems import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_result", "check_table"]


def check_result(model: CompiledModel, frame: DataFrame) -> None:
    """The columns and types of a result, before it is written and before its columns are masked."""
    contract = model.model.contract
    if contract is None:
        return
    fields = frame.schema.jsonValue()["fields"]
    result = Relation(tuple(Column(field["name"], from_json(field["type"]), None) for field in fields))
    table = table_columns(model.model.settings, result)
    _require(model, [*_missing(contract, table), *_other_types(contract, result, table)])


def check_table(model: CompiledModel, session: SparkSession, metadata: TableMetadata) -> None:
    """The types that a table kept from earlier results, and the NULLs that the compiler could not exclude."""
    contract = model.model.contract
    if contract is None:
        return
    table = relation_of(metadata.fields)
    masked = {mask.column.lower() for mask in model.model.masks}
    plain = Relation(tuple(column for column in table.columns if column.name.lower() not in masked))
    _require(
        model,
        [*_other_types(contract, plain, plain)],
        "Run it with --full-refresh, which rebuilds the table with the types of the query, or change the contract.",
    )
    _require(model, [*_nulls(model, contract, session, table)])


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


def _nulls(model: CompiledModel, contract: ModelContract, session: SparkSession, table: Relation) -> Iterator[str]:
    rules = [rule for rule in contract.columns if _is_open(rule, model.relation) and table.find(rule.name)]
    if not rules:
        return
    counts = ", ".join(f"count_if({quote(rule.name)} IS NULL)" for rule in rules)
    row = session.sql(f"SELECT {counts} FROM {model.model.table.quoted}").first()
    for rule, count in zip(rules, row or (), strict=True):
        if count and rule.nullable is not None:
            rows = plural(count, "row")
            yield f"column '{rule.name}' is NULL in {rows}, and must never be ({_text(rule.nullable.place)})"


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
