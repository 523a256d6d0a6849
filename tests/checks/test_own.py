"""Files of the folder `checks`: what they may say, and what each kind of argument becomes in their SQL."""

from __future__ import annotations

import pytest

from tidegate.checks.check_kinds import OwnCheckError, bind, mistakes
from tidegate.checks.check_values import CheckRule, QueryRule, RowRule, Stage
from tidegate.checks.own_checks import read_own_check
from tidegate.checks.parsing import parse_call
from tidegate.datatypes import BIGINT, STRING, Column, Relation

TABLE = Relation((Column("id", BIGINT), Column("name", STRING)))


def form(text: str, call: str) -> CheckRule:
    kind = read_own_check("mine", text)
    parsed = parse_call(call)[0]
    assert mistakes(kind, parsed, TABLE, "shop") == []
    return kind.build(bind(kind, parsed, TABLE, "shop"))


@pytest.mark.parametrize(
    ("kind", "argument", "sql"),
    [
        ("column", "ID", "`id`"),
        ("columns", "'id, name'", "`id`, `name`"),
        ("operator", "!=", "<>"),
        ("number", "-1.50", "(-1.50)"),
        ("percent", "5%", "5"),
        ("duration", "1h30m", "INTERVAL '5400.000000' SECOND"),
        ("text", "'it''s'", "'it\\'s'"),
        ("list", "'a, b'", "('a', 'b')"),
        ("type", "integer", "int"),
        ("condition", "id > 0", "(id > 0)"),
    ],
)
def test_an_argument_stands_in_the_sql_as_what_it_is(kind: str, argument: str, sql: str) -> None:
    found = form(f"-- @params: {kind} it\nf({{it}})", f"mine({argument})")
    assert isinstance(found, RowRule)
    assert found.violates == f"NOT (f({sql}))"


def test_a_table_is_named_in_full_and_told() -> None:
    text = "-- @kind: query\n-- @params: table parents\nSELECT * FROM {table} ANTI JOIN {parents} USING (id)"
    found = form(text, "mine(silver.parents)")
    assert found == QueryRule(
        "SELECT * FROM {table} ANTI JOIN `shop`.`silver`.`parents` USING (id)",
        "no rows from mine",
        ("shop.silver.parents",),
    )


def test_it_may_be_used_at_every_stage_and_names_are_those_of_the_kinds_where_none_are_given() -> None:
    kind = read_own_check("mine", "-- @description: small\n-- @params: column, number\n{column} < {number}")
    assert kind.stages == frozenset(Stage)
    assert kind.meaning == "small"
    assert [parameter.name for parameter in kind.parameters] == ["column", "number"]


def test_other_braces_are_left_alone() -> None:
    found = form("-- @params: column\n{column} RLIKE '[0-9]{5}'", "mine(name)")
    assert isinstance(found, RowRule)
    assert found.violates == "NOT (`name` RLIKE '[0-9]{5}')"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "holds no SQL"),
        ("-- @kind: row\n-- only words\n", 2, "holds no SQL"),
        ("-- @kind: rows\ntrue", 1, "must be row or query"),
        ("\n-- @kinds: row\ntrue", 2, "did you mean @kind"),
        ("-- @kind: row\n-- @kind: row\ntrue", 2, "set twice"),
        ("-- @params: colunm a\n{a} > 0", 1, "did you mean column"),
        ("-- @params: column a, number a\n{a} > 0", 1, "'a' cannot be the name"),
        ("-- @params: column table\n{table} > 0", 1, "'table' cannot be the name"),
        ("-- @params: column name\n{name} > 0", 1, "'name' is a key of every check"),
        ("{a} > 0", 1, "{a} is no parameter"),
        ("{table} > 0", 1, "{table} is no parameter"),
        ("-- @params: column a\ntrue", 2, "parameter a is not used"),
        ("-- @kind: query\nSELECT 1", 2, "the checked table is not used"),
        ("id > 0 -- always", 1, "comments must stand above"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(OwnCheckError, match=message) as caught:
        read_own_check("mine", text)
    assert caught.value.line == line
