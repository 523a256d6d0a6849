"""The `type`s of a settings file's `[[checks]]`, besides the constraints and audits: the same rules by key."""

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
    matches_pattern,
    nulls_at_most,
    one_of,
    ordered,
    row_rule,
    unique_rows,
)

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


def _unique_expr(args: Arguments) -> CheckRule:
    expression = args.condition("expression")
    return unique_rows((f"({expression})",), f"no value of {expression} twice")


def _row_count(args: Arguments) -> CheckRule:
    bounds = [f"value >= {args.whole('min')}"] if args.has("min") else []
    bounds += [f"value <= {args.whole('max')}"] if args.has("max") else []
    return AggregateRule((("value", "count(*)"),), "value", " AND ".join(bounds), f"rows {_range(args)}")


def _in_range(args: Arguments) -> CheckRule:
    expected = f"{args.name()} {_range(args)}"
    bounds = [f"{args.quoted()} >= {args.value('min')}"] if args.has("min") else []
    bounds += [f"{args.quoted()} <= {args.value('max')}"] if args.has("max") else []
    return row_rule(args, f"NOT ({' AND '.join(bounds)})", expected)


def _range(args: Arguments) -> str:
    if args.has("min") and args.has("max"):
        if not args.has("column"):
            if args.whole("min") > args.whole("max"):
                raise ValueError("min is more than max")
        else:
            ordered(args, "min", "max")
        return f"between {args.text('min')} and {args.text('max')}"
    if not args.has("min") and not args.has("max"):
        raise ValueError("min, max or both are needed")
    return f">= {args.text('min')}" if args.has("min") else f"<= {args.text('max')}"


def _aggregate(args: Arguments) -> CheckRule:
    word = args.text("function").strip().lower()
    if not args.has("column") and word != "count":
        raise ValueError(f"{word} needs a column")
    of_values = args.has("column") and not word.startswith("count")
    floating = of_values and args.type().is_floating
    if args.has("column") and word in ("sum", "avg", "mean", "stddev", "median"):
        if args.type().known and not args.type().is_numeric:
            raise ValueError(f"{word} of column '{args.name()}', which is {args.type()}, not a number")
        value = args.number("value")
    else:
        value = args.value("value") if word in ("min", "max") else str(args.whole("value"))
    of = args.quoted() if args.has("column") else "*"
    of = f"DISTINCT {of}" if word == "count_distinct" else of
    condition = f"value {args.operator()} {value}"
    label = f"{word} of {args.name()}" if args.has("column") else "rows"
    return AggregateRule(
        (("value", f"{_FUNCTIONS[word]}({of})"),),
        "value",
        f"NOT isnan(value) AND {condition}" if floating else condition,
        f"{label} {args.operator()} {args.text('value')}",
        exact=word in ("median", "count_distinct"),
        of=args.name() if of_values else "",
    )


def _not_in_future(args: Arguments) -> CheckRule:
    return row_rule(args, f"{args.quoted()} > {_now(args)}", f"no {args.name()} in the future")


def _older_than_n_days(args: Arguments) -> CheckRule:
    days = args.whole("days")
    if days > 100_000:
        raise ValueError(f"{days} days are too many")
    younger = f"{args.quoted()} > {_now(args)} - INTERVAL '{days}' DAY"
    return row_rule(args, younger, f"every {args.name()} at least {days} days ago")


def _now(args: Arguments) -> str:
    return "current_date()" if args.type().kind == "date" else "current_timestamp()"


def _keyed_check(
    name: str,
    parameters: tuple[Parameter, ...],
    meaning: str,
    example: str,
    build: Build,
    *,
    nulls: str = _PASSES,
    empty: str = "passes",
) -> CheckKind:
    return CheckKind(name, frozenset(), parameters, meaning, nulls, empty, example, build, keyed=True)


_EXPRESSION = Parameter("expression", ParameterKind.EXPRESSION, also=("expr",))
_OPERATOR = Parameter("operator", ParameterKind.OPERATOR, also=("op",))


