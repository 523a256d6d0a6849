"""What `@constraint` may say: rules that a result must meet before it counts as written."""

from __future__ import annotations

from dataclasses import replace

from tidegate.checks.check_kinds import CheckKind, column, operand
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
from tidegate.checks.sql_literals import is_floating
from tidegate.names import literal

__all__ = ["CONSTRAINTS"]

_CONSTRAINT = frozenset({Stage.BEFORE_WRITE})
_OR_WARNING = _CONSTRAINT | {Stage.AFTER_PUBLISH}
_PASSES, _FAILS = "NULL passes", "NULL fails"
_EMPTY_PASSES = "passes"

_HOLDS_TEXT = Family("text, an array or a map", lambda kind: kind.is_text or kind.kind in ("array", "map"))
_READABLE = Family("text or a number", lambda kind: kind.is_text or kind.is_numeric)
_NOT_BLANK = r"\S"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = rf"[A-Za-z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{_LABEL}(?:\.{_LABEL})+"
_UUID = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def _not_null(given: Arguments) -> CheckRule:
    rule = row_rule(given, f"{given.quoted()} IS NULL", f"no NULL in {given.name()}")
    return replace(rule, within=ValueRange(given.name(), nulls=False, nans=True))


def _not_empty(given: Arguments) -> CheckRule:
    of = given.quoted()
    holds = f"size({of}) > 0" if given.type().kind in ("array", "map") else f"{of} RLIKE {literal(_NOT_BLANK)}"
    return row_rule(given, f"{of} IS NULL OR NOT ({holds})", f"no NULL and nothing blank in {given.name()}")


def _at_least_one(given: Arguments) -> CheckRule:
    expected = f"some value in {given.name()}"
    return AggregateRule((("known", f"count({given.quoted()})"),), "known", "known > 0", expected)


def _null_percent(given: Arguments) -> CheckRule:
    return nulls_at_most(given, given.percent("max"))


def _unique(given: Arguments) -> CheckRule:
    return unique_rows((given.quoted(),), f"no value of {given.name()} twice")


def _composite_unique(given: Arguments) -> CheckRule:
    names = ", ".join(found.name for found in given.columns())
    return unique_rows(quoted_columns(given), f"no values of {names} twice")


def _primary_key(given: Arguments) -> CheckRule:
    of = given.quoted()
    return GroupRule(
        keys=(of,),
        only="true",
        aggregates=(("broken", "count_if(n > 1)"),),
        value="broken",
        passes="broken = 0",
        expected=f"no value of {given.name()} twice, and no NULL",
        broken="n > 1",
        # A single row without a key is one too many.
        counted=f"count(*) + count_if({of} IS NULL)",
    )


def _compare(given: Arguments) -> CheckRule:
    condition = f"{given.quoted()} {given.operator()} {given.value('value')}"
    rule = row_rule(given, f"NOT ({condition})", f"{given.name()} {given.operator()} {given.text('value')}")
    return replace(rule, within=compared(given, given.operator(), "value"))


def _between(given: Arguments) -> CheckRule:
    ordered(given, "low", "high")
    condition = f"{given.quoted()} BETWEEN {given.value('low')} AND {given.value('high')}"
    expected = f"{given.name()} between {given.text('low')} and {given.text('high')}"
    return replace(row_rule(given, f"NOT ({condition})", expected), within=between(given, "low", "high"))


def _not_in(given: Arguments) -> CheckRule:
    condition = f"{given.quoted()} IN ({', '.join(given.values('values'))})"
    return row_rule(given, condition, f"{given.name()} none of {given.text('values')}")


def _not_constant(given: Arguments) -> CheckRule:
    of = given.quoted()
    # How many different ones there are beyond two takes a shuffle to know, and does not matter.
    value = "CASE WHEN least_value IS NULL THEN 0 WHEN least_value = most_value THEN 1 ELSE 2 END"
    return AggregateRule(
        (("least_value", f"min({of})"), ("most_value", f"max({of})")),
        value,
        "least_value IS NULL OR least_value <> most_value",
        f"more than one value in {given.name()}",
    )


def _like(given: Arguments) -> CheckRule:
    condition = f"{given.quoted()} LIKE {given.literal('pattern')}"
    return row_rule(given, f"NOT ({condition})", f"{given.name()} like {given.text('pattern')}")


def _not_like(given: Arguments) -> CheckRule:
    condition = f"{given.quoted()} LIKE {given.literal('pattern')}"
    return row_rule(given, condition, f"{given.name()} not like {given.text('pattern')}")


def _matches(given: Arguments) -> CheckRule:
    pattern = given.condition("pattern")
    return matching(given, pattern, f"{given.name()} matches {pattern}")


