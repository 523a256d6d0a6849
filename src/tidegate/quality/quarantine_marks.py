"""Mark the rows of a result that break constraints, while it is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tidegate.checks.check_registry import RowConstraint
from tidegate.checks.check_values import FunctionRule, RowRule
from tidegate.compiler.table_columns import ABOUT_REFUSED
from tidegate.names import literal, quote
from tidegate.quality.check_queries import SampleColumns, mentioned, row_samples
from tidegate.quality.own_functions import OwnFunctions, breaks
from tidegate.spark.spark_errors import read_failure

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = [
    "GOOD",
    "REFUSED",
    "MarkedResult",
    "QuarantineCounts",
    "RefusedRows",
    "about_quarantined",
    "about_refused",
    "count_refused",
    "failing_constraints",
    "mark_rows",
]

_BROKEN = "__tidegate_broken"
GOOD, REFUSED = f"size({_BROKEN}) = 0", f"size({_BROKEN}) > 0"
"""Conditions on the rows of a marked result."""


@dataclass(frozen=True, slots=True)
class MarkedResult:
    """A result with one more column, of the places in `constraints` of those that each row breaks."""

    frame: DataFrame
    constraints: tuple[RowConstraint, ...]


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """The rows that break one constraint."""

    constraint: RowConstraint
    rows: int
    samples: tuple[Mapping[str, Any], ...] = ()

    error: str | None = None
    """Why the constraint cannot be evaluated on every row; it refuses none then."""


@dataclass(frozen=True, slots=True)
class QuarantineCounts:
    good: int
    refused: int
    by_constraint: tuple[RefusedRows, ...]


def mark_rows(frame: DataFrame, constraints: Sequence[RowConstraint], functions: OwnFunctions) -> MarkedResult:
    """A constraint that cannot be evaluated on the result, such as one on a column that the strategy adds, is left
    out."""
    from pyspark.sql import functions as f

    conditions: list[Column] = []
    answerable: list[RowConstraint] = []
    for constraint in constraints:
        try:
            condition = breaks(frame, constraint.rule, functions)
            assert frame.select(condition).schema
        except Exception:  # the checks of the table evaluate it again, and report the error
            continue
        conditions.append(f.when(condition, f.lit(len(answerable))))
        answerable.append(constraint)
    if not answerable:
        return MarkedResult(frame, ())
    return MarkedResult(frame.withColumn(_BROKEN, f.array_compact(f.array(*conditions))), tuple(answerable))


def failing_constraints(
    frame: DataFrame, constraints: Sequence[RowConstraint], functions: OwnFunctions
) -> tuple[RefusedRows, ...]:
    """Those that fail on some row of a result, with the reason; none where the result itself cannot be computed."""
    try:
        frame.write.format("noop").mode("overwrite").save()
    except Exception:
        return ()
    reasons = [(constraint, _why_not(frame, constraint, functions)) for constraint in constraints]
    return tuple(RefusedRows(constraint, 0, error=why) for constraint, why in reasons if why is not None)


def _why_not(frame: DataFrame, constraint: RowConstraint, functions: OwnFunctions) -> str | None:
    from pyspark.sql import functions as f

    try:
        frame.agg(f.count_if(breaks(frame, constraint.rule, functions))).collect()
    except Exception as error:
        message, rule = read_failure(error).message, constraint.rule
        return f"{rule.file}:{rule.line}: {message}" if isinstance(rule, FunctionRule) else message
    return None


def count_refused(
    session: SparkSession, relation: str, constraints: Sequence[RowConstraint], columns: SampleColumns
) -> QuarantineCounts:
    """One narrow pass over a marked relation, and one more for samples where some rows are refused."""
    broken = [f"array_contains({_BROKEN}, {at})" for at in range(len(constraints))]
    counts = "".join(f", count_if({condition}) AS c{at}" for at, condition in enumerate(broken))
    row = session.sql(
        f"SELECT count_if({GOOD}) AS good, count_if({REFUSED}) AS refused{counts} FROM {relation}"
    ).collect()[0]
    refused = [RefusedRows(constraint, row[f"c{at}"]) for at, constraint in enumerate(constraints)]
    broken_ones = {at: one for at, one in enumerate(refused) if one.rows}
    if broken_ones:
        rules = [RowRule(broken[at], "", _about(one.constraint, columns.types)) for at, one in broken_ones.items()]
        query = row_samples(relation, rules, columns)
        with suppress(Exception):  # values that Python cannot hold; the rows are refused without a sample
            some = query.read(session.sql(query.sql).collect()[0])
            for at, sampled in zip(broken_ones, some, strict=True):
                refused[at] = RefusedRows(refused[at].constraint, refused[at].rows, sampled)
    return QuarantineCounts(row["good"], row["refused"], tuple(refused))


def about_refused(constraints: Sequence[RowConstraint], columns: Sequence[str], run_id: str, at: datetime) -> str:
    """The SELECT list of the quarantine's own columns, for the rows of a marked result."""
    about = _of_broken([_texts(_about(constraint, columns)) for constraint in constraints])
    reasons = _of_broken([literal(constraint.reason) for constraint in constraints])
    return about_quarantined(reasons, f"array_distinct(flatten({about}))", run_id, at)


def about_quarantined(reasons: str, columns: str, run_id: str, at: datetime) -> str:
    """The SELECT list of the columns that a quarantine adds to every row."""
    moment = at.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    values = (reasons, columns, literal(run_id), f"TIMESTAMP '{moment}+00:00'")
    return ", ".join(f"{value} AS {quote(column.name)}" for value, column in zip(values, ABOUT_REFUSED, strict=True))


def _of_broken(values: Sequence[str]) -> str:
    """Those of the values that stand at the places of broken constraints."""
    return f"transform({_BROKEN}, __at -> element_at(array({', '.join(values)}), __at + 1))"


def _texts(texts: Sequence[str]) -> str:
    return f"CAST(array({', '.join(map(literal, texts))}) AS array<string>)"


def _about(constraint: RowConstraint, columns: Sequence[str] | Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a constraint is about, as they are written in the result."""
    rule, own = constraint.rule, {name.lower(): name for name in columns}
    in_text = mentioned(rule.violates, tuple(columns)) if isinstance(rule, RowRule) else ()
    declared = [own[name.lower()] for name in rule.shown if name.lower() in own]
    return tuple(dict.fromkeys([*declared, *in_text]))
