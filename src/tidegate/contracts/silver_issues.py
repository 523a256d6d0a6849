"""What bronze to silver needs of a contract: a key, types, transforms, lineage, deletions and quality rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from tidegate.contracts.column_constraints import constraint_issues
from tidegate.contracts.column_types import type_issues
from tidegate.contracts.deletion_issues import deletion_issues
from tidegate.contracts.element import Element
from tidegate.contracts.ingestion import WRITE_STRATEGIES, WriteStrategy
from tidegate.contracts.issues import Issue
from tidegate.contracts.landing_issues import table_name_issues
from tidegate.contracts.property_names import silver_name_issues
from tidegate.contracts.quality_query import filled, is_select, one_statement, placeholder_mistakes
from tidegate.contracts.source_columns import source_column, source_path
from tidegate.contracts.stage_contract import StageContract
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["silver_issues"]

_OF_HISTORY = ("valid_from", "valid_to", "is_current")


def silver_issues(contract: StageContract) -> Iterator[Issue]:
    silver = contract.silver
    if silver is None:
        if contract.others:
            message = "several objects have no connector, and none or several of them say which is silver"
            yield contract.root.issue(message, "add {property: silver_table, value: orders} to one", "schema")
        else:
            message = "no object of the schema describes silver"
            yield contract.root.issue(message, "add an object without a connector, with the silver columns", "schema")
        return
    yield from table_name_issues(contract, silver, "silver_table")
    yield from silver_name_issues(contract, silver)
    yield from contract.expect_choice("silver_write_strategy", tuple(WRITE_STRATEGIES), silver, required=False)
    columns = list(silver.items("properties"))
    if not columns:
        yield silver.issue("the silver object has no properties, so it has no columns", None, "properties")
    yield from contract.expect(
        "null_values", _is_texts, "a list of texts, each in quotes", '["", "n/a"]', silver, required=False
    )
    yield from _names(columns)
    yield from _columns_of_strategy(contract, silver, columns)
    yield from _key(contract, silver, columns)
    for column in columns:
        yield from _column(contract, column, columns)
    yield from deletion_issues(contract, silver, columns)
    for part in (silver, *columns):
        for rule in part.items("quality"):
            yield from _quality(rule, has_column=part is not silver)


def _names(columns: list[Element]) -> Iterator[Issue]:
    counts = Counter(column.column_name.lower() for column in columns)
    described: set[str] = set()
    for column in columns:
        name = column.column_name.lower()
        if name in described and counts[name] > 1:
            yield column.issue(f"column '{column.column_name}' is described twice")
        described.add(name)
        if name.startswith("_"):
            yield column.issue(
                f"column '{column.column_name}' begins with '_', as columns that are added do", "rename it"
            )


def _columns_of_strategy(contract: StageContract, silver: Element, columns: list[Element]) -> Iterator[Issue]:
    strategy = contract.text("silver_write_strategy", silver) or ""
    traits = WRITE_STRATEGIES.get(strategy, WriteStrategy())
    if traits.by_partition and not any(column.flag("partitioned") for column in columns):
        message = f"silver_write_strategy {strategy} replaces partitions, and no column is partitioned"
        yield silver.issue(message, "set partitioned: true on the column that says which partition a row is of")
    for column in columns if traits.keeps_versions else ():
        if column.column_name.lower() in _OF_HISTORY:
            message = f"column '{column.column_name}' has the name of one that a history adds"
            yield column.issue(message, "give it another name; its column in the source is transformSourceObjects")


def _key(contract: StageContract, silver: Element, columns: list[Element]) -> Iterator[Issue]:
    keys = [column for column in columns if column.flag("primaryKey")]
    strategy = contract.text("silver_write_strategy", silver)
    if not keys and WRITE_STRATEGIES.get(strategy or "", WriteStrategy()).needs_key:
        message = f"silver_write_strategy {strategy} needs a primary key"
        yield silver.issue(message, "set primaryKey: true on the columns of the key", "properties")
    positions = [column.number("primaryKeyPosition") for column in keys]
    given = [position for position in positions if position not in (None, -1)]
    if given and sorted(position for position in given if position is not None) != list(range(1, len(keys) + 1)):
        written = ", ".join("none" if position is None else str(position) for position in positions)
        message = f"the primaryKeyPosition of {len(keys)} key columns must be 1 to {len(keys)}, and is {written}"
        yield keys[0].issue(message, None, "primaryKeyPosition")
    for column in columns:
        if not column.flag("primaryKey") and (column.number("primaryKeyPosition") or -1) > 0:
            message = f"column '{column.column_name}' has a primaryKeyPosition and is no primary key"
            yield column.issue(message, "set primaryKey: true, or remove the position", "primaryKeyPosition")


def _column(contract: StageContract, column: Element, columns: list[Element]) -> Iterator[Issue]:
    name = column.column_name
    if not column.text("physicalType") and not column.text("logicalType"):
        message = f"column '{name}' has neither a physicalType nor a logicalType"
        yield column.issue(message, "write for example physicalType: decimal(10,2)")
    yield from type_issues(column, name)
    yield from constraint_issues(column, name)
    logic = column.text("transformLogic")
    if logic is not None:
        yield from _transform(column, logic, {other.column_name.lower() for other in columns})
    yield from _lineage(contract, column, name, logic is not None)


def _transform(column: Element, logic: str, columns: set[str]) -> Iterator[Issue]:
    name = column.column_name
    parsed = one_statement(f"SELECT ({logic}\n) AS x")
    if isinstance(parsed, str):
        yield column.issue(f"the transformLogic of column '{name}' is not Spark SQL: {parsed}", None, "transformLogic")
        return
    values = parsed.expressions if isinstance(parsed, exp.Select) and not parsed.args.get("from_") else []
    value = values[0].unalias().unnest() if len(values) == 1 else None
    if value is None or isinstance(value, exp.Tuple):
        message = f"the transformLogic of column '{name}' must be one expression over silver columns"
        yield column.issue(message, None, "transformLogic")
        return
    queries = sum(1 for _ in parsed.find_all(exp.Query))
    if queries > 1 or parsed.find(exp.AggFunc, exp.Window):
        message = f"the transformLogic of column '{name}' must work on one row: no subquery, aggregate or window"
        yield column.issue(message, None, "transformLogic")
    if isinstance(value, (exp.Cast, exp.TryCast)) and not value.to.is_type(*exp.DataType.TEXT_TYPES):
        message = f"the transformLogic of column '{name}' must give a string, and gives {value.to.sql('spark')}"
        yield column.issue(message, "leave the cast to the type of the column", "transformLogic")
    for part in parsed.find_all(exp.Column):
        if part.name.lower() not in columns and part.parts[0].name.lower() not in columns:
            suggestion = did_you_mean(nearest(part.name, columns, 1))
            message = f"the transformLogic of column '{name}' names '{part.name}', which silver does not have"
            yield column.issue(message, suggestion, "transformLogic")


def _lineage(contract: StageContract, column: Element, name: str, has_logic: bool) -> Iterator[Issue]:
    """Each entry is `column` or `object.column`; more steps lead into nested values."""
    source = contract.source
    if source is None:
        return
    properties = list(source.items("properties"))
    origins = column.texts("transformSourceObjects")
    if len(origins) > 1 and not has_logic:
        message = f"column '{name}' has {len(origins)} source columns and no transformLogic to combine them"
        yield column.issue(message, "name one, or add transformLogic", "transformSourceObjects")
    if not properties:
        return
    for position, origin in enumerate(origins):
        if source_path(source, origin) is None:
            names = [candidate.column_name for candidate in properties]
            suggestion = did_you_mean(nearest(origin.rpartition(".")[2], names, 1))
            message = f"column '{name}' comes from '{origin}', which the source does not have"
            yield column.issue(message, suggestion, "transformSourceObjects", position)
    if not origins and not has_logic and source_column(source, name) is None:
        message = f"column '{name}' has no transformSourceObjects, and the source has no column of its name"
        yield column.issue(message, did_you_mean(nearest(name, [other.column_name for other in properties], 1)))


def _quality(rule: Element, has_column: bool) -> Iterator[Issue]:
    """Other types than sql are not evaluated. What the query may read is judged with the columns of silver."""
    if rule.text("type") != "sql":
        return
    query = rule.text("query")
    if query is None:
        yield rule.issue("a quality rule of type sql must have a query", None)
        return
    for mistake in placeholder_mistakes(query, has_column):
        yield rule.issue(mistake, None, "query")
    text = filled(query, "t", "c")
    parsed = one_statement(text if is_select(query) else f"SELECT ({text}\n) AS x")
    if isinstance(parsed, str):
        yield rule.issue(f"the query is not Spark SQL: {parsed}", None, "query")
    elif not isinstance(parsed, exp.Query):
        yield rule.issue("the query must be a SELECT or a condition", None, "query")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
