"""What `type` of a settings file's `[[checks]]` may say beside the constraints and audits: the same ideas by key."""

from __future__ import annotations

from tidegate.checks.audits import fresh
from tidegate.checks.check_kinds import Build, CheckKind, column
from tidegate.checks.check_parameters import (
    COMPARABLE,
    GROUPABLE,
    TEXTUAL,
    TIME,
    Arguments,
    Parameter,
    ParameterKind,
)
from tidegate.checks.check_values import AggregateRule, CheckRule
from tidegate.checks.rule_forms import (
    every_row,
    found_in,
    matching,
    nulls_at_most,
    one_of,
    ordered,
    row_rule,
    unique_rows,
)
from tidegate.checks.sql_literals import is_floating

__all__ = ["KEYED_ONLY"]

_PASSES = "NULL passes"
_FUNCTIONS = {
    "count": "count",
    "sum": "sum",
    "avg": "avg",
    "mean": "avg",
    "min": "min",
    "max": "max",
    "stddev": "stddev_samp",
    "median": "median",
    "count_distinct": "count",
}


def _unique_expr(given: Arguments) -> CheckRule:
    expression = given.condition("expression")
    return unique_rows((f"({expression})",), f"no value of {expression} twice")


def _relationships(given: Arguments) -> CheckRule:
    return found_in(given, "to_table", "to_column")


def _expression(given: Arguments) -> CheckRule:
    return every_row(given.condition("expression"))


def _row_count(given: Arguments) -> CheckRule:
    bounds = [f"value >= {given.whole('min')}"] if given.has("min") else []
    bounds += [f"value <= {given.whole('max')}"] if given.has("max") else []
    return AggregateRule((("value", "count(*)"),), "value", " AND ".join(bounds), f"rows {_range(given)}")


def _in_range(given: Arguments) -> CheckRule:
    expected = f"{given.name()} {_range(given)}"
    bounds = [f"{given.quoted()} >= {given.value('min')}"] if given.has("min") else []
    bounds += [f"{given.quoted()} <= {given.value('max')}"] if given.has("max") else []
    return row_rule(given, f"NOT ({' AND '.join(bounds)})", expected)


def _range(given: Arguments) -> str:
    if given.has("min") and given.has("max"):
        if not given.has("column"):
            if given.whole("min") > given.whole("max"):
                raise ValueError("min is more than max")
        else:
            ordered(given, "min", "max")
        return f"between {given.text('min')} and {given.text('max')}"
    if not given.has("min") and not given.has("max"):
        raise ValueError("min, max or both are needed")
    return f">= {given.text('min')}" if given.has("min") else f"<= {given.text('max')}"


def _regex_match(given: Arguments) -> CheckRule:
    pattern = given.condition("pattern")
    return matching(given, pattern, f"{given.name()} matches {pattern}")


def _aggregate(given: Arguments) -> CheckRule:
    word = given.text("function").strip().lower()
    if not given.has("column") and word != "count":
        raise ValueError(f"{word} needs a column")
    of_values = given.has("column") and not word.startswith("count")
    floating = of_values and is_floating(given.type())
    if given.has("column") and word in ("sum", "avg", "mean", "stddev", "median"):
        if given.type().known and not given.type().is_numeric:
            raise ValueError(f"{word} of column '{given.name()}', which is {given.type()}, not a number")
        value = given.number("value")
    else:
        value = given.value("value") if word in ("min", "max") else str(given.whole("value"))
    of = given.quoted() if given.has("column") else "*"
    of = f"DISTINCT {of}" if word == "count_distinct" else of
    condition = f"value {given.operator()} {value}"
    shown = f"{word} of {given.name()}" if given.has("column") else "rows"
    return AggregateRule(
        (("value", f"{_FUNCTIONS[word]}({of})"),),
        "value",
        f"NOT isnan(value) AND {condition}" if floating else condition,
        f"{shown} {given.operator()} {given.text('value')}",
        exact=word in ("median", "count_distinct"),
        of=given.name() if of_values else "",
    )


def _not_in_future(given: Arguments) -> CheckRule:
    return row_rule(given, f"{given.quoted()} > {_now(given)}", f"no {given.name()} in the future")


def _older_than_n_days(given: Arguments) -> CheckRule:
    days = given.whole("days")
    if days > 100_000:
        raise ValueError(f"{days} days are too many")
    younger = f"{given.quoted()} > {_now(given)} - INTERVAL '{days}' DAY"
    return row_rule(given, younger, f"every {given.name()} at least {days} days ago")


def _now(given: Arguments) -> str:
    return "current_date()" if given.type().kind == "date" else "current_timestamp()"


