"""What `@audit` may say: rules about a table as it will be published."""

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
from tidegate.checks.sql_literals import interval, is_floating
from tidegate.datatypes import Column, Relation
from tidegate.names import literal, nearest, quote
from tidegate.problems import did_you_mean

__all__ = ["AUDITS", "fresh", "golden_rows"]


_AUDIT = frozenset({Stage.BEFORE_PUBLISH})
_OR_WARNING = _AUDIT | {Stage.AFTER_PUBLISH}
_NULLS = "NULL is left out; fails where all are NULL"
_FAILS = "fails"
_NOT_ASKED = "does not matter"


def _row_count(given: Arguments) -> CheckRule:
    condition = f"value {given.operator()} {given.whole('value')}"
    expected = f"rows {given.operator()} {given.whole('value')}"
    return AggregateRule((("value", "count(*)"),), "value", condition, expected)


def fresh(given: Arguments, parameter: str) -> AggregateRule:
    oldest = f"current_timestamp() - {interval(given.duration(parameter))}"
    expected = f"newest {given.name()} at most {given.text(parameter)} old"
    newest = f"CAST(max({given.quoted()}) AS TIMESTAMP)"
    return AggregateRule((("value", newest),), "value", f"value >= {oldest}", expected, of=given.name())


def _freshness(given: Arguments) -> CheckRule:
    return fresh(given, "age")


def _judge(what: str, function: str, given: Arguments, value: str, *, exact: bool = False) -> AggregateRule:
    expected = f"{what} of {given.name()} {given.operator()} {given.text('value')}"
    condition = f"{given.operator()} {value}"
    return aggregate(f"{function}({given.quoted()})", condition, expected, given.column(), exact=exact)


def _mean(given: Arguments) -> CheckRule:
    return _judge("mean", "avg", given, given.number("value"))


def _median(given: Arguments) -> CheckRule:
    return _judge("median", "median", given, given.number("value"), exact=True)


def _min(given: Arguments) -> CheckRule:
    return _judge("min", "min", given, given.value("value"))


def _max(given: Arguments) -> CheckRule:
    return _judge("max", "max", given, given.value("value"))


def _sum(given: Arguments) -> CheckRule:
    return _judge("sum", "sum", given, given.number("value"))


def _mean_between(given: Arguments) -> CheckRule:
    ordered(given, "low", "high")
    expected = f"mean of {given.name()} between {given.text('low')} and {given.text('high')}"
    condition = f"BETWEEN {given.number('low')} AND {given.number('high')}"
    return aggregate(f"avg({given.quoted()})", condition, expected, given.column())


def _stddev(given: Arguments) -> CheckRule:
    return _judge("standard deviation", "stddev_samp", given, given.number("value"))


def _zscore(given: Arguments) -> CheckRule:
    most, of = given.number("threshold"), f"CAST({given.quoted()} AS DOUBLE)"
    if given.decimal("threshold") <= 0:
        raise ValueError("the threshold must be more than 0")
    furthest = "greatest(last - middle, middle - first)"
    return AggregateRule(
        (("middle", f"avg({of})"), ("spread", f"stddev_pop({of})"), ("first", f"min({of})"), ("last", f"max({of})")),
        f"CASE WHEN first = last THEN 0.0D ELSE round(try_divide({furthest}, spread), 6) END",
        # Values that are all the same may differ from their mean in the last digit.
        f"NOT isnan(last) AND (first = last OR {furthest} <= {most} * spread)",
        f"no {given.name()} more than {given.text('threshold')} standard deviations from the mean",
    )


def _percentile(given: Arguments) -> CheckRule:
    share = plain(given.share("share"))
    expected = f"percentile {share} of {given.name()} {given.operator()} {given.text('value')}"
    condition = f"{given.operator()} {given.number('value')}"
    return aggregate(f"percentile({given.quoted()}, {share})", condition, expected, given.column(), exact=True)


def _entropy(given: Arguments) -> CheckRule:
    expected = f"entropy of {given.name()} {given.operator()} {given.text('value')} bits"
    return entropy_of(given.quoted(), f"{given.operator()} {given.number('value')}", expected)


