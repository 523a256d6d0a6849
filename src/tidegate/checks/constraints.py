"""The checks of `@constraint`: rules that a result must meet before it counts as written."""

from __future__ import annotations

from dataclasses import replace

from tidegate.checks.check_kinds import Build, CheckKind, column, operand
from tidegate.checks.check_parameters import (
    COMPARABLE,
    GROUPABLE,
    NUMERIC,
    STEPPED,
    TEXTUAL,
    Arguments,
    Family,
    Parameter,
    ParameterKind,
)
from tidegate.checks.check_values import AggregateRule, CheckRule, GroupRule, QueryRule, Stage, StaticRule, ValueRange
from tidegate.checks.rule_forms import (
    at_most_percent,
    between,
    compared,
    distinct_values,
    every_row,
    finite,
    found_in,
    matches_pattern,
    matching,
    nulls_at_most,
    one_of,
    ordered,
    plain,
    quoted_columns,
    row_rule,
    step_rule,
    unique_rows,
)
from tidegate.names import literal

__all__ = ["CONSTRAINTS"]

_STAGES = frozenset({Stage.BEFORE_WRITE})
_PASSES, _FAILS = "NULL passes", "NULL fails"

_HOLDS_TEXT = Family("text, an array or a map", lambda kind: kind.is_text or kind.kind in ("array", "map"))
_READABLE = Family("text or a number", lambda kind: kind.is_text or kind.is_numeric)
_NOT_BLANK = r"\S"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})+"
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def _not_null(args: Arguments) -> CheckRule:
    rule = row_rule(args, f"{args.quoted()} IS NULL", f"no NULL in {args.name()}")
    return replace(rule, within=ValueRange(args.name(), nulls=False, nans=True))


def _not_empty(args: Arguments) -> CheckRule:
    of = args.quoted()
    holds = f"size({of}) > 0" if args.type().kind in ("array", "map") else f"{of} RLIKE {literal(_NOT_BLANK)}"
    return row_rule(args, f"{of} IS NULL OR NOT ({holds})", f"no NULL and nothing blank in {args.name()}")


def _at_least_one(args: Arguments) -> CheckRule:
    expected = f"some value in {args.name()}"
    return AggregateRule((("known", f"count({args.quoted()})"),), "known", "known > 0", expected)


def _unique(args: Arguments) -> CheckRule:
    return unique_rows((args.quoted(),), f"no value of {args.name()} twice")


def _composite_unique(args: Arguments) -> CheckRule:
    names = ", ".join(column.name for column in args.columns())
    return unique_rows(quoted_columns(args), f"no values of {names} twice")


def _primary_key(args: Arguments) -> CheckRule:
    of = args.quoted()
    return GroupRule(
        keys=(of,),
        only="true",
        aggregates=(("broken", "count_if(n > 1)"),),
        value="broken",
        passes="broken = 0",
        expected=f"no value of {args.name()} twice, and no NULL",
        broken="n > 1",
        # A single row without a key is one too many.
        counted=f"count(*) + count_if({of} IS NULL)",
    )


def _compare(args: Arguments) -> CheckRule:
    condition = f"{args.quoted()} {args.operator()} {args.value('value')}"
    rule = row_rule(args, f"NOT ({condition})", f"{args.name()} {args.operator()} {args.text('value')}")
    return replace(rule, within=compared(args, args.operator(), "value"))


def _between(args: Arguments) -> CheckRule:
    ordered(args, "low", "high")
    condition = f"{args.quoted()} BETWEEN {args.value('low')} AND {args.value('high')}"
    expected = f"{args.name()} between {args.text('low')} and {args.text('high')}"
    return replace(row_rule(args, f"NOT ({condition})", expected), within=between(args, "low", "high"))


def _not_in(args: Arguments) -> CheckRule:
    condition = f"{args.quoted()} IN ({', '.join(args.values('values'))})"
    return row_rule(args, condition, f"{args.name()} none of {args.text('values')}")