def _email(given: Arguments) -> CheckRule:
    return matching(given, _EMAIL, f"{given.name()} is an e-mail address")


def _uuid(given: Arguments) -> CheckRule:
    return matching(given, _UUID, f"{given.name()} is a UUID")


def _valid_type(given: Arguments) -> CheckRule:
    of, kind = given.quoted(), given.data_type("type")
    expected = f"{given.name()} can be read as {kind}"
    if kind.args and kind.kind != "decimal":
        raise ValueError(f"text cannot be read as {kind}")
    if given.type().is_numeric and not (kind.is_numeric or kind.is_text):
        raise ValueError(f"column '{given.name()}' is {given.type()}, and only text can be read as {kind}")
    if given.type() == kind:
        return StaticRule(True, str(kind), expected)
    return row_rule(given, f"{of} IS NOT NULL AND try_cast({of} AS {kind}) IS NULL", expected)


def _length_between(given: Arguments) -> CheckRule:
    low, high = given.whole("low"), given.whole("high")
    if low > high:
        raise ValueError(f"{low} is more than {high}, so nothing is between them")
    condition = f"char_length({given.quoted()}) BETWEEN {low} AND {high}"
    return row_rule(given, f"NOT ({condition})", f"{given.name()} has {low} to {high} characters")


def _length_eq(given: Arguments) -> CheckRule:
    length = given.whole("length")
    condition = f"char_length({given.quoted()}) <> {length}"
    return row_rule(given, condition, f"{given.name()} has {length} characters")


def _references(given: Arguments) -> CheckRule:
    return found_in(given, "table", "key")


def _sequential(given: Arguments) -> CheckRule:
    return step_rule(given, 1)


def _sequential_step(given: Arguments) -> CheckRule:
    return step_rule(given, given.whole("step"))


def _distinct_count(given: Arguments) -> CheckRule:
    return distinct_values(given, f"different values of {given.name()} {given.operator()} {given.whole('value')}")


def _duplicate_percent(given: Arguments) -> CheckRule:
    of, most = given.quoted(), given.percent("max")
    repeated = ("repeated", f"count({of}) - count(DISTINCT {of})")
    expected = f"repeated values in at most {plain(most)} % of {given.name()}"
    return replace(at_most_percent(repeated, ("known", f"count({of})"), most, expected), exact=True)


def _no_overlap(given: Arguments) -> CheckRule:
    start, end = given.quoted("start"), given.quoted("end")
    apart = f"PARTITION BY {', '.join(quoted_columns(given, 'within'))} " if given.has("within") else ""
    before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    # NULL and what ends before it begins overlap nothing. Rows are told from copies of themselves by their order alone.
    ended = f"max({end}) OVER ({apart}ORDER BY {start}, {end} {before}) AS `_ended`"
    sql = (
        f"SELECT * EXCEPT (`_ended`) FROM (SELECT *, {ended} "
        f"FROM {{table}} WHERE {start} < {end}) WHERE `_ended` > {start}"
    )
    return QueryRule(sql, f"no row begins ({given.name('start')}) before another ends ({given.name('end')})")


def _no_nan(given: Arguments) -> CheckRule:
    if given.type().known and not is_floating(given.type()):
        return StaticRule(True, str(given.type()), f"no NaN in {given.name()}")
    rule = row_rule(given, f"isnan({given.quoted()})", f"no NaN in {given.name()}")
    return replace(rule, within=ValueRange(given.name()))


def _finite(given: Arguments) -> CheckRule:
    if given.type().known and not is_floating(given.type()):
        return StaticRule(True, str(given.type()), f"{given.name()} is finite")
    of = given.quoted()
    infinite = f"abs({of}) = CAST('Infinity' AS DOUBLE)"
    rule = row_rule(given, f"isnan({of}) OR {infinite}", f"{given.name()} is finite")
    return replace(rule, within=finite(given.name()))


def _required_if(given: Arguments) -> CheckRule:
    condition = given.condition("condition")
    return row_rule(given, f"{given.quoted()} IS NULL AND ({condition})", f"{given.name()} where {condition}")


def _check(given: Arguments) -> CheckRule:
    return every_row(given.condition("condition"))


_PATTERN = Parameter("pattern", ParameterKind.TEXT)
_VALUES = Parameter("values", ParameterKind.LIST)
_MOST = Parameter("max", ParameterKind.PERCENT)
_VALUE = ParameterKind.VALUE