def _approx_distinct(given: Arguments) -> CheckRule:
    condition = f"value {given.operator()} {given.whole('value')}"
    expected = f"about {given.operator()} {given.whole('value')} different values of {given.name()}"
    return AggregateRule((("value", f"approx_count_distinct({given.quoted()})"),), "value", condition, expected)


def _reconcile_count(given: Arguments) -> CheckRule:
    other = given.relation("table")
    sql = (
        "SELECT * FROM (SELECT (SELECT count(*) FROM {table}) AS `rows`, "
        f"(SELECT count(*) FROM {other.quoted}) AS `other_rows`) WHERE `rows` <> `other_rows`"
    )
    return QueryRule(sql, f"as many rows as {given.text('table')}", (str(other),))


def _reconcile_sum(given: Arguments) -> CheckRule:
    other, theirs = given.relation("table"), quote(given.text("other"))
    same = "`total` = `other_total`"
    if is_floating(given.type()):
        # The sum of such numbers depends on their order in its last digits.
        same = "abs(`total` - `other_total`) <= 1e-9 * greatest(abs(`total`), abs(`other_total`))"
    sql = (
        f"SELECT * FROM (SELECT (SELECT sum({given.quoted()}) FROM {{table}}) AS `total`, "
        f"(SELECT sum({theirs}) FROM {other.quoted}) AS `other_total`) WHERE coalesce(NOT ({same}), true)"
    )
    expected = f"sum of {given.name()} is that of {given.text('other')} in {given.text('table')}"
    return QueryRule(sql, expected, (str(other),))


def _column_exists(given: Arguments) -> CheckRule:
    name = given.condition("column")
    found = given.table.find(name)
    return StaticRule(found is not None, str(found.type) if found else "no such column", f"a column {name}")


def _column_type(given: Arguments) -> CheckRule:
    name, kind = given.condition("column"), given.data_type("type")
    found = given.table.find(name)
    any_decimal = given.text("type").strip().lower() in ("decimal", "dec", "numeric")
    expected = f"{name} is {'decimal' if any_decimal else kind}"
    if found is None:
        return StaticRule(False, "no such column", expected)
    same = found.type.kind == "decimal" if any_decimal else found.type == kind
    return StaticRule(same, str(found.type), expected)


def _golden(given: Arguments) -> CheckRule:
    return golden_rows(given.text("file"), given.source, given.table)


_NUMBER = ParameterKind.NUMBER
_TABLE = Parameter("table", ParameterKind.TABLE)


def _of_column(name: str, what: str, example: str, build: Build, *, warning: bool = False) -> CheckKind:
    return CheckKind(
        name,
        _OR_WARNING if warning else _AUDIT,
        (column(NUMERIC), *operand(_NUMBER)),
        f"{what} compares so. NaN fails.",
        _NULLS,
        _FAILS,
        example,
        build,
    )