def _not_constant(args: Arguments) -> CheckRule:
    of = args.quoted()
    # How many different ones there are beyond two takes a shuffle to know, and does not matter.
    value = "CASE WHEN least_value IS NULL THEN 0 WHEN least_value = most_value THEN 1 ELSE 2 END"
    return AggregateRule(
        (("least_value", f"min({of})"), ("most_value", f"max({of})")),
        value,
        "least_value IS NULL OR least_value <> most_value",
        f"more than one value in {args.name()}",
    )


def _like(args: Arguments) -> CheckRule:
    condition = f"{args.quoted()} LIKE {args.literal('pattern')}"
    return row_rule(args, f"NOT ({condition})", f"{args.name()} like {args.text('pattern')}")


def _not_like(args: Arguments) -> CheckRule:
    condition = f"{args.quoted()} LIKE {args.literal('pattern')}"
    return row_rule(args, condition, f"{args.name()} not like {args.text('pattern')}")


def _valid_type(args: Arguments) -> CheckRule:
    of, kind = args.quoted(), args.data_type("type")
    expected = f"{args.name()} can be read as {kind}"
    if kind.args and kind.kind != "decimal":
        raise ValueError(f"text cannot be read as {kind}")
    if args.type().is_numeric and not (kind.is_numeric or kind.is_text):
        raise ValueError(f"column '{args.name()}' is {args.type()}, and only text can be read as {kind}")
    if args.type() == kind:
        return StaticRule(True, str(kind), expected)
    return row_rule(args, f"{of} IS NOT NULL AND try_cast({of} AS {kind}) IS NULL", expected)


def _length_between(args: Arguments) -> CheckRule:
    low, high = args.whole("low"), args.whole("high")
    if low > high:
        raise ValueError(f"{low} is more than {high}, so nothing is between them")
    condition = f"char_length({args.quoted()}) BETWEEN {low} AND {high}"
    return row_rule(args, f"NOT ({condition})", f"{args.name()} has {low} to {high} characters")


def _length_eq(args: Arguments) -> CheckRule:
    length = args.whole("length")
    condition = f"char_length({args.quoted()}) <> {length}"
    return row_rule(args, condition, f"{args.name()} has {length} characters")


def _duplicate_percent(args: Arguments) -> CheckRule:
    of, most = args.quoted(), args.percent("max")
    repeated = ("repeated", f"count({of}) - count(DISTINCT {of})")
    expected = f"repeated values in at most {plain(most)} % of {args.name()}"
    return replace(at_most_percent(repeated, ("known", f"count({of})"), most, expected), exact=True)


def _no_overlap(args: Arguments) -> CheckRule:
    start, end = args.quoted("start"), args.quoted("end")
    apart = f"PARTITION BY {', '.join(quoted_columns(args, 'within'))} " if args.has("within") else ""
    before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    # NULL and what ends before it begins overlap nothing. Equal rows differ by their order alone.
    ended = f"max({end}) OVER ({apart}ORDER BY {start}, {end} {before}) AS `_ended`"
    sql = (
        f"SELECT * EXCEPT (`_ended`) FROM (SELECT *, {ended} "
        f"FROM {{table}} WHERE {start} < {end}) WHERE `_ended` > {start}"
    )
    return QueryRule(sql, f"no row begins ({args.name('start')}) before another ends ({args.name('end')})")


def _no_nan(args: Arguments) -> CheckRule:
    if args.type().known and not args.type().is_floating:
        return StaticRule(True, str(args.type()), f"no NaN in {args.name()}")
    rule = row_rule(args, f"isnan({args.quoted()})", f"no NaN in {args.name()}")
    return replace(rule, within=ValueRange(args.name()))


def _finite(args: Arguments) -> CheckRule:
    if args.type().known and not args.type().is_floating:
        return StaticRule(True, str(args.type()), f"{args.name()} is finite")
    of = args.quoted()
    infinite = f"abs({of}) = CAST('Infinity' AS DOUBLE)"
    rule = row_rule(args, f"isnan({of}) OR {infinite}", f"{args.name()} is finite")
    return replace(rule, within=finite(args.name()))


def _required_if(args: Arguments) -> CheckRule:
    condition = args.condition("condition")
    return row_rule(args, f"{args.quoted()} IS NULL AND ({condition})", f"{args.name()} where {condition}")


