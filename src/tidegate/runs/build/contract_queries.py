"""What a contract asks of the rows of a table that a run built, as queries that one pass over the table can answer.

The conditions are those by which rows are refused on their way to silver; only here the rows are typed already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tidegate.checks.check_values import Check, CheckRule, QueryRule, RowRule, Stage, ValueRange
from tidegate.checks.rule_forms import unique_rows
from tidegate.contracts import ColumnRule, RowRules
from tidegate.contracts.ingestion import SilverColumn
from tidegate.datatypes import STRING, Column, Relation
from tidegate.errors import QueryError
from tidegate.names import quote
from tidegate.problems import Place
from tidegate.quality import CheckQuery
from tidegate.transform.silver.sql_rules import SqlRule
from tidegate.transform.silver.text_casts import column_cast
from tidegate.transform.silver.value_rules import column_rules

__all__ = ["RowQuestion", "key_columns", "quality_question", "questions_about_nulls", "questions_about_rows"]


@dataclass(frozen=True, slots=True)
class RowQuestion:
    """A query, and what it means that rows break its rule."""

    query: CheckQuery
    complaint: str
    """Says what the rows are."""

    place: Place
    """Where the contract says it."""


def questions_about_nulls(rules: Sequence[ColumnRule], table: Relation) -> Iterator[RowQuestion]:
    """`rules`: of columns that are never NULL."""
    for rule in rules:
        if rule.nullable is not None and table.find(rule.name) is not None:
            place = rule.nullable.place
            yield _is_null(rule.name, "required", "is NULL, and must never be", place)


def questions_about_rows(
    rules: RowRules, table: Relation, masked: frozenset[str], session_zone: str
) -> Iterator[RowQuestion]:
    """About values and keys. Raises QueryError for a constraint that the type of its column cannot keep.

    `masked`: columns, in lower case, whose values in the table are not those that the contract is about.
    """
    for column in rules.table.columns:
        known = table.find(column.name)
        if known is None:
            continue
        if column.primary_key:
            place = _place(rules, column.name, "primaryKey")
            yield _is_null(column.name, "primaryKey", "is NULL, and is part of the primary key", place)
        if column.name.lower() not in masked:
            yield from _about_values(rules, column, known, session_zone)
    keys = [(column.name,) for column in rules.table.columns if column.unique and (column.name,) != rules.table.key]
    for key in [rules.table.key, *keys]:
        if key and all(name.lower() not in masked and table.find(name) is not None for name in key):
            yield _is_repeated(rules, key)


def key_columns(rules: RowRules | None, table: Relation) -> tuple[str, ...]:
    """Those of the contract's key that the table has."""
    return tuple(name for name in rules.table.key if table.find(name) is not None) if rules is not None else ()


def quality_question(sql: SqlRule, place: Place) -> RowQuestion:
    """For a rule that finds rows."""
    name, text = sql.rule.name, sql.text
    form: CheckRule = QueryRule(text, "0 rows") if sql.is_select else RowRule(f"{text}\n", "0 rows", sql.columns)
    return _question(name, form, f"quality rule '{name}' fails", place)


def _about_values(rules: RowRules, column: SilverColumn, known: Column, session_zone: str) -> Iterator[RowQuestion]:
    """`known`: the column as the table has it; only that a text has a length of its own is for the contract to say."""
    value, length = quote(known.name), column_cast(column, session_zone).length
    kind = known.type.text if known.type.known else column.type
    typed = replace(column, name=known.name, type=kind, primary_key=False, required=False, unique=False)
    try:
        found = [
            (rule.name, rule.breaks, rule.complaint) for rule in column_rules(column_cast(typed, session_zone), value)
        ]
    except QueryError as error:
        raise QueryError(
            f"The contract of the model cannot be checked: {error}",
            where=_text(_place(rules, column.name, "logicalTypeOptions")),
            remedy="Correct it in the contract, or the type of the column.",
        ) from None
    if length is not None and known.type == STRING:
        complaint = f"is longer than the {length} characters of {column.type}"
        found.append(("physicalType", f"char_length({value}) > {length}", complaint))
    for name, breaks, complaint in found:
        form = RowRule(breaks, complaint, (known.name,))
        place = _place(rules, column.name, name)
        yield _question(f"{column.name}.{name}", form, f"column '{column.name}' {complaint}", place)


def _is_null(name: str, rule: str, complaint: str, place: Place) -> RowQuestion:
    form = RowRule(f"{quote(name)} IS NULL", complaint, (), ValueRange(name, nulls=False, nans=True))
    return _question(f"{name}.{rule}", form, f"column '{name}' {complaint}", place)


def _is_repeated(rules: RowRules, key: tuple[str, ...]) -> RowQuestion:
    rule = "primaryKey" if key == rules.table.key else "unique"
    listed = ", ".join(key)
    what = f"primary key {listed} is" if rule == "primaryKey" else f"column '{listed}' is"
    form = unique_rows(tuple(map(quote, key)), "no value twice")
    return _question(f"{listed}.{rule}", form, f"{what} not unique", _place(rules, key[0], rule))


def _question(name: str, form: CheckRule, complaint: str, place: Place) -> RowQuestion:
    return RowQuestion(CheckQuery(Check(name, Stage.BEFORE_PUBLISH, place), form), complaint, place)


def _place(rules: RowRules, column: str, rule: str) -> Place:
    """Of the rule, else of the column."""
    return rules.places.get((column, rule)) or rules.places[column, ""]


def _text(place: Place) -> str:
    return f"{place.file}:{place.line}"
