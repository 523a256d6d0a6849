"""The forms that several checks share: rules about rows, and aggregates with a condition."""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from fractions import Fraction

from tidegate.checks.check_parameters import Arguments
from tidegate.checks.check_values import AggregateRule, GroupRule, QueryRule, RowRule, ValueRange
from tidegate.datatypes import Column
from tidegate.names import quote
from tidegate.sql_literals import full_match

__all__ = [
    "aggregate",
    "at_most_percent",
    "between",
    "compared",
    "distinct_values",
    "entropy_of",
    "every_row",
    "finite",
    "found_in",
    "matches_pattern",
    "matching",
    "nulls_at_most",
    "one_of",
    "ordered",
    "plain",
    "quoted_columns",
    "row_rule",
    "step_rule",
    "unique_rows",
]


def row_rule(args: Arguments, violates: str, expected: str, *columns: str) -> RowRule:
    """`columns`: the parameters whose columns a sample shows first."""
    return RowRule(violates, expected, tuple(args.name(name) for name in columns or ("column",)))


def every_row(condition: str) -> RowRule:
    return RowRule(f"NOT ({condition})", condition)


def one_of(args: Arguments) -> RowRule:
    condition = f"{args.quoted()} IN ({', '.join(args.values('values'))})"
    return row_rule(args, f"NOT ({condition})", f"{args.name()} one of {args.text('values')}")


def matching(args: Arguments, pattern: str, expected: str) -> RowRule:
    """The whole of every value."""
    return row_rule(args, f"NOT ({args.quoted()} RLIKE {full_match(pattern)})", expected)


def matches_pattern(args: Arguments) -> RowRule:
    pattern = args.condition("pattern")
    return matching(args, pattern, f"{args.name()} matches {pattern}")


def found_in(args: Arguments, table: str, key: str) -> QueryRule:
    """Every value is one of a column of another table. `table`, `key`: the parameters that name them."""
    of, other = args.quoted(), args.relation(table)
    sql = (
        f"SELECT checked.* FROM {{table}} AS checked LEFT ANTI JOIN {other.quoted} AS other "
        f"ON checked.{of} = other.{quote(args.text(key))} WHERE checked.{of} IS NOT NULL"
    )
    return QueryRule(sql, f"every {args.name()} is found in {args.text(table)}.{args.text(key)}", (str(other),))


def nulls_at_most(args: Arguments, most: Decimal) -> AggregateRule:
    nulls = ("nulls", f"count(*) - count({args.quoted()})")
    return at_most_percent(nulls, ("total", "count(*)"), most, f"NULL in at most {plain(most)} % of {args.name()}")


def aggregate(expression: str, condition: str, expected: str, column: Column, *, exact: bool = False) -> AggregateRule:
    """Of the column's values. `condition` is over `value`. It fails where that is NULL or NaN."""
    passes = f"NOT isnan(value) AND value {condition}" if column.type.is_floating else f"value {condition}"
    return AggregateRule((("value", expression),), "value", passes, expected, exact=exact, of=column.name)


def at_most_percent(part: tuple[str, str], whole: tuple[str, str], most: Decimal, expected: str) -> AggregateRule:
    """If the whole is 0, so is the share. Counts are compared, so that no digit is lost."""
    if most > 100:
        raise ValueError(f"{plain(most)} % is more than all")
    value = f"coalesce(round(try_divide(100.0D * {part[0]}, {whole[0]}), 4), 0.0D)"
    return AggregateRule((whole, part), value, f"{part[0]} * 100 <= {plain(most)} * {whole[0]}", expected)


def distinct_values(args: Arguments) -> AggregateRule:
    expected = f"different values of {args.name()} {args.operator()} {args.whole('value')}"
    condition = f"value {args.operator()} {args.whole('value')}"
    return AggregateRule((("value", f"count(DISTINCT {args.quoted()})"),), "value", condition, expected, exact=True)


def unique_rows(keys: tuple[str, ...], expected: str) -> GroupRule:
    """Rows with a NULL among the keys are like no other row."""
    only = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    return GroupRule(keys, only, (("repeated", "count_if(n > 1)"),), "repeated", "repeated = 0", expected, "n > 1")


def entropy_of(column: str, condition: str, expected: str) -> GroupRule:
    """Shannon's, in bits, of the values that are there; NULL where there are none. Rounded, for sums of logarithms of
    equal numbers are not quite equal."""
    value = "round(log2(total) - weighted / total, 9)"
    aggregates = (("total", "sum(n)"), ("weighted", "sum(n * log2(n))"))
    return GroupRule((column,), f"{column} IS NOT NULL", aggregates, value, f"{value} {condition}", expected, "false")


def step_rule(args: Arguments, step: int) -> AggregateRule:
    """All values leave the same rest, none occurs twice, and there are as many as between the first and the last."""
    if step < 1:
        raise ValueError("the step must be 1 or more")
    column, wide = args.quoted(), "CAST({} AS DECIMAL(38, 0))"
    aggregates = (
        ("known", f"count({column})"),
        ("different", f"count(DISTINCT {column})"),
        ("first", f"min({column})"),
        ("last", f"max({column})"),
        ("least_rest", f"min(pmod({column}, {step}))"),
        ("most_rest", f"max(pmod({column}, {step}))"),
    )
    between = f"{wide.format('last')} - {wide.format('first')}"
    passes = f"known = 0 OR (different = known AND least_rest = most_rest AND {between} = (known - 1) * {step}BD)"
    steps = "by 1" if step == 1 else f"by {step}"
    expected = f"{args.name()} goes up {steps} without gap or repetition"
    return AggregateRule(aggregates, "different", passes, expected, exact=True)


def ordered(args: Arguments, low: str, high: str) -> None:
    """Raises ValueError where no number can lie between the two."""
    try:
        wrong = args.decimal(low) > args.decimal(high)
    except ValueError:
        # Dates and texts are compared by Spark.
        return
    if wrong and not args.type().is_text:
        raise ValueError(f"{args.text(low)} is more than {args.text(high)}, so nothing is between them")


def plain(number: Decimal) -> str:
    """In digits, without an exponent."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def quoted_columns(args: Arguments, name: str = "columns") -> tuple[str, ...]:
    return tuple(quote(column.name) for column in args.columns(name))


_PLAIN = re.compile(r"[+-]?\d+(\.\d+)?")
_EXACT_DIGITS = 18


def compared(args: Arguments, operator: str, value: str) -> ValueRange | None:
    limit = _limit(args, value)
    if limit is None:
        return None
    column = args.name()
    match operator:
        case "<" | "<=":
            return ValueRange(column, high=limit, inside=operator == "<")
        case ">" | ">=":
            return ValueRange(column, low=limit, inside=operator == ">")
        case "=":
            return ValueRange(column, limit, limit)
        case _:
            return None


def between(args: Arguments, low: str, high: str) -> ValueRange | None:
    least, most = _limit(args, low), _limit(args, high)
    return None if least is None or most is None else ValueRange(args.name(), least, most)


def finite(column: str) -> ValueRange:
    most = Fraction(sys.float_info.max)
    return ValueRange(column, -most, most)


def _limit(args: Arguments, name: str) -> Fraction | None:
    kind, text = args.type(), args.texts[name].strip()
    if not _PLAIN.fullmatch(text) or sum(map(str.isdigit, text)) > _EXACT_DIGITS:
        return None
    if kind.kind == "double":
        return Fraction(float(text))  # as Spark takes it
    exact = kind.is_integral or (kind.kind == "decimal" and kind.args[0] <= _EXACT_DIGITS)
    return Fraction(text) if exact else None