def _constraint(
    name: str,
    parameters: tuple[Parameter, ...],
    meaning: str,
    example: str,
    build: Build,
    *,
    nulls: str = _PASSES,
    empty: str = "passes",
    warning: bool = False,
) -> CheckKind:
    return CheckKind(
        name, _STAGES | {Stage.AFTER_PUBLISH} if warning else _STAGES, parameters, meaning, nulls, empty, example, build
    )


_PATTERN = Parameter("pattern", ParameterKind.TEXT)
_VALUES = Parameter("values", ParameterKind.LIST)
_MOST = Parameter("max", ParameterKind.PERCENT)
_VALUE = ParameterKind.VALUE

CONSTRAINTS = (
    _constraint(
        "not_null", (column(),), "No value is NULL.", "not_null(order_id)", _not_null, nulls=_FAILS, warning=True
    ),
    _constraint(
        "not_empty",
        (column(_HOLDS_TEXT),),
        "No value is NULL or blank: text of nothing but white space, an array or a map without elements.",
        "not_empty(name)",
        _not_empty,
        nulls=_FAILS,
    ),
    _constraint(
        "at_least_one",
        (column(),),
        "Some value is not NULL.",
        "at_least_one(email)",
        _at_least_one,
        nulls="fails where all are NULL",
        empty="fails",
    ),
    _constraint(
        "null_percent",
        (column(), _MOST),
        "At most that percentage of the values is NULL.",
        "null_percent(phone, 5%)",
        lambda args: nulls_at_most(args, args.percent("max")),
        nulls="is counted",
        warning=True,
    ),
    _constraint(
        "unique",
        (column(GROUPABLE),),
        "No value occurs twice.",
        "unique(email)",
        _unique,
        nulls="NULL passes, however often",
        warning=True,
    ),
    _constraint(
        "composite_unique",
        (Parameter("columns", ParameterKind.COLUMNS, GROUPABLE),),
        "No two rows have the same values in all of the columns.",
        "composite_unique('order_id, line')",
        _composite_unique,
        nulls="a row with a NULL in one of them passes",
    ),
    _constraint(
        "primary_key",
        (column(GROUPABLE),),
        "No value is NULL and none occurs twice.",
        "primary_key(order_id)",
        _primary_key,
        nulls=_FAILS,
    ),
    _constraint(
        "compare",
        (column(COMPARABLE), *operand(_VALUE)),
        "Every value meets the comparison with a number, text, a date or a time, whichever the column holds. "
        "Two columns are compared by `check`. NaN is more than any number.",
        "compare(amount, >=, 0)",
        _compare,
        warning=True,
    ),
    _constraint(
        "between",
        (column(COMPARABLE), Parameter("low", _VALUE), Parameter("high", _VALUE)),
        "Every value lies between the two, or is one of them.",
        "between(rate, 0, 1)",
        _between,
    ),
    _constraint(
        "in_list",
        (column(COMPARABLE), _VALUES),
        "Every value is one of the list. White space around an item does not count; one that holds a comma is quoted.",
        "in_list(status, 'open, paid')",
        one_of,
    ),
    _constraint(
        "not_in",
        (column(COMPARABLE), _VALUES),
        "No value is one of the list.",
        "not_in(status, 'test, dummy')",
        _not_in,
    ),
    _constraint(
        "not_constant",
        (column(COMPARABLE),),
        "There are two different values or more. The value is 0, 1 or 2 (two or more).",
        "not_constant(country)",
        _not_constant,
        nulls="NULL is no value; passes where all are NULL",
    ),
    _constraint(
        "like",
        (column(TEXTUAL), _PATTERN),
        "Every value is like the pattern: `%` is any text, `_` any one character.",
        "like(sku, 'A-%')",
        _like,
    ),
    _constraint(
        "not_like", (column(TEXTUAL), _PATTERN), "No value is like the pattern.", "not_like(name, '%test%')", _not_like
    ),
    _constraint(
        "matches",
        (column(TEXTUAL), _PATTERN),
        "The whole of every value matches the regular expression (Java's).",
        "matches(zip, '[0-9]{5}')",
        matches_pattern,
    ),
    _constraint(
        "email",
        (column(TEXTUAL),),
        "Every value is written like an e-mail address with a dot in its domain.",
        "email(contact)",
        lambda args: matching(args, _EMAIL, f"{args.name()} is an e-mail address"),
    ),
    _constraint(
        "uuid",
        (column(TEXTUAL),),
        "Every value is a UUID in its usual form of 36 characters; case does not count.",
        "uuid(session_id)",
        lambda args: matching(args, _UUID, f"{args.name()} is a UUID"),
    ),
    _constraint(
        "valid_type",
        (column(_READABLE), Parameter("type", ParameterKind.TYPE)),
        "Every value can be read as the type, as CAST would.",
        "valid_type(quantity, int)",
        _valid_type,
    ),
    _constraint(
        "length_between",
        (column(TEXTUAL), Parameter("low", ParameterKind.WHOLE), Parameter("high", ParameterKind.WHOLE)),
        "The length of every value is between the two, in characters; both ends count.",
        "length_between(name, 1, 80)",
        _length_between,
    ),
    _constraint(
        "length_eq",
        (column(TEXTUAL), Parameter("length", ParameterKind.WHOLE)),
        "Every value has exactly that number of characters.",
        "length_eq(country, 2)",
        _length_eq,
    ),
    _constraint(
        "references",
        (column(GROUPABLE), Parameter("table", ParameterKind.TABLE), Parameter("key", ParameterKind.OTHER_COLUMN)),
        "Every value is found in a column of another table, which is built before this one.",
        "references(customer_id, silver.customers, id)",
        lambda args: found_in(args, "table", "key"),
    ),
    _constraint(
        "sequential",
        (column(STEPPED),),
        "The values are consecutive whole numbers, from any first to any last one: no gap, no duplicate.",
        "sequential(line)",
        lambda args: step_rule(args, 1),
        nulls="NULL is no value and passes",
    ),
    _constraint(
        "sequential_step",
        (column(STEPPED), Parameter("step", ParameterKind.WHOLE)),
        "Each value is the one before it plus the step: no gap, no duplicate, none in between.",
        "sequential_step(minute, 15)",
        lambda args: step_rule(args, args.whole("step")),
        nulls="NULL is no value and passes",
    ),
    _constraint(
        "distinct_count",
        (column(GROUPABLE), *operand(ParameterKind.WHOLE)),
        "The number of different values meets the comparison.",
        "distinct_count(country, >=, 2)",
        distinct_values,
        nulls="NULL is no value",
        empty="counts 0",
    ),
    _constraint(
        "duplicate_percent",
        (column(GROUPABLE), _MOST),
        "At most that percentage of the values repeats another one.",
        "duplicate_percent(email, 1%)",
        _duplicate_percent,
        nulls="NULL is no value and passes",
    ),
    _constraint(
        "no_overlap",
        (
            column(COMPARABLE, "start"),
            column(COMPARABLE, "end"),
            Parameter("within", ParameterKind.COLUMNS, GROUPABLE, optional=True),
        ),
        "No two rows overlap. A row covers the time from its start up to, not including, its end, so one may "
        "begin where another ends; one that ends before it begins covers no time. `within`: only rows with the same "
        "values there are compared.",
        "no_overlap(valid_from, valid_to, customer_id)",
        _no_overlap,
        nulls="a row with a NULL in either passes",
    ),
    _constraint("no_nan", (column(NUMERIC),), "No value is NaN; exact numbers never are.", "no_nan(score)", _no_nan),
    _constraint(
        "finite", (column(NUMERIC),), "No value is NaN or infinite; exact numbers never are.", "finite(score)", _finite
    ),
    _constraint(
        "required_if",
        (column(), Parameter("condition", ParameterKind.CONDITION)),
        "No value is NULL in a row that meets the condition.",
        "required_if(paid_at, status = 'paid')",
        _required_if,
        nulls="fails where the condition is true; a condition that is NULL is not",
    ),
    _constraint(
        "check",
        (Parameter("label", ParameterKind.LABEL), Parameter("condition", ParameterKind.CONDITION)),
        "Every row meets the condition. The label is the check's name.",
        "check(ships_after_order, shipped_at >= ordered_at)",
        lambda args: every_row(args.condition("condition")),
        nulls="a condition that is NULL passes",
    ),
)
