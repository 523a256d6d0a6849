"""Quality rules of type sql over the rows that are valid so far, in their three forms.

- a condition over silver columns: rows for which it is true fail
- a SELECT of rows: those rows fail. It gives the key, or without a key all silver columns
- a SELECT of one value, compared with the rule's operators (without any: with 0): the whole table fails

All rules of the first two forms see the same rows, so a row has all of its failures; the third form sees those that are
left. Rows that delete are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from tidegate.compiler.sql.queries import SqlFault
from tidegate.compiler.sql.rule_query import read_rule_query
from tidegate.contracts.ingestion import QualityRule, SilverColumn, SilverRules, TableRules
from tidegate.errors import QueryError, TidegateError
from tidegate.names import literal, quote
from tidegate.spark.spark_errors import read_failure
from tidegate.transform.silver.row_uniqueness import columns_text, text_of
from tidegate.transform.silver.silver_frame import DELETED, FAILURES, QUALITY, STAGE, failure, failures, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "ScalarFailure",
    "SqlRule",
    "flag_rows",
    "gives_one_value",
    "is_scalar",
    "named_rule",
    "operator_fails",
    "read_rule",
    "scalar_failures",
]

_MOST_TEXT = 500

_OPERATORS: Mapping[str, tuple[str, str]] = {
    "mustBe": ("=", "be"),
    "mustNotBe": ("<>", "not be"),
    "mustBeGreaterThan": (">", "be greater than"),
    "mustBeGreaterOrEqualTo": (">=", "be at least"),
    "mustBeGreaterThanOrEqualTo": (">=", "be at least"),
    "mustBeLessThan": ("<", "be less than"),
    "mustBeLessOrEqualTo": ("<=", "be at most"),
    "mustBeLessThanOrEqualTo": ("<=", "be at most"),
    "mustBeBetween": ("between", "be between"),
    "mustNotBeBetween": ("not between", "not be between"),
}


@dataclass(frozen=True, slots=True)
class SqlRule:
    rule: QualityRule
    text: str
    """The query over the valid rows."""

    is_select: bool
    columns: tuple[str, ...] = ()
    """The silver columns that it reads."""


@dataclass(frozen=True, slots=True)
class ScalarFailure:
    """A rule about the whole table that does not hold."""

    rule: QualityRule
    value: Any
    expected: str

    def __str__(self) -> str:
        value = "NULL" if self.value is None else self.value
        return f"quality rule '{self.rule.name}' gives {value}, and {self.expected}"


def read_rule(rule: QualityRule, rules: TableRules, view: str, layer: str = "silver") -> SqlRule:
    """`view` stands for the valid rows of the table, which is in `layer`. Raises QueryError."""
    query = read_rule_query(rule, rules, view, layer)
    if isinstance(query, SqlFault):
        raise QueryError(f"quality rule '{rule.name}' cannot be used: {query.message}", where=rule.query.strip())
    return SqlRule(rule, query.text, query.is_select, query.columns)


def is_scalar(session: SparkSession, rule: SqlRule, rules: SilverRules) -> bool:
    """Whether a SELECT gives one value; raises QueryError where it gives neither that nor rows that can be found."""
    names = _result_names(session, rule)
    if _found_by(rules, names) is not None:
        return False
    if len(names) == 1:
        return True
    needed = ", ".join(rules.key or [column.name for column in rules.columns])
    raise QueryError(
        f"the query of quality rule '{rule.rule.name}' gives {', '.join(names)}, by which no row can be found",
        remedy=f"Select one value, or rows with {needed}.",
    )


def gives_one_value(session: SparkSession, rule: SqlRule, rules: TableRules) -> bool:
    """As `is_scalar`, where any rows may be given, because none of them is looked for."""
    names = _result_names(session, rule)
    return len(names) == 1 and _found_by(rules, names) is None


def _result_names(session: SparkSession, rule: SqlRule) -> list[str]:
    try:
        return list(session.sql(rule.text).columns)
    except Exception as error:
        raise _cannot_run(rule, error) from error


def _found_by(rules: TableRules, names: Sequence[str]) -> list[str] | None:
    """The columns by which the rows of a result are found among the valid ones."""
    given = {name.lower() for name in names}
    wanted = list(rules.key) or [column.name for column in rules.columns]
    if not all(name.lower() in given for name in wanted):
        return None
    return [*wanted, "_commit_time"] if rules.keeps_versions and "_commit_time" in given else wanted


def flag_rows(session: SparkSession, rows: DataFrame, rules: SilverRules, found: Sequence[SqlRule]) -> DataFrame:
    """The rows with those refused that a condition or a SELECT of rows finds."""
    entries = []
    for number, rule in enumerate(found):
        if rule.is_select:
            flag = f"__tidegate_found_{number}"
            rows = _join(rows, session.sql(rule.text), rules, flag)
            condition = f"{flag} IS NOT NULL"
        else:
            condition = f"({rule.text}\n)"
        entries.append((f"{STAGE} IS NULL AND NOT {DELETED} AND {condition}", _failure(rule, rules)))
    others = [quote(name) for name in rows.columns if name not in (STAGE, FAILURES)]
    others = [name for name in others if not name.startswith("`__tidegate_found_")]
    try:
        judged = rows.selectExpr(*others, STAGE, FAILURES, f"{failures(entries)} AS __tidegate_late")
    except Exception as error:
        for rule in found:
            if not rule.is_select:
                _check_condition(rows, rule)
        raise _cannot_run(found[0], error) from error
    return judged.selectExpr(
        *others,
        f"CASE WHEN size(__tidegate_late) > 0 THEN '{QUALITY}' ELSE {STAGE} END AS {STAGE}",
        f"CASE WHEN size(__tidegate_late) > 0 THEN __tidegate_late ELSE {FAILURES} END AS {FAILURES}",
    )


def _check_condition(rows: DataFrame, rule: SqlRule) -> None:
    try:
        rows.where(rule.text)
    except Exception as error:
        raise _cannot_run(rule, error) from error


def _join(rows: DataFrame, result: DataFrame, rules: SilverRules, flag: str) -> DataFrame:
    from pyspark.sql import functions as f

    names = _found_by(rules, result.columns) or []
    by_name = {column.name: column for column in rules.columns}
    texts = [_comparable(by_name.get(name), name) for name in names]
    given = [f"{text} AS __found_{flag}_{position}" for position, text in enumerate(texts)]
    found = result.selectExpr(*given).distinct().withColumn(flag, f.lit(True))
    condition = " AND ".join(f"{text} <=> __found_{flag}_{position}" for position, text in enumerate(texts))
    joined = rows.join(found, on=f.expr(condition), how="left")
    return joined.drop(*(f"__found_{flag}_{position}" for position in range(len(texts))))


def _comparable(column: SilverColumn | None, name: str) -> str:
    nested = column is not None and column.type.lower().startswith(("map", "struct", "array", "variant"))
    return text_of(column) if column is not None and nested else quote(name)


def _failure(rule: SqlRule, rules: SilverRules) -> str:
    """A rule of a column shows that; another one the columns that it reads, or the key."""
    if rule.rule.column is not None:
        columns = [column for column in rules.columns if column.name == rule.rule.column]
        name, value = rule.rule.column, text_of(columns[0]) if columns else "''"
    else:
        wanted = rule.columns if not rule.is_select and rule.columns else rules.key or rule.columns
        columns = [column for column in rules.columns if column.name in wanted] or list(rules.columns)
        name = ", ".join(column.name for column in columns)
        value = text_of(columns[0]) if len(columns) == 1 else columns_text(columns)
    query = rule.rule.query if len(rule.rule.query) <= _MOST_TEXT else rule.rule.query[: _MOST_TEXT - 1] + "…"
    before, after = literal(f"quality rule {rule.rule.name} fails for {name} "), literal(f": {query}")
    about = f"concat({before}, {shown(value)}, {after})"
    return failure(QUALITY, name, rule.rule.name, about, shown(value))


@contextmanager
def named_rule(rows: DataFrame, rules: Sequence[SqlRule]) -> Iterator[None]:
    """Names the condition that fails where rows are judged. `rows`: as they are before that."""
    try:
        yield
    except TidegateError:
        raise
    except Exception:
        for rule in rules:
            if not rule.is_select:
                _evaluate(rows, rule)
        raise


def _evaluate(rows: DataFrame, rule: SqlRule) -> None:
    try:
        rows.where(f"{STAGE} IS NULL AND NOT {DELETED}").where(f"({rule.text}\n)").count()
    except Exception as error:
        raise _cannot_run(rule, error) from error


def scalar_failures(session: SparkSession, rule: SqlRule) -> Iterator[ScalarFailure]:
    """Each operator of the rule that the value of its query does not meet."""
    try:
        rows = session.sql(rule.text).limit(2).collect()
    except Exception as error:
        raise _cannot_run(rule, error) from error
    if len(rows) > 1:
        raise QueryError(
            f"the query of quality rule '{rule.rule.name}' gives several rows of one column",
            remedy="Select one value, or rows with the key.",
        )
    value = rows[0][0] if rows else None
    for name, operand in (rule.rule.operators or {"mustBe": 0}).items():
        if operator_fails(name, value, operand, rule.rule.name):
            text = " and ".join(map(str, operand)) if isinstance(operand, (list, tuple)) else str(operand)
            yield ScalarFailure(rule.rule, value, f"must {_OPERATORS[name][1]} {text}")


def operator_fails(name: str, value: Any, operand: Any, rule: str) -> bool:
    """NULL meets no expectation."""
    if name not in _OPERATORS:
        raise QueryError(f"quality rule '{rule}' has the operator {name}, which is not one of {', '.join(_OPERATORS)}")
    sign = _OPERATORS[name][0]
    if value is None:
        return True
    if sign in ("between", "not between"):
        if not isinstance(operand, (list, tuple)) or len(operand) != 2:
            raise QueryError(f"{name} of quality rule '{rule}' must be a list of two values")
        low, high = (_compare(value, bound) for bound in operand)
        return (low >= 0 and high <= 0) is (sign == "not between")
    order = _compare(value, operand)
    return not {"=": order == 0, "<>": order != 0, ">": order > 0, ">=": order >= 0, "<": order < 0, "<=": order <= 0}[
        sign
    ]


def _compare(value: Any, operand: Any) -> int:
    """As numbers where both are; else as text."""
    try:
        left, right = Decimal(str(int(value) if isinstance(value, bool) else value)), Decimal(str(operand))
        return (left > right) - (left < right)
    except InvalidOperation:
        first, second = str(value), str(operand)
        return (first > second) - (first < second)


def _cannot_run(rule: SqlRule, error: Exception) -> QueryError:
    return QueryError(
        f"quality rule '{rule.rule.name}' cannot be evaluated: {read_failure(error).message}",
        where=rule.rule.query.strip(),
    )