AUDITS = (
    CheckKind(
        "row_count",
        _OR_WARNING,
        operand(ParameterKind.WHOLE),
        "The number of rows compares so.",
        _NOT_ASKED,
        "counts 0",
        "row_count(>, 0)",
        _row_count,
    ),
    CheckKind(
        "freshness",
        _OR_WARNING,
        (column(TIME), Parameter("age", ParameterKind.DURATION)),
        "The newest value is not older than that (`s m h d w`), counted from the moment of the check. "
        "A date counts from its midnight, and one to come is fresh.",
        _NULLS,
        _FAILS,
        "freshness(updated_at, 24h)",
        _freshness,
    ),
    _of_column("mean", "The mean of the values", "mean(amount, >, 10)", _mean, warning=True),
    _of_column("median", "The middle of the values, exactly,", "median(amount, <=, 100)", _median),
    CheckKind(
        "min",
        _OR_WARNING,
        (column(COMPARABLE), *operand(ParameterKind.VALUE)),
        "The least of the values compares so.",
        _NULLS,
        _FAILS,
        "min(amount, >, 0)",
        _min,
    ),
    CheckKind(
        "max",
        _AUDIT,
        (column(COMPARABLE), *operand(ParameterKind.VALUE)),
        "The greatest of the values compares so. NaN fails.",
        _NULLS,
        _FAILS,
        "max(ordered_on, <, 2030-01-01)",
        _max,
    ),
    _of_column("sum", "The sum of the values", "sum(amount, >=, 1000)", _sum),
    CheckKind(
        "mean_between",
        _AUDIT,
        (column(NUMERIC), Parameter("low", _NUMBER), Parameter("high", _NUMBER)),
        "The mean of the values lies between the two, or is one of them.",
        _NULLS,
        _FAILS,
        "mean_between(amount, 10, 90)",
        _mean_between,
    ),
    CheckKind(
        "stddev",
        _AUDIT,
        (column(NUMERIC), *operand(_NUMBER)),
        "The standard deviation of the values, as of a sample, compares so. A single value has none, and fails.",
        _NULLS,
        _FAILS,
        "stddev(amount, <, 50)",
        _stddev,
    ),
    CheckKind(
        "zscore",
        _AUDIT,
        (column(NUMERIC), Parameter("threshold", _NUMBER)),
        "No value is further from the mean than so many standard deviations of the population.",
        _NULLS,
        _FAILS,
        "zscore(amount, 4)",
        _zscore,
    ),
    CheckKind(
        "percentile",
        _AUDIT,
        (column(NUMERIC), Parameter("share", ParameterKind.SHARE), *operand(_NUMBER)),
        "The value below which that share of the values lies, exactly, compares so. The share is 0.95 or 95%.",
        _NULLS,
        _FAILS,
        "percentile(duration, 0.95, <=, 30)",
        _percentile,
    ),
    CheckKind(
        "entropy",
        _AUDIT,
        (column(GROUPABLE), *operand(_NUMBER)),
        "Shannon's entropy of the values, in bits, compares so: 0 where all are the same, 1 for two as frequent.",
        _NULLS,
        _FAILS,
        "entropy(country, >=, 1.5)",
        _entropy,
    ),
    CheckKind(
        "approx_distinct",
        _AUDIT,
        (column(GROUPABLE), *operand(ParameterKind.WHOLE)),
        "The number of different values compares so, estimated within some 5 %.",
        "NULL is no value",
        "counts 0",
        "approx_distinct(customer_id, >=, 1000)",
        _approx_distinct,
    ),
    CheckKind(
        "reconcile_count",
        _AUDIT,
        (_TABLE,),
        "The table has as many rows as another, which is built before it.",
        _NOT_ASKED,
        "counts 0",
        "reconcile_count(bronze.orders)",
        _reconcile_count,
    ),
    CheckKind(
        "reconcile_sum",
        _AUDIT,
        (column(NUMERIC), _TABLE, Parameter("other", ParameterKind.OTHER_COLUMN)),
        "The sum of the values is that of a column of another table; of float and double within a billionth.",
        "NULL is left out; fails where all are NULL, in either table",
        _FAILS,
        "reconcile_sum(amount, bronze.orders, amount)",
        _reconcile_sum,
    ),
    CheckKind(
        "column_exists",
        _AUDIT,
        (Parameter("column", ParameterKind.LABEL),),
        "The table has a column of that name; case does not count.",
        _NOT_ASKED,
        "does not matter",
        "column_exists(order_id)",
        _column_exists,
    ),
    CheckKind(
        "column_type",
        _AUDIT,
        (Parameter("column", ParameterKind.LABEL), Parameter("type", ParameterKind.TYPE)),
        "The column is of that type. A bare `decimal` is any; a column that is not there is of none.",
        _NOT_ASKED,
        "does not matter",
        "column_type(amount, decimal(10,2))",
        _column_type,
    ),
    CheckKind(
        "golden",
        _AUDIT,
        (Parameter("file", ParameterKind.FILE),),
        "The table holds exactly the rows of a CSV file of the project, as often and in whatever order. "
        'Its first line names the columns that are compared; an empty cell is NULL, `""` is empty text.',
        "NULL is like NULL",
        "passes if the file has no rows",
        "golden(tests/golden/orders.csv)",
        _golden,
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
    found = table.find(name)
    if found is None and table.complete:
        fix = did_you_mean(nearest(name, [column.name for column in table.columns]))
        raise Mistake(f"the table has no column '{name}', which {file} names", "UnknownColumn", fix)
    column = found or Column(name)
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