CONSTRAINTS = (
    CheckKind(
        "not_null",
        _OR_WARNING,
        (column(),),
        "No value is NULL.",
        _FAILS,
        _EMPTY_PASSES,
        "not_null(order_id)",
        _not_null,
    ),
    CheckKind(
        "not_empty",
        _CONSTRAINT,
        (column(_HOLDS_TEXT),),
        "No value is NULL or blank: text of nothing but white space, an array or a map without elements.",
        _FAILS,
        _EMPTY_PASSES,
        "not_empty(name)",
        _not_empty,
    ),
    CheckKind(
        "at_least_one",
        _CONSTRAINT,
        (column(),),
        "Some value is not NULL.",
        "fails where all are NULL",
        "fails",
        "at_least_one(email)",
        _at_least_one,
    ),
    CheckKind(
        "null_percent",
        _OR_WARNING,
        (column(), _MOST),
        "At most so many of a hundred values are NULL.",
        "is what is counted",
        _EMPTY_PASSES,
        "null_percent(phone, 5%)",
        _null_percent,
    ),
    CheckKind(
        "unique",
        _OR_WARNING,
        (column(GROUPABLE),),
        "No value is there twice.",
        "NULL passes, however often",
        _EMPTY_PASSES,
        "unique(email)",
        _unique,
    ),
    CheckKind(
        "composite_unique",
        _CONSTRAINT,
        (Parameter("columns", ParameterKind.COLUMNS, GROUPABLE),),
        "No two rows have the same values in all of the columns.",
        "a row with a NULL in one of them passes",
        _EMPTY_PASSES,
        "composite_unique('order_id, line')",
        _composite_unique,
    ),
    CheckKind(
        "primary_key",
        _CONSTRAINT,
        (column(GROUPABLE),),
        "No value is NULL and none is there twice.",
        _FAILS,
        _EMPTY_PASSES,
        "primary_key(order_id)",
        _primary_key,
    ),
    CheckKind(
        "compare",
        _OR_WARNING,
        (column(COMPARABLE), *operand(_VALUE)),
        "Every value compares so with a number, text, a date or a time, whichever the column holds. "
        "Two columns are compared by `check`. NaN is more than any number.",
        _PASSES,
        _EMPTY_PASSES,
        "compare(amount, >=, 0)",
        _compare,
    ),
    CheckKind(
        "between",
        _CONSTRAINT,
        (column(COMPARABLE), Parameter("low", _VALUE), Parameter("high", _VALUE)),
        "Every value lies between the two, or is one of them.",
        _PASSES,
        _EMPTY_PASSES,
        "between(rate, 0, 1)",
        _between,
    ),
    CheckKind(
        "in_list",
        _CONSTRAINT,
        (column(COMPARABLE), _VALUES),
        "Every value is one of the list. White space around an item does not count; one that holds a comma is quoted.",
        _PASSES,
        _EMPTY_PASSES,
        "in_list(status, 'open, paid')",
        one_of,
    ),
    CheckKind(
        "not_in",
        _CONSTRAINT,
        (column(COMPARABLE), _VALUES),
        "No value is one of the list.",
        _PASSES,
        _EMPTY_PASSES,
        "not_in(status, 'test, dummy')",
        _not_in,
    ),
    CheckKind(
        "not_constant",
        _CONSTRAINT,
        (column(COMPARABLE),),
        "There are two different values or more. The value is 0, 1 or 2 (two or more).",
        "NULL is no value; passes where all are NULL",
        _EMPTY_PASSES,
        "not_constant(country)",
        _not_constant,
    ),
    CheckKind(
        "like",
        _CONSTRAINT,
        (column(TEXTUAL), _PATTERN),
        "Every value is like the pattern: `%` is any text, `_` any one character.",
        _PASSES,
        _EMPTY_PASSES,
        "like(sku, 'A-%')",
        _like,
    ),
    CheckKind(
        "not_like",
        _CONSTRAINT,
        (column(TEXTUAL), _PATTERN),
        "No value is like the pattern.",
        _PASSES,
        _EMPTY_PASSES,
        "not_like(name, '%test%')",
        _not_like,
    ),
    CheckKind(
        "matches",
        _CONSTRAINT,
        (column(TEXTUAL), _PATTERN),
        "The whole of every value matches the regular expression (Java's).",
        _PASSES,
        _EMPTY_PASSES,
        "matches(zip, '[0-9]{5}')",
        _matches,
    ),
    CheckKind(
        "email",
        _CONSTRAINT,
        (column(TEXTUAL),),
        "Every value is written like an e-mail address with a dot in its domain.",
        _PASSES,
        _EMPTY_PASSES,
        "email(contact)",
        _email,
    ),
    CheckKind(
        "uuid",
        _CONSTRAINT,
        (column(TEXTUAL),),
        "Every value is a UUID in its usual form of 36 characters; case does not count.",
        _PASSES,
        _EMPTY_PASSES,
        "uuid(session_id)",
        _uuid,
    ),
    CheckKind(
        "valid_type",
        _CONSTRAINT,
        (column(_READABLE), Parameter("type", ParameterKind.TYPE)),
        "Every value can be read as the type, as CAST would.",
        _PASSES,
        _EMPTY_PASSES,
        "valid_type(quantity, int)",
        _valid_type,
    ),
    CheckKind(
        "length_between",
        _CONSTRAINT,
        (column(TEXTUAL), Parameter("low", ParameterKind.WHOLE), Parameter("high", ParameterKind.WHOLE)),
        "Every value has so many characters; both ends count.",
        _PASSES,
        _EMPTY_PASSES,
        "length_between(name, 1, 80)",
        _length_between,
    ),
    CheckKind(
        "length_eq",
        _CONSTRAINT,
        (column(TEXTUAL), Parameter("length", ParameterKind.WHOLE)),
        "Every value has exactly so many characters.",
        _PASSES,
        _EMPTY_PASSES,
        "length_eq(country, 2)",
        _length_eq,
    ),
    CheckKind(
        "references",
        _CONSTRAINT,
        (column(GROUPABLE), Parameter("table", ParameterKind.TABLE), Parameter("key", ParameterKind.OTHER_COLUMN)),
        "Every value is found in a column of another table, which is built before this one.",
        _PASSES,
        _EMPTY_PASSES,
        "references(customer_id, silver.customers, id)",
        _references,
    ),
    CheckKind(
        "sequential",
        _CONSTRAINT,
        (column(STEPPED),),
        "The values are consecutive whole numbers, from whichever to whichever: no gap, none twice.",
        "NULL is no value and passes",
        _EMPTY_PASSES,
        "sequential(line)",
        _sequential,
    ),
    CheckKind(
        "sequential_step",
        _CONSTRAINT,
        (column(STEPPED), Parameter("step", ParameterKind.WHOLE)),
        "Each value is the one before it plus the step: no gap, none twice, none in between.",
        "NULL is no value and passes",
        _EMPTY_PASSES,
        "sequential_step(minute, 15)",
        _sequential_step,
    ),
    CheckKind(
        "distinct_count",
        _CONSTRAINT,
        (column(GROUPABLE), *operand(ParameterKind.WHOLE)),
        "The number of different values compares so.",
        "NULL is no value",
        "counts 0",
        "distinct_count(country, >=, 2)",
        _distinct_count,
    ),
    CheckKind(
        "duplicate_percent",
        _CONSTRAINT,
        (column(GROUPABLE), _MOST),
        "At most so many of a hundred values repeat one that is there already.",
        "NULL is no value and passes",
        _EMPTY_PASSES,
        "duplicate_percent(email, 1%)",
        _duplicate_percent,
    ),
    CheckKind(
        "no_overlap",
        _CONSTRAINT,
        (
            column(COMPARABLE, "start"),
            column(COMPARABLE, "end"),
            Parameter("within", ParameterKind.COLUMNS, GROUPABLE, optional=True),
        ),
        "No two rows overlap. A row reaches from its start up to, not including, its end, so one may begin where "
        "another ends; one that ends before it begins reaches nowhere. `within`: only rows with the same values there "
        "are compared.",
        "a row with a NULL in either passes",
        _EMPTY_PASSES,
        "no_overlap(valid_from, valid_to, customer_id)",
        _no_overlap,
    ),
    CheckKind(
        "no_nan",
        _CONSTRAINT,
        (column(NUMERIC),),
        "No value is NaN; exact numbers never are.",
        _PASSES,
        _EMPTY_PASSES,
        "no_nan(score)",
        _no_nan,
    ),
    CheckKind(
        "finite",
        _CONSTRAINT,
        (column(NUMERIC),),
        "No value is NaN or infinite; exact numbers never are.",
        _PASSES,
        _EMPTY_PASSES,
        "finite(score)",
        _finite,
    ),
    CheckKind(
        "required_if",
        _CONSTRAINT,
        (column(), Parameter("condition", ParameterKind.CONDITION)),
        "No value is NULL in a row that meets the condition.",
        "fails where the condition is true; a condition that is NULL is not",
        _EMPTY_PASSES,
        "required_if(paid_at, status = 'paid')",
        _required_if,
    ),
    CheckKind(
        "check",
        _CONSTRAINT,
        (Parameter("label", ParameterKind.LABEL), Parameter("condition", ParameterKind.CONDITION)),
        "Every row meets the condition. The label is the check's name.",
        "a condition that is NULL passes",
        _EMPTY_PASSES,
        "check(ships_after_order, shipped_at >= ordered_at)",
        _check,
    ),
)
