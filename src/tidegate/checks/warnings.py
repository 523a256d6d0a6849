"""What `@warning` may say beside some constraints and audits: signs of trouble in what was published."""

from __future__ import annotations

from tidegate.checks.check_kinds import CheckKind, column, operand
from tidegate.checks.check_parameters import GROUPABLE, NUMERIC, Arguments, Parameter, ParameterKind
from tidegate.checks.check_values import AggregateRule, CheckRule, Stage
from tidegate.checks.rule_forms import distinct_values, entropy_of, plain

__all__ = ["WARNINGS"]

_WARNING = frozenset({Stage.AFTER_PUBLISH})


def _row_count_delta(given: Arguments) -> CheckRule:
    most = plain(given.percent("max"))
    return AggregateRule(
        (("total", "count(*)"),),
        "round(try_divide(100.0D * (total - past_total), past_total), 4)",
        f"past_total IS NULL OR abs(total - past_total) * 100 <= {most} * past_total",
        f"rows changed by at most {most} %",
        past=True,
    )


def _delta(given: Arguments, function: str, what: str) -> CheckRule:
    """Without a former version or a former value there is nothing to differ from."""
    most = plain(given.percent("max"))
    change = "abs(value - past_value) * 100 <= {} * abs(past_value)"
    return AggregateRule(
        (("total", "count(*)"), ("value", f"CAST({function}({given.quoted()}) AS DOUBLE)")),
        "round(try_divide(100.0D * (value - past_value), abs(past_value)), 4)",
        "past_total IS NULL OR (value IS NOT NULL AND NOT isnan(value) AND (past_value IS NULL OR isnan(past_value) OR "
        f"{change.format(most)}))",
        f"{what} of {given.name()} changed by at most {most} %",
        past=True,
    )


def _sum_delta(given: Arguments) -> CheckRule:
    return _delta(given, "sum", "sum")


def _mean_delta(given: Arguments) -> CheckRule:
    return _delta(given, "avg", "mean")


def _approaching_limit(given: Arguments) -> CheckRule:
    limit = given.decimal("limit")
    if limit <= 0:
        raise ValueError("the limit must be more than 0")
    near = plain(limit * 9 / 10)
    name = given.name()
    expected = f"{name} at most {near}, which is 90 % of {given.text('limit')}"
    greatest = f"max({given.quoted()})"
    return AggregateRule((("value", greatest),), "value", f"value IS NULL OR value <= {near}", expected, of=name)


def _low_entropy(given: Arguments) -> CheckRule:
    expected = f"entropy of {given.name()} at least {given.text('min')} bits"
    return entropy_of(given.quoted(), f">= {given.number('min')}", expected)


def _cardinality(given: Arguments) -> CheckRule:
    return distinct_values(given, f"different values of {given.name()} {given.operator()} {given.whole('value')}")


_MOST = Parameter("max", ParameterKind.PERCENT)
_FIRST = "A first version passes."

WARNINGS = (
    CheckKind(
        "row_count_delta",
        _WARNING,
        (_MOST,),
        f"The number of rows differs from that of the version before by at most so many percent of it. {_FIRST}",
        "does not matter",
        "counts 0",
        "row_count_delta(20%)",
        _row_count_delta,
    ),
    CheckKind(
        "sum_delta",
        _WARNING,
        (column(NUMERIC), _MOST),
        f"The sum of the values differs from that of the version before by at most so many percent of it. {_FIRST}",
        "NULL is left out; fails where all are NULL now, passes where all were",
        "fails if there is a version before",
        "sum_delta(amount, 10%)",
        _sum_delta,
    ),
    CheckKind(
        "mean_delta",
        _WARNING,
        (column(NUMERIC), _MOST),
        f"The mean of the values differs from that of the version before by at most so many percent of it. {_FIRST}",
        "NULL is left out; fails where all are NULL now, passes where all were",
        "fails if there is a version before",
        "mean_delta(amount, 10%)",
        _mean_delta,
    ),
    CheckKind(
        "approaching_limit",
        _WARNING,
        (column(NUMERIC), Parameter("limit", ParameterKind.NUMBER)),
        "The greatest value is not over 90 % of the limit.",
        "NULL passes",
        "passes",
        "approaching_limit(id, 2147483647)",
        _approaching_limit,
    ),
    CheckKind(
        "low_entropy",
        _WARNING,
        (column(GROUPABLE), Parameter("min", ParameterKind.NUMBER)),
        "Shannon's entropy of the values is at least so many bits.",
        "NULL is left out; fails where all are NULL",
        "fails",
        "low_entropy(country, 0.5)",
        _low_entropy,
    ),
    CheckKind(
        "cardinality",
        _WARNING,
        (column(GROUPABLE), *operand(ParameterKind.WHOLE)),
        "The number of different values compares so.",
        "NULL is no value",
        "counts 0",
        "cardinality(country, <=, 250)",
        _cardinality,
    ),
)
