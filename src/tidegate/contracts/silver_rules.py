"""What bronze to silver needs of a contract: a key, types, transforms, lineage, deletions and quality rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import sqlglot
from sqlglot import exp

from tidegate.contracts.element import Element
from tidegate.contracts.issues import Issue
from tidegate.contracts.landing_rules import table_name_issues
from tidegate.contracts.odcs import type_issues
from tidegate.contracts.quality_query import filled, is_select, placeholder_mistakes
from tidegate.contracts.stage_contract import StageContract
from tidegate.names import nearest
from tidegate.problems import did_you_mean

__all__ = ["WRITE_STRATEGIES", "silver_issues"]

WRITE_STRATEGIES = ("current_state", "history", "append", "snapshot")
_KEYED = ("current_state", "history")


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
    yield from contract.expect_choice("silver_write_strategy", WRITE_STRATEGIES, silver, required=False)
    columns = list(silver.items("properties"))
    if not columns:
        yield silver.issue("the silver object has no properties, so it has no columns", None, "properties")
    yield from _names(columns)
    yield from _key(contract, silver, columns)
    for column in columns:
        yield from _column(contract, column, columns)
    yield from _deletions(contract, silver, columns)
    for part in (silver, *columns):
        for rule in part.items("quality"):
            yield from _quality(rule, has_column=part is not silver)


def _name(column: Element) -> str:
    return column.text("physicalName") or column.text("name") or ""


def _names(columns: list[Element]) -> Iterator[Issue]:
    counts = Counter(_name(column).lower() for column in columns)
    described: set[str] = set()
    for column in columns:
        name = _name(column).lower()
        if name in described and counts[name] > 1:
            yield column.issue(f"column '{_name(column)}' is described twice")
        described.add(name)
        if name.startswith("_"):
            yield column.issue(f"column '{_name(column)}' begins with '_', as columns that are added do", "rename it")


def _key(contract: StageContract, silver: Element, columns: list[Element]) -> Iterator[Issue]:
    keys = [column for column in columns if column.flag("primaryKey")]
    strategy = contract.text("silver_write_strategy", silver)
    if not keys and strategy in _KEYED:
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
            message = f"column '{_name(column)}' has a primaryKeyPosition and is no primary key"
            yield column.issue(message, "set primaryKey: true, or remove the position", "primaryKeyPosition")


def _column(contract: StageContract, column: Element, columns: list[Element]) -> Iterator[Issue]:
    name = _name(column)
    if not column.text("physicalType") and not column.text("logicalType"):
        message = f"column '{name}' has neither a physicalType nor a logicalType"
        yield column.issue(message, "write for example physicalType: decimal(10,2)")
    yield from type_issues(column, name)
    logic = column.text("transformLogic")
    if logic is not None:
        yield from _transform(column, logic, {_name(other).lower() for other in columns})
    yield from _lineage(contract, column, name, logic is not None)


def _transform(column: Element, logic: str, columns: set[str]) -> Iterator[Issue]:
    name = _name(column)
    parsed = _parse(f"SELECT ({logic}\n) AS x")
    if isinstance(parsed, str):
        yield column.issue(f"the transformLogic of column '{name}' is not Spark SQL: {parsed}", None, "transformLogic")
        return
    values = parsed.expressions if isinstance(parsed, exp.Select) and not parsed.args.get("from_") else []
    value = values[0].unalias().unnest() if len(values) == 1 else None
    if value is None or isinstance(value, exp.Tuple):
        message = f"the transformLogic of column '{name}' must be one expression over silver columns"
        yield column.issue(message, None, "transformLogic")
        return
    if parsed.find(exp.Subquery, exp.AggFunc, exp.Window):
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
        if not _exists(source, properties, origin):
            names = [_name(candidate) for candidate in properties]
            suggestion = did_you_mean(nearest(origin.rpartition(".")[2], names, 1))
            message = f"column '{name}' comes from '{origin}', which the source does not have"
            yield column.issue(message, suggestion, "transformSourceObjects", position)
    if not origins and not has_logic and not _exists(source, properties, name):
        message = f"column '{name}' has no transformSourceObjects, and the source has no column of its name"
        yield column.issue(message, did_you_mean(nearest(name, [_name(other) for other in properties], 1)))


def _exists(source: Element, properties: list[Element], origin: str) -> bool:
    steps = [step.lower() for step in origin.split(".")]
    owners = {(source.text(key) or "").lower() for key in ("name", "physicalName")}
    for start in range(len(steps)):
        prefix = ".".join(steps[:start])
        if (not prefix or prefix in owners) and _leads_somewhere(properties, steps[start:]):
            return True
    return False


def _leads_somewhere(properties: list[Element], steps: list[str]) -> bool:
    for column in properties:
        if steps[0] in {(column.text(key) or "").lower() for key in ("name", "physicalName")}:
            nested = list(column.items("properties")) or list(column.part("items").items("properties"))
            return len(steps) == 1 or not nested or _leads_somewhere(nested, steps[1:])
    return False


def _deletions(contract: StageContract, silver: Element, columns: list[Element]) -> Iterator[Issue]:
    yield from contract.expect(
        "deletion_enabled", lambda value: isinstance(value, bool), "true or false", "true", silver, required=False
    )
    if not contract.is_set("deletion_enabled", True, silver):
        return
    yield from contract.expect_choice("deletion_detection", ("explicit", "inferred"), silver)
    yield from contract.expect_choice("deletion_mode", ("soft", "hard"), silver)
    yield from contract.expect(
        "deletion_max_ratio", _is_ratio, "a number above 0 and up to 1", "0.2", silver, required=False
    )
    if not any(column.flag("primaryKey") for column in columns):
        yield silver.issue(
            "deletions need a primary key", "set primaryKey: true on the columns of the key", "properties"
        )
    entry = contract.lookup("deletion_detection", silver)
    connector = contract.connector
    reads_log = connector is not None and connector.reads_log
    if entry is not None and entry.value == "inferred":
        if reads_log:
            yield Issue(entry.path, "a source that reads a log tells its deletes, so they are not inferred")
        elif not contract.is_set("ingestion_read_strategy", "full_snapshot"):
            message = "deletes can be inferred only where every read is complete"
            yield Issue(entry.path, message, "set ingestion_read_strategy to full_snapshot, or detection to explicit")
    if entry is not None and entry.value == "explicit" and not reads_log:
        yield from contract.expect_text("deletion_indicator_column", "is_deleted", silver)
        yield from contract.expect(
            "deletion_indicator_values",
            lambda value: isinstance(value, list) and bool(value),
            "a list of the values that mean deleted",
            "[true]",
            silver,
        )


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
    parsed = _parse(text if is_select(query) else f"SELECT ({text}\n) AS x")
    if isinstance(parsed, str):
        yield rule.issue(f"the query is not Spark SQL: {parsed}", None, "query")
    elif not isinstance(parsed, exp.Query):
        yield rule.issue("the query must be a SELECT or a condition", None, "query")


def _parse(sql: str) -> exp.Expression | str:
    """The one statement, or what is wrong with it."""
    try:
        statements = sqlglot.parse(sql, read="spark")
    except sqlglot.errors.SqlglotError as error:
        first = error.errors[0] if isinstance(error, sqlglot.errors.ParseError) and error.errors else None
        return str(first["description"] if first else error).splitlines()[0]
    if len(statements) != 1 or statements[0] is None:
        return "it is more than one statement"
    return statements[0]


def _is_ratio(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1
