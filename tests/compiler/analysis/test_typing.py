"""Types of expressions, against the types that Spark gave them (tests/cases/types; Spark itself is asked elsewhere)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

from tests.compiler.analysis.expressions import COLUMNS, TableScope, accepted, codes, parsed, read, typed
from tidegate.compiler.analysis.coercion import can_cast, common_type, comparable, same_shape, set_operation_type
from tidegate.compiler.analysis.expression_types import type_of
from tidegate.compiler.analysis.expressions.calls import generator_columns
from tidegate.compiler.analysis.expressions.typed import RULES, Typed
from tidegate.compiler.analysis.functions.function import WRITTEN_AS
from tidegate.compiler.analysis.functions.lookup import FUNCTIONS, function_of, is_aggregate, is_generator
from tidegate.datatypes import (
    ANY,
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    DataType,
    array,
    parse_type,
    struct,
)

ACCEPTED = accepted()


def test_every_type_that_is_known_is_the_one_spark_gives() -> None:
    wrong = []
    for _, expression, kind, _ in ACCEPTED:
        found = typed(expression)[0].type
        if found.known and found != kind:
            wrong.append(f"{expression}: {found} instead of {kind}")
    assert not wrong, "\n".join(wrong)


def test_nearly_every_type_is_known() -> None:
    known = sum(typed(expression)[0].type.known for _, expression, _, _ in ACCEPTED)
    assert len(ACCEPTED) > 1500
    assert known / len(ACCEPTED) >= 0.99


def test_nullability_agrees_with_spark_or_is_unknown() -> None:
    wrong = []
    said = 0
    for _, expression, _, nullable in ACCEPTED:
        found = typed(expression)[0].nullable
        said += found is not None
        if found is not None and found is not nullable:
            wrong.append(f"{expression}: {found} instead of {nullable}")
    assert not wrong, "\n".join(wrong)
    assert said / len(ACCEPTED) > 0.9


def test_nothing_that_spark_accepts_is_reported() -> None:
    reported = {expression: found for _, expression, _, _ in ACCEPTED if (found := codes(expression))}
    assert not reported


@pytest.mark.parametrize(("expression", "code"), read("refused"))
def test_what_spark_refuses_is_reported_once(expression: str, code: str) -> None:
    assert codes(expression) == [code]


@pytest.mark.parametrize(
    ("expression", "message", "suggestion"),
    [
        ("summ(n)", "unknown function 'summ'", "did you mean sum?"),
        ("date_ad(on_day, 1)", "unknown function 'date_ad'", "did you mean date_add or dateadd?"),
        ("no_such_thing()", "unknown function 'no_such_thing'", None),
        ("isnull(n, 1)", "isnull takes 1 argument, not 2", None),
        ("make_timestamp_ntz(1, 2, 3)", "make_timestamp_ntz takes 2 or 6 arguments, not 3", None),
        ("hash()", "hash takes at least 1 argument, not 0", None),
        ("aes_encrypt(s)", "aes_encrypt takes 2 to 6 arguments, not 1", None),
        ("now(1)", "now takes no arguments, not 1", None),
        ("on_day = 1", "date cannot be compared with int", "cast one side to the other's type"),
        ("flag + 1", "'+' cannot be applied to boolean and int", "cast the boolean to int"),
        ("people[0].aa", "the struct has no field 'aa'", "did you mean a?"),
        ("people[0].zip", "the struct has no field 'zip'", "it has a, b"),
        ("year(n)", "year takes a date, not int", None),
        ("substring(ints, 1)", "substring takes text or binary as argument 1, not array<int>", None),
        (
            "aggregate(ints, 0, (acc, x) -> acc + 1L)",
            "aggregate starts with int, but each step gives bigint",
            "cast the start to bigint",
        ),
        ("CAST(on_day AS int)", "date cannot be cast to int", None),
        ("ints || n", "array<int> and int cannot be concatenated", None),
        ("concat(ints, n)", "these types cannot be concatenated: array<int>, int", None),
        ("n[0]", "int cannot be indexed with []", None),
        ("upper(s).x", "string has no field 'x': it is not a struct", None),
        ("-flag", "'-' cannot be applied to boolean", None),
    ],
)
def test_an_error_is_reported_in_one_sentence(expression: str, message: str, suggestion: str | None) -> None:
    assert [finding[1:] for finding in typed(expression)[1].findings] == [(message, suggestion)]


@pytest.mark.parametrize(
    "expression",
    [
        "mystery + 1",
        "mystery = true",
        "mystery AND true",
        "CASE WHEN mystery THEN 1 ELSE mystery END",
        "sum(mystery)",
        "CAST(mystery AS array<int>)",
        "mystery.a.b",
        "mystery[0]['x']",
        "coalesce(mystery, true, mystery)",
        "transform(mystery, x -> x.y + true)",
        "on_day + mystery",
        "array(mystery, 1)",
        "greatest(mystery, s)",
        "explode(mystery)",
        "aggregate(mystery, 0, (acc, x) -> acc + x)",
        "mystery LIKE 'x'",
        "(mystery, 1) IN ((1, 2))",
        "date_add(mystery, mystery)",
    ],
)
def test_what_is_not_known_gives_no_error(expression: str) -> None:
    scope = TableScope({**COLUMNS, "mystery": type_of(exp.Star(), TableScope({}))})
    type_of(parsed(expression), scope)
    assert scope.findings == []


def hollow(kind: DataType) -> DataType:
    """The same shape, with nothing known inside."""
    if kind.kind == "struct":
        return struct((name, ANY) for name, _ in kind.args)
    return DataType(kind.kind, (ANY,) * len(kind.args)) if kind.kind in ("array", "map") else kind


@pytest.mark.parametrize("forget", [lambda kind: ANY, hollow, lambda kind: ANY if kind.is_numeric else kind])
def test_forgetting_types_makes_no_error_and_no_other_type(forget: Callable[[DataType], DataType]) -> None:
    columns = {name: Typed(forget(column.type), None) for name, column in COLUMNS.items()}
    wrong = []
    for _, expression, kind, nullable in ACCEPTED:
        scope = TableScope(columns)
        found = type_of(parsed(expression), scope)
        if scope.findings or (found.type.known and found.type != kind) or found.nullable not in (None, nullable):
            wrong.append(f"{expression}: {found} instead of {kind}, {nullable}; {scope.findings}")
    assert not wrong, "\n".join(wrong)


def test_an_unknown_part_of_a_type_stays_unknown_in_the_whole() -> None:
    scope = TableScope({"mystery": type_of(exp.Star(), TableScope({}))})
    assert str(type_of(parsed("array(mystery)"), scope).type) == "array<?>"
    assert str(type_of(parsed("struct(mystery AS a, 1 AS b)"), scope).type) == "struct<a:?,b:int>"
    assert type_of(parsed("mystery DIV 2"), scope).type == BIGINT
    assert type_of(parsed("mystery + 1.5D"), scope).type == DOUBLE
    assert type_of(parsed("mystery * 1.5D"), scope).type == ANY
    assert type_of(parsed("mystery > 1"), scope).type == BOOLEAN


def test_own_functions_are_never_unknown() -> None:
    found, scope = typed("my_own(n) + 1", own_functions=frozenset({"my_own"}))
    assert (found.type, scope.findings) == (ANY, [])


def test_a_function_of_another_system_is_unknown_by_the_name_it_was_written_with() -> None:
    dialect = Dialect.get_or_raise("spark")
    dialect.ORIGINAL_NAME_META_KEY = WRITTEN_AS
    calls = {
        "strpos(s, 'a')": "locate",
        "array_length(ints)": "size",
        "iff(flag, 1, 2)": "if",
        "getdate()": None,
        "regexp_contains(s, 'a')": None,
        "safe_add(n, 1)": "try_add",
        "json_extract(s, '$.a')": None,
    }
    for written, meant in calls.items():
        scope = TableScope(COLUMNS)
        tree: Any = dialect.parse(f"SELECT {written}")[0]
        type_of(tree.expressions[0], scope)
        expected = ("UnknownFunction", f"unknown function '{written.split('(')[0]}'")
        assert [finding[:2] for finding in scope.findings] == [expected]
        assert meant is None or scope.findings[0][2] == f"did you mean {meant}?"


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_spark_has_a_rule_for_how_it_is_parsed(name: str) -> None:
    dialect = Dialect.get_or_raise("spark")
    parses = 0
    for count in range(9):
        arguments = ", ".join("abcdefgh"[:count])
        try:
            tree: Any = dialect.parse(f"SELECT {name}({arguments})")[0]
        except Exception:
            continue
        node = tree.expressions[0]
        parses += 1
        assert type(node) in RULES, type(node)
        function = function_of(node)
        if function is not None and type(node) is not exp.Anonymous:
            assert function.kind is FUNCTIONS[name].kind
    assert parses or name == "any"


@pytest.mark.parametrize(
    ("expression", "columns"),
    [
        ("explode(ints)", "col int"),
        ("explode_outer(words)", "col string"),
        ("explode(ages)", "key string, value int"),
        ("posexplode(ints)", "pos int, col int"),
        ("posexplode_outer(ages)", "pos int, key string, value int"),
        ("inline(people)", "a int, b string"),
        ("inline_outer(array(struct(1 AS x, 'a' AS y)))", "x int, y string"),
        ("stack(2, 1, 'a', 2, 'b')", "col0 int, col1 string"),
        ("stack(2, 1, 2, NULL)", "col0 int, col1 int"),
        ("json_tuple(s, 'a', 'b')", "c0 string, c1 string"),
        ("variant_explode(doc)", "pos int, key string, value variant"),
        ("variant_explode_outer(input => doc)", "pos int, key string, value variant"),
        ("explode(collection => ints)", "col int"),
        ("range(5)", "id bigint"),
        ("sql_keywords()", "keyword string, reserved boolean"),
    ],
)
def test_generators_give_columns(expression: str, columns: str) -> None:
    node = parsed(expression)
    assert is_generator(node)
    found = generator_columns(node, TableScope(COLUMNS))
    assert found is not None
    assert ", ".join(f"{column.name} {column.type}" for column in found) == columns


def test_only_a_known_generator_has_columns() -> None:
    scope = TableScope({**COLUMNS, "mystery": type_of(exp.Star(), TableScope({}))})
    assert generator_columns(parsed("upper(s)"), scope) is None
    assert generator_columns(parsed("explode(mystery)"), scope) is None
    assert generator_columns(parsed("my_own(n)"), scope) is None
    assert scope.findings == []


@pytest.mark.parametrize("expression", ["sum(n)", "count(*)", "any(flag)", "some(flag)", "listagg(s)", "grouping_id()"])
def test_aggregates_are_recognized(expression: str) -> None:
    assert is_aggregate(parsed(expression))


@pytest.mark.parametrize("expression", ["upper(s)", "row_number()", "explode(ints)", "n + 1", "my_own(n)"])
def test_other_functions_are_no_aggregates(expression: str) -> None:
    assert not is_aggregate(parsed(expression))


def test_a_long_chain_of_operators_is_no_problem() -> None:
    for chain in (" AND ".join(["flag"] * 3000), " || ".join(["s"] * 3000), " + ".join(["n"] * 3000)):
        scope = TableScope(COLUMNS)
        type_of(Dialect.get_or_raise("spark").parse(f"SELECT {chain}")[0].expressions[0], scope)
        assert scope.findings == []


def test_thirty_expressions_are_typed_in_less_than_a_millisecond() -> None:
    trees = [parsed(expression) for _, expression, _, _ in ACCEPTED]
    started = time.process_time()
    for tree in trees:
        type_of(tree, TableScope(COLUMNS))
    spent = time.process_time() - started
    assert spent / len(trees) * 30 < 0.003


def test_common_types_go_both_ways() -> None:
    for a, b, expected in (
        (INT, BIGINT, BIGINT),
        (INT, STRING, BIGINT),
        (parse_type("decimal(10,2)"), DOUBLE, DOUBLE),
        (parse_type("decimal(38,18)"), parse_type("decimal(30,0)"), parse_type("decimal(38,8)")),
        (DATE, TIMESTAMP, TIMESTAMP),
        (VOID, DATE, DATE),
        (BOOLEAN, INT, None),
        (ANY, array(INT), ANY),
        (array(INT), array(STRING), array(BIGINT)),
    ):
        assert a is not None
        assert b is not None
        assert common_type(a, b) == common_type(b, a) == set_operation_type(a, b) == expected


def test_names_of_struct_fields_count_where_spark_counts_them() -> None:
    one, other = parse_type("struct<a:int,b:string>"), parse_type("struct<x:int,y:string>")
    assert one is not None
    assert other is not None
    assert same_shape(one, other)
    assert comparable(one, other)
    assert common_type(one, other) is None
    assert set_operation_type(one, other) == one
    assert can_cast(one, other)
