from __future__ import annotations

import pytest

from tidegate.contracts.model_contract import LOGICAL_TYPES, logical_rule, physical_rule, type_rule
from tidegate.datatypes import ANY, VOID, array, parse_type

ACCEPTED = """
bigint                       | bigint
BIGINT                       | bigint
long                         | bigint
varchar(10)                  | string
decimal                      | decimal(10,0)
Decimal                      | decimal(38,18)
decimal(12,2)                | decimal(12,2)
array<decimal>               | array<decimal(5,1)>
struct<a:decimal, b:int>     | struct<a:decimal(3,1),b:int>
struct<A:int>                | struct<a:int>
int                          | smallint
array<int>                   | array<tinyint>
map<string,numeric>          | map<string,decimal(9,9)>
"""
REFUSED = """
bigint                       | int
smallint                     | int
string                       | int
timestamp                    | timestamp_ntz
decimal                      | double
decimal(10,0)                | decimal(12,0)
decimal(12,2)                | decimal(12,3)
array<decimal(10,2)>         | array<decimal(5,1)>
struct<dec:int>              | struct<dec:bigint>
struct<a:int>                | struct<a:int,b:int>
struct<a:int,b:int>          | struct<b:int,a:int>
map<string,int>              | map<int,int>
array<int>                   | int
"""


def pairs(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


def accepts(wanted: str, found: str) -> bool:
    rule, kind = type_rule(wanted), parse_type(found)
    assert rule is not None
    assert kind is not None
    return rule.accepts(kind)


@pytest.mark.parametrize(("wanted", "found"), pairs(ACCEPTED))
def test_type_is_accepted(wanted: str, found: str) -> None:
    assert accepts(wanted, found)


@pytest.mark.parametrize(("wanted", "found"), pairs(REFUSED))
def test_type_is_refused(wanted: str, found: str) -> None:
    assert not accepts(wanted, found)


@pytest.mark.parametrize("wanted", ["bigint", "array<string>", "decimal", "struct<a:int>"])
def test_what_is_not_known_is_accepted(wanted: str) -> None:
    rule = type_rule(wanted)
    assert rule is not None
    assert rule.accepts(ANY)
    assert rule.accepts(VOID)


def test_what_is_not_known_inside_a_type_is_accepted() -> None:
    rule = type_rule("array<string>")
    assert rule is not None
    assert rule.accepts(array(ANY))


@pytest.mark.parametrize(
    ("logical", "yes", "no"),
    [
        ("string", "string", "int"),
        ("integer", "bigint", "double"),
        ("integer", "tinyint", "decimal(10,0)"),
        ("number", "decimal(10,2)", "string"),
        ("number", "int", "boolean"),
        ("timestamp", "timestamp_ntz", "date"),
        ("date", "date", "timestamp"),
        ("object", "struct<a:int>", "string"),
        ("array", "array<int>", "map<int,int>"),
        ("map", "map<int,int>", "array<int>"),
        ("boolean", "boolean", "int"),
    ],
)
def test_a_logical_type_is_a_family(logical: str, yes: str, no: str) -> None:
    rule = logical_rule(logical)
    assert rule is not None
    assert rule.accepts(parse_type(yes) or VOID)
    assert rule.accepts(ANY)
    assert not rule.accepts(parse_type(no) or VOID)


@pytest.mark.parametrize("logical", ["time", "vector"])
def test_what_spark_has_no_type_for_asks_for_nothing(logical: str) -> None:
    rule = logical_rule(logical)
    assert rule is not None
    assert rule.accepts(parse_type("string") or VOID)


@pytest.mark.parametrize(
    ("written", "kind"),
    [("VARCHAR", "string"), ("Timestamp With  Time Zone", "timestamp"), ("INT64", "bigint"), ("decimal(3,1)", None)],
)
def test_physical_types_may_have_names_of_other_databases(written: str, kind: str | None) -> None:
    rule = physical_rule(written)
    assert rule is not None
    assert rule.type == parse_type(kind or written)
    assert rule.text == written


def test_a_number_of_another_database_is_any_decimal() -> None:
    rule = physical_rule("NUMBER")
    assert rule is not None
    assert rule.accepts(parse_type("decimal(38,5)") or VOID)


def test_what_is_no_type_is_none() -> None:
    assert type_rule("bigin") is None
    assert physical_rule("money") is None
    assert logical_rule("text") is None
    assert "text" not in LOGICAL_TYPES