def _bounds(kind: ParameterKind) -> tuple[Parameter, Parameter]:
    return Parameter("min", kind, optional=True), Parameter("max", kind, optional=True)


KEYED_ONLY = (
    _keyed_check(
        "unique_expr",
        (_EXPRESSION,),
        "No value of the expression occurs twice.",
        'expression = "lower(email)"',
        _unique_expr,
        nulls="NULL passes, however often",
    ),
    _keyed_check(
        "accepted_values",
        (column(COMPARABLE), Parameter("values", ParameterKind.LIST)),
        "Every value is one of the list; `in_list` by another name.",
        'column = "status", values = ["open", "paid"]',
        one_of,
    ),
    _keyed_check(
        "relationships",
        (
            column(GROUPABLE),
            Parameter("to_table", ParameterKind.TABLE, also=("to", "table")),
            Parameter("to_column", ParameterKind.OTHER_COLUMN, also=("field", "key")),
        ),
        "Every value is found in a column of another table; `references` by another name.",
        'column = "customer_id", to_table = "silver.customers", to_column = "id"',
        lambda args: found_in(args, "to_table", "to_column"),
    ),
    _keyed_check(
        "expression",
        (Parameter("expression", ParameterKind.CONDITION, also=("expr", "condition")),),
        "Every row meets the condition.",
        'expression = "shipped_at >= ordered_at"',
        lambda args: every_row(args.condition("expression")),
        nulls="a condition that is NULL passes",
    ),
    _keyed_check(
        "row_count",
        _bounds(ParameterKind.WHOLE),
        "There are at least `min` rows and at most `max`.",
        "min = 1",
        _row_count,
        nulls="does not matter",
        empty="counts 0",
    ),
    _keyed_check(
        "in_range",
        (column(COMPARABLE), *_bounds(ParameterKind.VALUE)),
        "Every value is at least `min` and at most `max`.",
        'column = "amount", min = 0',
        _in_range,
    ),
    _keyed_check(
        "regex_match",
        (column(TEXTUAL), Parameter("pattern", ParameterKind.TEXT, also=("regex",))),
        "The whole of every value matches the regular expression; `matches` by another name.",
        'column = "zip", pattern = "[0-9]{5}"',
        matches_pattern,
    ),
    _keyed_check(
        "aggregate",
        (
            Parameter("function", ParameterKind.CHOICE, choices=tuple(_FUNCTIONS), also=("agg",)),
            Parameter("column", ParameterKind.COLUMN, optional=True),
            _OPERATOR,
            Parameter("value", ParameterKind.TEXT),
        ),
        f"An aggregate of the column ({', '.join(_FUNCTIONS)}; `count` also of all rows) meets the comparison.",
        'function = "sum", column = "amount", operator = ">", value = 0',
        _aggregate,
        nulls="NULL is left out; fails where all are NULL, but for counts",
        empty="fails, but for counts",
    ),
    _keyed_check(
        "not_in_future",
        (column(TIME),),
        "No value is later than the moment of the check.",
        'column = "ordered_at"',
        _not_in_future,
    ),
    _keyed_check(
        "older_than_n_days",
        (column(TIME), Parameter("days", ParameterKind.WHOLE, also=("n",))),
        "Every value is at least that many days ago.",
        'column = "closed_at", days = 30',
        _older_than_n_days,
    ),
    _keyed_check(
        "freshness",
        (column(TIME), Parameter("max_age", ParameterKind.DURATION, also=("age", "within"))),
        "The newest value is not older than that.",
        'column = "updated_at", max_age = "24h"',
        lambda args: fresh(args, "max_age"),
        nulls="NULL is left out; fails where all are NULL",
        empty="fails",
    ),
    _keyed_check(
        "null_rate",
        (column(), Parameter("max", ParameterKind.SHARE, also=("threshold", "max_rate"))),
        "At most that share of the values is NULL: 0.05 or 5%.",
        'column = "phone", max = 0.05',
        lambda args: nulls_at_most(args, args.share("max") * 100),
        nulls="is counted",
    ),
)
