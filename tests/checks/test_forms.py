"""What a check asks of a table, and what it refuses to ask."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tidegate.checks.check_kinds import CheckKind, bind, mistakes
from tidegate.checks.check_registry import BUILT_IN, KEYED, digest_of, other_tables, rule_of
from tidegate.checks.check_values import AggregateRule, Check, CheckCall, QueryRule, RowRule, Stage
from tidegate.checks.parsing import parse_call
from tidegate.datatypes import BIGINT, DATE, DOUBLE, NOTHING_KNOWN, STRING, TIMESTAMP, Column, Relation, array, decimal
from tidegate.names import literal
from tidegate.problems import Place, Severity
from tidegate.sql_literals import number

COLUMNS = (
    Column("id", BIGINT),
    Column("odd `name`", BIGINT),
    Column("amount", decimal(10, 2)),
    Column("score", DOUBLE),
    Column("name", STRING),
    Column("day", DATE),
    Column("at", TIMESTAMP),
    Column("list", array(BIGINT)),
)


def check(text: str, source: str = "") -> Check:
    return Check(text, Stage.BEFORE_WRITE, Place("x.sql"), parse_call(text)[0], source=source)


def wrong(text: str, table: Relation | None = None) -> list[str]:
    call = parse_call(text)[0]
    found = mistakes(BUILT_IN[call.name], call, table or Relation(COLUMNS), "shop")
    return [f"{mistake.code}: {mistake}" for mistake in found]


def test_names_and_texts_cannot_get_out_of_their_quotes() -> None:
    form = rule_of(check("not_null('odd `name`')"), COLUMNS)
    assert isinstance(form, RowRule)
    assert form.violates == "`odd ``name``` IS NULL"
    assert literal("it's \\") == "'it\\'s \\\\'"
    form = rule_of(check("""compare(name, =, "x' OR '1' = '1")"""), COLUMNS)
    assert isinstance(form, RowRule)
    assert form.violates == "NOT (`name` = 'x\\' OR \\'1\\' = \\'1')"


def test_a_number_keeps_its_digits_and_nothing_else_is_one() -> None:
    assert number("0.10") == "0.10"
    assert number("-1") == "(-1)"
    assert number("1_000") == "1000"
    for text in ("1; DROP", "1--1", "0x10", "nan", "1e9999", "", "१"):
        with pytest.raises(ValueError, match="number"):
            number(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("not_null()", "WrongCheckArgument: not_null takes 1 argument, not 0"),
        ("not_null(id, name)", "WrongCheckArgument: not_null takes 1 argument, not 2"),
        ("no_overlap(at)", "WrongCheckArgument: no_overlap takes 2 to 3 arguments, not 1"),
        ("not_null(idd)", "UnknownColumn: the table has no column 'idd'"),
        ("composite_unique('id, nam')", "UnknownColumn: the table has no column 'nam'"),
        ("composite_unique('id, ID')", "WrongCheckArgument: composite_unique: column 'id' is named twice"),
        ("compare(id, =>, 1)", "WrongCheckArgument: compare: '=>' is not an operator"),
        ("compare(id, >, ten)", "WrongCheckArgument: compare: 'ten' is not a number"),
        ("compare(day, >, yesterday)", "WrongCheckArgument: compare: 'yesterday' is not a date"),
        ("compare(day, >, 2026-02-30)", "WrongCheckArgument: compare: '2026-02-30' is not a date"),
        ("compare(list, >, 1)", "CheckColumnType: column 'list' is array<bigint>, not a number, text"),
        ("between(id, 5, 1)", "WrongCheckArgument: between: 5 is more than 1"),
        ("in_list(id, '1, x')", "WrongCheckArgument: in_list: 'x' is not a number"),
        ('in_list(name, "it\'s")', "WrongCheckArgument: in_list: the list 'it's' cannot be read"),
        ("null_percent(id, 5 percent)", "WrongCheckArgument: null_percent: '5 percent' is not a percentage"),
        ("null_percent(id, 101%)", "WrongCheckArgument: null_percent: 101 % is more than all"),
        ("null_percent(id, -1)", "WrongCheckArgument: null_percent: '-1' is less than 0 %"),
        ("mean(name, >, 1)", "CheckColumnType: column 'name' is string, not a number"),
        ("like(id, x)", "CheckColumnType: column 'id' is bigint, not text"),
        ("freshness(at, 24)", "WrongCheckArgument: freshness: '24' is not a length of time"),
        ("freshness(at, 0h)", "WrongCheckArgument: freshness: '0h' is no time at all"),
        ("freshness(id, 24h)", "CheckColumnType: column 'id' is bigint, not a date"),
        ("valid_type(name, integr)", "WrongCheckArgument: valid_type: 'integr' is not a type"),
        ("references(id, customers, id)", "WrongCheckArgument: references: 'customers' is not a table name"),
        ("sequential(score)", "CheckColumnType: column 'score' is double, not a whole number"),
        ("sequential_step(id, 0)", "WrongCheckArgument: sequential_step: the step must be 1 or more"),
        ("length_between(name, 9, 1)", "WrongCheckArgument: length_between: 9 is more than 1"),
        ("length_eq(name, -1)", "WrongCheckArgument: length_eq: '-1' is not a whole number"),
        ("percentile(id, 95, >, 1)", "WrongCheckArgument: percentile: '95' is not between 0 and 1"),
        ("row_count(>, 1.5)", "WrongCheckArgument: row_count: '1.5' is not a whole number"),
        ("matches(name, '[a-z')", "WrongCheckArgument: matches: '[a-z' is not a regular expression"),
        ("valid_type(id, date)", "WrongCheckArgument: valid_type: column 'id' is bigint, and only text"),
        ("zscore(id, 0)", "WrongCheckArgument: zscore: the threshold must be more than 0"),
        ("compare(name, <=, 900)", "CheckColumnType: column 'name' is string, and the check compares it with a number"),
        ("compare(name, =, -1.5)", "CheckColumnType: column 'name' is string, and the check compares it with a number"),
        ("between(name, 0, 900)", "CheckColumnType: column 'name' is string, and the check compares it with a number"),
        ("between(name, '0', 900)", "CheckColumnType: column 'name' is string, and the check compares it with a num"),
        ("min(name, >, 0)", "CheckColumnType: column 'name' is string, and the check compares it with a number"),
        ("max(name, <, 1_000)", "CheckColumnType: column 'name' is string, and the check compares it with a number"),
        ("compare(day, >, 2026)", "CheckColumnType: column 'day' is date, and the check compares it with a number"),
        ("approaching_limit(name, 900)", "CheckColumnType: column 'name' is string, not a number"),
    ],
)
def test_a_mistake_is_told(text: str, told: str) -> None:
    found = wrong(text)
    assert len(found) == 1
    assert found[0].startswith(told)


@pytest.mark.parametrize("text", ["compare(name, <=, '900')", "between(name, '0', \"9\")", "min(name, >, '0')"])
def test_a_number_in_quotes_is_compared_as_text(text: str) -> None:
    assert wrong(text) == []


def test_a_number_in_quotes_is_still_one_for_a_column_of_numbers() -> None:
    form = rule_of(check("compare(id, <=, '900')"), COLUMNS)
    assert isinstance(form, RowRule)
    assert form.violates == "NOT (`id` <= 900)"


def test_the_quotes_of_a_number_are_part_of_what_a_check_asks() -> None:
    assert digest_of([check("compare(name, <=, '900')")]) != digest_of([check("compare(name, <=, 900)")])


@pytest.mark.parametrize(
    ("function", "texts", "fits"), [("max", (), False), ("max", (3,), True), ("count", (), True), ("sum", (), False)]
)
def test_a_keyed_aggregate_of_text_compares_with_no_number(function: str, texts: tuple[int, ...], fits: bool) -> None:
    call = CheckCall("aggregate", (function, "name", "<=", "900"), keyed=True, texts=texts)
    assert (mistakes(KEYED["aggregate"], call, Relation(COLUMNS)) == []) is fits


def test_a_keyed_range_of_text_is_told_once() -> None:
    call = CheckCall("in_range", ("name", "0", "900"), keyed=True)
    (mistake,) = mistakes(KEYED["in_range"], call, Relation(COLUMNS))
    assert str(mistake) == "column 'name' is string, and the check compares it with a number"


def test_every_mistake_of_a_call_is_told_at_once() -> None:
    assert [found.split(":")[0] for found in wrong("percentile(idd, 95, =>, x)")] == [
        "UnknownColumn",
        "WrongCheckArgument",
        "WrongCheckArgument",
        "WrongCheckArgument",
    ]
    assert len(wrong("compare(id, =>, ten)")) == 2


def test_nothing_is_said_of_columns_that_nobody_knows() -> None:
    assert wrong("mean(whatever, >, 1)", NOTHING_KNOWN) == []
    assert wrong("mean(whatever, =>, 1)", NOTHING_KNOWN) != []


def test_a_check_that_does_not_go_with_the_table_raises() -> None:
    with pytest.raises(ValueError, match="no column 'gone'"):
        rule_of(check("not_null(gone)"), COLUMNS)
    with pytest.raises(ValueError, match="there is no check 'not_nul'"):
        rule_of(check("not_nul(id)"), COLUMNS)


def test_other_tables_are_named_in_full() -> None:
    called = check("references(id, silver.customers, key)")
    form = rule_of(called, COLUMNS, "shop")
    assert isinstance(form, QueryRule)
    assert form.other == ("shop.silver.customers",)
    assert "`shop`.`silver`.`customers`" in form.sql
    (other,) = other_tables(called)
    assert (other.position, other.name, other.key) == (1, "silver.customers", (2, "key"))
    assert other_tables(check("not_null(id)")) == ()


OWN = "-- @kind: row\n-- @params: column amount, number limit\n{amount} <= {limit}\n"


def test_a_check_of_the_project_is_put_together_from_its_arguments() -> None:
    form = rule_of(check("at_most(amount, 10.50)", OWN), COLUMNS)
    assert form == RowRule("NOT (`amount` <= 10.50)", "`amount` <= 10.50", ("amount",))
    query = (
        "-- @kind: query\n-- @params: text word, table others\nSELECT * FROM {table} JOIN {others} WHERE x = {word};\n"
    )
    found = rule_of(check("mine('{table}', silver.b)", query), COLUMNS, "shop")
    assert found == QueryRule(
        "SELECT * FROM {table} JOIN `shop`.`silver`.`b` WHERE x = '\\u007Btable}'",
        "no rows from mine",
        ("shop.silver.b",),
    )


def test_the_digest_changes_with_what_decides_and_with_nothing_else() -> None:
    first = [check("not_null(id)"), check("row_count(>, 0)")]
    known = digest_of(first)
    assert known == digest_of(reversed(first))
    assert known == digest_of([replace(first[0], place=Place("y.sql", 9), description="new"), first[1]])
    changes = [
        [first[0]],
        [first[0], check("row_count(>, 1)")],
        [first[0], replace(first[1], severity=Severity.WARN)],
        [first[0], replace(first[1], stage=Stage.BEFORE_PUBLISH)],
        [first[0], replace(first[1], source="other")],
    ]
    assert len({known, *map(digest_of, changes)}) == len(changes) + 1
    assert digest_of([]) == ""


VALUES = "min max median mean mean_between sum stddev percentile freshness approaching_limit"


@pytest.mark.parametrize("kind", BUILT_IN.values(), ids=lambda kind: kind.name)
def test_a_measure_tells_whose_values_its_value_is_made_of(kind: CheckKind) -> None:
    """So that it can be kept back where nobody is to see them; how many there are may be seen."""
    call = parse_call(kind.example)[0]
    form = kind.build(bind(kind, call, NOTHING_KNOWN, "shop", "id\n1\n"))
    column = call.arguments[0] if kind.name in VALUES.split() else ""
    assert not isinstance(form, AggregateRule) or form.of == column
    assert isinstance(form, AggregateRule) or not column


def test_a_measure_by_key_tells_it_too() -> None:
    def of(function: str) -> str:
        call = CheckCall("aggregate", (function, "amount", ">", "0"), keyed=True)
        form = rule_of(Check("x", Stage.BEFORE_PUBLISH, Place("x.toml"), call), COLUMNS)
        assert isinstance(form, AggregateRule)
        return form.of

    assert [of(function) for function in ("min", "sum", "count", "count_distinct")] == ["amount", "amount", "", ""]
