"""The checks of `@warning`, besides some constraints and audits: signs of trouble in published tables."""

from __future__ import annotations

from tidegate.checks.check_kinds import Build, CheckKind, column, operand
from tidegate.checks.check_parameters import GROUPABLE, NUMERIC, Arguments, Parameter, ParameterKind
from tidegate.checks.check_values import AggregateRule, CheckRule, Stage
from tidegate.checks.rule_forms import distinct_values, entropy_of, plain

__all__ = ["WARNINGS"]

_WARNING = frozenset({Stage.AFTER_PUBLISH})


def _row_count_delta(args: Arguments) -> CheckRule:
    most = plain(args.percent("max"))
    return AggregateRule(
        (("total", "count(*)"),),
        "round(try_divide(100.0D * (total - past_total), past_total), 4)",
        f"past_total IS NULL OR abs(total - past_total) * 100 <= {most} * past_total",
        f"rows changed by at most {most} %",
        past=True,
    )


def _delta(args: Arguments, function: str, what: str) -> CheckRule:
    """Without a former version or a former value there is nothing to differ from."""
    most = plain(args.percent("max"))
    change = "abs(value - past_value) * 100 <= {} * abs(past_value)"
    return AggregateRule(
        (("total", "count(*)"), ("value", f"CAST({function}({args.quoted()}) AS DOUBLE)")),
        "round(try_divide(100.0D * (value - past_value), abs(past_value)), 4)",
        "past_total IS NULL OR (value IS NOT NULL AND NOT isnan(value) AND (past_value IS NULL OR isnan(past_value) OR "
        f"{change.format(most)}))",
        f"{what} of {args.name()} changed by at most {most} %",
        past=True,
    )


def _sum_delta(args: Arguments) -> CheckRule:
    return _delta(args, "sum", "sum")


def _mean_delta(args: Arguments) -> CheckRule:
    return _delta(args, "avg", "mean")


def _approaching_limit(args: Arguments) -> CheckRule:
    limit = args.decimal("limit")
    if limit <= 0:
        raise ValueError("the limit must be more than 0")
    near = plain(limit * 9 / 10)
    name = args.name()
    expected = f"{name} at most {near}, which is 90 % of {args.text('limit')}"
    greatest = f"max({args.quoted()})"
    return AggregateRule((("value", greatest),), "value", f"value IS NULL OR value <= {near}", expected, of=name)


def _low_entropy(args: Arguments) -> CheckRule:
    expected = f"entropy of {args.name()} at least {args.text('min')} bits"
    return entropy_of(args.quoted(), f">= {args.number('min')}", expected)


_MOST = Parameter("max", ParameterKind.PERCENT)
_FIRST = "A first version passes."


def _warning(
    name: str,
    parameters: tuple[Parameter, ...],
    meaning: str,
    example: str,
    build: Build,
    *,
    nulls: str = "does not matter",
    empty: str = "counts 0",
) -> CheckKind:
    return CheckKind(name, _WARNING, parameters, meaning, nulls, empty, example, build)


WARNINGS = (
    _warning(
        "row_count_delta",
        (_MOST,),
        f"The number of rows differs from that of the previous version by at most that percentage of it. {_FIRST}",
        "row_count_delta(20%)",
        _row_count_delta,
    ),
    _warning(
        "sum_delta",
        (column(NUMERIC), _MOST),
        f"The sum of the values differs from that of the previous version by at most that percentage of it. {_FIRST}",
        "sum_delta(amount, 10%)",
        _sum_delta,
        nulls="NULL is left out; fails where all are NULL now, passes where all were before",
        empty="fails if there is a previous version",
    ),
    _warning(
        "mean_delta",
        (column(NUMERIC), _MOST),
        f"The mean of the values differs from that of the previous version by at most that percentage of it. {_FIRST}",
        "mean_delta(amount, 10%)",
        _mean_delta,
        nulls="NULL is left out; fails where all are NULL now, passes where all were before",
        empty="fails if there is a previous version",
    ),
    _warning(
        "approaching_limit",
        (column(NUMERIC), Parameter("limit", ParameterKind.NUMBER)),
        "The greatest value is not over 90 % of the limit.",
        "approaching_limit(id, 2147483647)",
        _approaching_limit,
        nulls="NULL passes",
        empty="passes",
    ),
    _warning(
        "low_entropy",
        (column(GROUPABLE), Parameter("min", ParameterKind.NUMBER)),
        "Shannon's entropy of the values is at least that many bits.",
        "low_entropy(country, 0.5)",
        _low_entropy,
        nulls="NULL is left out; fails where all are NULL",
        empty="fails",
    ),
    _warning(
        "cardinality",
        (column(GROUPABLE), *operand(ParameterKind.WHOLE)),
        "The number of different values meets the comparison.",
        "cardinality(country, <=, 250)",
        distinct_values,
        nulls="NULL is no value",
    ),
)