def _freshness(given: Arguments) -> CheckRule:
    return fresh(given, "max_age")


def _null_rate(given: Arguments) -> CheckRule:
    return nulls_at_most(given, given.share("max") * 100)


def _kind(
    name: str, parameters: tuple[Parameter, ...], meaning: str, nulls: str, empty: str, example: str, build: Build
) -> CheckKind:
    return CheckKind(name, frozenset(), parameters, meaning, nulls, empty, example, build, keyed=True)


_EXPRESSION = Parameter("expression", ParameterKind.EXPRESSION, also=("expr",))
_OPERATOR = Parameter("operator", ParameterKind.OPERATOR, also=("op",))


def _bounds(kind: ParameterKind) -> tuple[Parameter, Parameter]:
    return Parameter("min", kind, optional=True), Parameter("max", kind, optional=True)


KEYED_ONLY = (
    _kind(
        "unique_expr",
        (_EXPRESSION,),
        "No value of the expression is there twice.",
        "NULL passes, however often",
        "passes",
        'expression = "lower(email)"',
        _unique_expr,
    ),
    _kind(
        "accepted_values",
        (column(COMPARABLE), Parameter("values", ParameterKind.LIST)),
        "Every value is one of the list; `in_list` by another name.",
        _PASSES,
        "passes",
        'column = "status", values = ["open", "paid"]',
        one_of,
    ),
    _kind(
        "relationships",
        (
            column(GROUPABLE),
            Parameter("to_table", ParameterKind.TABLE, also=("to", "table")),
            Parameter("to_column", ParameterKind.OTHER_COLUMN, also=("field", "key")),
        ),
        "Every value is found in a column of another table; `references` by another name.",
        _PASSES,
        "passes",
        'column = "customer_id", to_table = "silver.customers", to_column = "id"',
        _relationships,
    ),
    _kind(
        "expression",
        (Parameter("expression", ParameterKind.CONDITION, also=("expr", "condition")),),
        "Every row meets the condition.",
        "a condition that is NULL passes",
        "passes",
        'expression = "shipped_at >= ordered_at"',
        _expression,
    ),
    _kind(
        "row_count",
        _bounds(ParameterKind.WHOLE),
        "There are at least `min` rows and at most `max`.",
        "does not matter",
        "counts 0",
        "min = 1",
        _row_count,
    ),
    _kind(
        "in_range",
        (column(COMPARABLE), *_bounds(ParameterKind.VALUE)),
        "Every value is at least `min` and at most `max`.",
        _PASSES,
        "passes",
        'column = "amount", min = 0',
        _in_range,
    ),
    _kind(
        "regex_match",
        (column(TEXTUAL), Parameter("pattern", ParameterKind.TEXT, also=("regex",))),
        "The whole of every value matches the regular expression; `matches` by another name.",
        _PASSES,
        "passes",
        'column = "zip", pattern = "[0-9]{5}"',
        _regex_match,
    ),
    _kind(
        "aggregate",
        (
            Parameter("function", ParameterKind.CHOICE, choices=tuple(_FUNCTIONS), also=("agg",)),
            Parameter("column", ParameterKind.COLUMN, optional=True),
            _OPERATOR,
            Parameter("value", ParameterKind.TEXT),
        ),
        f"An aggregate of the column ({', '.join(_FUNCTIONS)}; `count` also of all rows) compares so.",
        "NULL is left out; fails where all are NULL, but for counts",
        "fails, but for counts",
        'function = "sum", column = "amount", operator = ">", value = 0',
        _aggregate,
    ),
    _kind(
        "not_in_future",
        (column(TIME),),
        "No value is later than the moment of the check.",
        _PASSES,
        "passes",
        'column = "ordered_at"',
        _not_in_future,
    ),
    _kind(
        "older_than_n_days",
        (column(TIME), Parameter("days", ParameterKind.WHOLE, also=("n",))),
        "Every value is at least so many days ago.",
        _PASSES,
        "passes",
        'column = "closed_at", days = 30',
        _older_than_n_days,
    ),
    _kind(
        "freshness",
        (column(TIME), Parameter("max_age", ParameterKind.DURATION, also=("age", "within"))),
        "The newest value is not older than that.",
        "NULL is left out; fails where all are NULL",
        "fails",
        'column = "updated_at", max_age = "24h"',
        _freshness,
    ),
    _kind(
        "null_rate",
        (column(), Parameter("max", ParameterKind.SHARE, also=("threshold", "max_rate"))),
        "At most that share of the values is NULL: 0.05 or 5%.",
        "is what is counted",
        "passes",
        'column = "phone", max = 0.05',
        _null_rate,
    ),
)
