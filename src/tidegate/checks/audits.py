"""The checks of `@audit`: rules about a table as it will be published."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidegate.checks.check_kinds import Build, CheckKind, column, operand
from tidegate.checks.check_parameters import (
    COMPARABLE,
    GROUPABLE,
    NUMERIC,
    TIME,
    Arguments,
    Mistake,
    Parameter,
    ParameterKind,
)
from tidegate.checks.check_values import AggregateRule, CheckRule, QueryRule, Stage, StaticRule
from tidegate.checks.rule_forms import aggregate, entropy_of, ordered, plain
from tidegate.datatypes import Column, Relation
from tidegate.names import literal, nearest, quote
from tidegate.problems import did_you_mean
from tidegate.sql_literals import interval

__all__ = ["AUDITS", "fresh", "golden_rows"]


_STAGES = frozenset({Stage.BEFORE_PUBLISH})
_NULLS = "NULL is left out; fails where all are NULL"
_NOT_ASKED = "does not matter"


def _row_count(args: Arguments) -> CheckRule:
    condition = f"value {args.operator()} {args.whole('value')}"
    expected = f"rows {args.operator()} {args.whole('value')}"
    return AggregateRule((("value", "count(*)"),), "value", condition, expected)


def fresh(args: Arguments, parameter: str) -> AggregateRule:
    oldest = f"current_timestamp() - {interval(args.duration(parameter))}"
    expected = f"newest {args.name()} at most {args.text(parameter)} old"
    newest = f"CAST(max({args.quoted()}) AS TIMESTAMP)"
    return AggregateRule((("value", newest),), "value", f"value >= {oldest}", expected, of=args.name())


def _judge(what: str, function: str, args: Arguments, value: str, *, exact: bool = False) -> AggregateRule:
    expected = f"{what} of {args.name()} {args.operator()} {args.text('value')}"
    condition = f"{args.operator()} {value}"
    return aggregate(f"{function}({args.quoted()})", condition, expected, args.column(), exact=exact)


def _mean(args: Arguments) -> CheckRule:
    return _judge("mean", "avg", args, args.number("value"))


def _median(args: Arguments) -> CheckRule:
    return _judge("median", "median", args, args.number("value"), exact=True)


def _min(args: Arguments) -> CheckRule:
    return _judge("min", "min", args, args.value("value"))


def _max(args: Arguments) -> CheckRule:
    return _judge("max", "max", args, args.value("value"))


def _sum(args: Arguments) -> CheckRule:
    return _judge("sum", "sum", args, args.number("value"))


def _mean_between(args: Arguments) -> CheckRule:
    ordered(args, "low", "high")
    expected = f"mean of {args.name()} between {args.text('low')} and {args.text('high')}"
    condition = f"BETWEEN {args.number('low')} AND {args.number('high')}"
    return aggregate(f"avg({args.quoted()})", condition, expected, args.column())


def _stddev(args: Arguments) -> CheckRule:
    return _judge("standard deviation", "stddev_samp", args, args.number("value"))


def _zscore(args: Arguments) -> CheckRule:
    most, of = args.number("threshold"), f"CAST({args.quoted()} AS DOUBLE)"
    if args.decimal("threshold") <= 0:
        raise ValueError("the threshold must be more than 0")
    furthest = "greatest(last - middle, middle - first)"
    return AggregateRule(
        (("middle", f"avg({of})"), ("spread", f"stddev_pop({of})"), ("first", f"min({of})"), ("last", f"max({of})")),
        f"CASE WHEN first = last THEN 0.0D ELSE round(try_divide({furthest}, spread), 6) END",
        # Values that are all the same may differ from their mean in the last digit.
        f"NOT isnan(last) AND (first = last OR {furthest} <= {most} * spread)",
        f"no {args.name()} more than {args.text('threshold')} standard deviations from the mean",
    )


def _percentile(args: Arguments) -> CheckRule:
    share = plain(args.share("share"))
    expected = f"percentile {share} of {args.name()} {args.operator()} {args.text('value')}"
    condition = f"{args.operator()} {args.number('value')}"
    return aggregate(f"percentile({args.quoted()}, {share})", condition, expected, args.column(), exact=True)


def _entropy(args: Arguments) -> CheckRule:
    expected = f"entropy of {args.name()} {args.operator()} {args.text('value')} bits"
    return entropy_of(args.quoted(), f"{args.operator()} {args.number('value')}", expected)


def _approx_distinct(args: Arguments) -> CheckRule:
    condition = f"value {args.operator()} {args.whole('value')}"
    expected = f"about {args.operator()} {args.whole('value')} different values of {args.name()}"
    return AggregateRule((("value", f"approx_count_distinct({args.quoted()})"),), "value", condition, expected)


def _reconcile_count(args: Arguments) -> CheckRule:
    other = args.relation("table")
    sql = (
        "SELECT * FROM (SELECT (SELECT count(*) FROM {table}) AS `rows`, "
        f"(SELECT count(*) FROM {other.quoted}) AS `other_rows`) WHERE `rows` <> `other_rows`"
    )
    return QueryRule(sql, f"as many rows as {args.text('table')}", (str(other),))


def _reconcile_sum(args: Arguments) -> CheckRule:
    other, theirs = args.relation("table"), quote(args.text("other"))
    same = "`total` = `other_total`"
    if args.type().is_floating:
        # The sum of such numbers depends on their order in its last digits.
        same = "abs(`total` - `other_total`) <= 1e-9 * greatest(abs(`total`), abs(`other_total`))"
    sql = (
        f"SELECT * FROM (SELECT (SELECT sum({args.quoted()}) FROM {{table}}) AS `total`, "
        f"(SELECT sum({theirs}) FROM {other.quoted}) AS `other_total`) WHERE coalesce(NOT ({same}), true)"
    )
    expected = f"sum of {args.name()} is that of {args.text('other')} in {args.text('table')}"
    return QueryRule(sql, expected, (str(other),))


def _column_exists(args: Arguments) -> CheckRule:
    name = args.condition("column")
    column = args.table.find(name)
    return StaticRule(column is not None, str(column.type) if column else "no such column", f"a column {name}")


def _column_type(args: Arguments) -> CheckRule:
    name, kind = args.condition("column"), args.data_type("type")
    column = args.table.find(name)
    any_decimal = args.text("type").strip().lower() in ("decimal", "dec", "numeric")
    expected = f"{name} is {'decimal' if any_decimal else kind}"
    if column is None:
        return StaticRule(False, "no such column", expected)
    same = column.type.kind == "decimal" if any_decimal else column.type == kind
    return StaticRule(same, str(column.type), expected)


def _golden(args: Arguments) -> CheckRule:
    return golden_rows(args.text("file"), args.source, args.table)


_NUMBER = ParameterKind.NUMBER
_TABLE = Parameter("table", ParameterKind.TABLE)


def _audit(
    name: str,
    parameters: tuple[Parameter, ...],
    meaning: str,
    example: str,
    build: Build,
    *,
    nulls: str = _NULLS,
    empty: str = "fails",
    warning: bool = False,
) -> CheckKind:
    return CheckKind(
        name, _STAGES | {Stage.AFTER_PUBLISH} if warning else _STAGES, parameters, meaning, nulls, empty, example, build
    )


def _of_column(name: str, what: str, example: str, build: Build, *, warning: bool = False) -> CheckKind:
    parameters = (column(NUMERIC), *operand(_NUMBER))
    return _audit(name, parameters, f"{what} meets the comparison. NaN fails.", example, build, warning=warning)


AUDITS = (
    _audit(
        "row_count",
        operand(ParameterKind.WHOLE),
        "The number of rows meets the comparison.",
        "row_count(>, 0)",
        _row_count,
        nulls=_NOT_ASKED,
        empty="counts 0",
        warning=True,
    ),
    _audit(
        "freshness",
        (column(TIME), Parameter("age", ParameterKind.DURATION)),
        "The newest value is not older than that (`s m h d w`), counted from the moment of the check. "
        "A date counts from its midnight, and a future one counts as fresh.",
        "freshness(updated_at, 24h)",
        lambda args: fresh(args, "age"),
        warning=True,
    ),
    _of_column("mean", "The mean of the values", "mean(amount, >, 10)", _mean, warning=True),
    _of_column("median", "The middle of the values, exactly,", "median(amount, <=, 100)", _median),
    _audit(
        "min",
        (column(COMPARABLE), *operand(ParameterKind.VALUE)),
        "The least of the values meets the comparison.",
        "min(amount, >, 0)",
        _min,
        warning=True,
    ),
    _audit(
        "max",
        (column(COMPARABLE), *operand(ParameterKind.VALUE)),
        "The greatest of the values meets the comparison. NaN fails.",
        "max(ordered_on, <, 2030-01-01)",
        _max,
    ),
    _of_column("sum", "The sum of the values", "sum(amount, >=, 1000)", _sum),
    _audit(
        "mean_between",
        (column(NUMERIC), Parameter("low", _NUMBER), Parameter("high", _NUMBER)),
        "The mean of the values lies between the two, or is one of them.",
        "mean_between(amount, 10, 90)",
        _mean_between,
    ),
    _audit(
        "stddev",
        (column(NUMERIC), *operand(_NUMBER)),
        "The sample standard deviation of the values meets the comparison. A single value has none, and fails.",
        "stddev(amount, <, 50)",
        _stddev,
    ),
    _audit(
        "zscore",
        (column(NUMERIC), Parameter("threshold", _NUMBER)),
        "No value is further from the mean than that many standard deviations of the population.",
        "zscore(amount, 4)",
        _zscore,
    ),
    _audit(
        "percentile",
        (column(NUMERIC), Parameter("share", ParameterKind.SHARE), *operand(_NUMBER)),
        "The value below which that share of the values lies, exactly, meets the comparison. The share is 0.95 or 95%.",
        "percentile(duration, 0.95, <=, 30)",
        _percentile,
    ),
    _audit(
        "entropy",
        (column(GROUPABLE), *operand(_NUMBER)),
        "Shannon's entropy of the values, in bits, meets the comparison: 0 where all are equal, 1 for two as frequent.",
        "entropy(country, >=, 1.5)",
        _entropy,
    ),
    _audit(
        "approx_distinct",
        (column(GROUPABLE), *operand(ParameterKind.WHOLE)),
        "The number of different values meets the comparison, estimated within about 5 %.",
        "approx_distinct(customer_id, >=, 1000)",
        _approx_distinct,
        nulls="NULL is no value",
        empty="counts 0",
    ),
    _audit(
        "reconcile_count",
        (_TABLE,),
        "The table has as many rows as another, which is built before it.",
        "reconcile_count(bronze.orders)",
        _reconcile_count,
        nulls=_NOT_ASKED,
        empty="counts 0",
    ),
    _audit(
        "reconcile_sum",
        (column(NUMERIC), _TABLE, Parameter("other", ParameterKind.OTHER_COLUMN)),
        "The sum of the values is that of a column of another table; of float and double within a billionth.",
        "reconcile_sum(amount, bronze.orders, amount)",
        _reconcile_sum,
        nulls="NULL is left out; fails where all are NULL, in either table",
    ),
    _audit(
        "column_exists",
        (Parameter("column", ParameterKind.LABEL),),
        "The table has a column of that name; case does not count.",
        "column_exists(order_id)",
        _column_exists,
        nulls=_NOT_ASKED,
        empty="does not matter",
    ),
    _audit(
        "column_type",
        (Parameter("column", ParameterKind.LABEL), Parameter("type", ParameterKind.TYPE)),
        "The column has that type. A bare `decimal` means any decimal; a missing column fails.",
        "column_type(amount, decimal(10,2))",
        _column_type,
        nulls=_NOT_ASKED,
        empty="does not matter",
    ),
    _audit(
        "golden",
        (Parameter("file", ParameterKind.FILE),),
        "The table holds exactly the rows of a CSV file of the project, with the same duplicates, in any order. "
        'Its first line names the columns that are compared; an empty cell is NULL, `""` is empty text.',
        "golden(tests/golden/orders.csv)",
        _golden,
        nulls="NULL is like NULL",
        empty="passes if the file has no rows",
    ),
)


_CELL = re.compile(r'(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^",\r\n]*))(?P<end>,|\r?\n|\r|\Z)')
_MOST_ROWS = 5000

Cells = list[str | None]


def golden_rows(file: str, text: str, table: Relation) -> QueryRule:
    """Raises ValueError where the file cannot be compared with such a table."""
    rows = list(_rows(text, file))
    if not rows:
        raise ValueError(f"{file} is empty; its first line must name columns")
    header, rows = rows[0], rows[1:]
    if len(rows) > _MOST_ROWS:
        raise ValueError(f"{file} has {len(rows)} rows; more than {_MOST_ROWS} are compared better by a SQL test")
    columns = [_golden_column(name, file, table) for name in header]
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns):
            raise ValueError(f"row {number} of {file} has {len(row)} cells, not {len(columns)}")
    names = ", ".join(quote(column.name) for column in columns)
    expected = _golden_relation(columns, rows)
    actual = f"SELECT {names} FROM {{table}}"
    sql = (
        f"SELECT 'not in the file' AS `_row`, * FROM ({actual} EXCEPT ALL {expected}) "
        f"UNION ALL SELECT 'not in the table' AS `_row`, * FROM ({expected} EXCEPT ALL {actual})"
    )
    return QueryRule(sql, f"the {len(rows)} rows of {file}")


def _golden_column(name: str | None, file: str, table: Relation) -> Column:
    if not name:
        raise ValueError(f"a column of {file} has no name")
    match = table.find(name)
    if match is None and table.complete:
        fix = did_you_mean(nearest(name, [column.name for column in table.columns]))
        raise Mistake(f"the table has no column '{name}', which {file} names", "UnknownColumn", fix)
    column = match or Column(name)
    if column.type.kind in ("array", "map", "struct", "variant", "binary"):
        raise Mistake(f"column '{name}' is {column.type}, which a CSV file cannot hold", "CheckColumnType")
    return column


def _golden_relation(columns: list[Column], rows: list[Cells]) -> str:
    places = [f"c{place}" for place in range(len(columns))]
    cast = [
        f"CAST({place} AS {column.type}) AS {quote(column.name)}"
        if column.type.known
        else f"{place} AS {quote(column.name)}"
        for place, column in zip(places, columns, strict=True)
    ]
    # A table of values has at least one row; the types of its columns are set by it.
    values = [", ".join("CAST(NULL AS STRING)" for _ in columns)]
    values += [", ".join("NULL" if cell is None else _literal(cell) for cell in row) for row in rows]
    numbered = ", ".join(f"({number}, {row})" for number, row in enumerate(values))
    return f"SELECT {', '.join(cast)} FROM VALUES {numbered} AS golden(`row`, {', '.join(places)}) WHERE `row` > 0"


def _literal(cell: str) -> str:
    """`{table}` in a cell is no place for the table."""
    return literal(cell).replace("{", "\\u007B")


def _rows(text: str, file: str) -> Iterator[Cells]:
    row: Cells = []
    at, text = 0, text.removeprefix("\ufeff")
    while at < len(text):
        cell = _CELL.match(text, at)
        if cell is None:
            line = text.count("\n", 0, at) + 1
            raise ValueError(f"line {line} of {file} cannot be read: a quote is not closed, or text stands beside it")
        quoted, plain = cell["quoted"], cell["plain"]
        row.append(quoted.replace('""', '"') if quoted is not None else plain or None)
        at = cell.end()
        if cell["end"] != ",":
            if row != [None]:
                yield row
            row = []
    if row:
        yield [*row, None]
