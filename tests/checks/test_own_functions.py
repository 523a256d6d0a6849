"""Functions of the folder `checks`: what their text says of their parameters, and what they get."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from tidegate.checks.check_kinds import CheckKind, OwnCheckError, bind, mistakes
from tidegate.checks.check_registry import digest_of
from tidegate.checks.check_values import Argument, Check, ColumnName, FunctionRule, Stage
from tidegate.checks.own_checks import read_own_check
from tidegate.checks.parsing import parse_call
from tidegate.datatypes import BIGINT, STRING, Column, Relation
from tidegate.problems import Place

TABLE = Relation((Column("id", BIGINT), Column("name", STRING)))
FILE = "checks/mine.py"


def kind_of(text: str) -> CheckKind:
    return read_own_check("mine", text, FILE)


def form(text: str, call: str) -> FunctionRule:
    kind, parsed = kind_of(text), parse_call(call)[0]
    assert mistakes(kind, parsed, TABLE) == []
    found = kind.build(bind(kind, parsed, TABLE))
    assert isinstance(found, FunctionRule)
    return found


@pytest.mark.parametrize(
    ("parameter", "argument", "value"),
    [
        ("it", "ID", ColumnName("id")),
        ("it: Column", "name", ColumnName("name")),
        ("it: 'pyspark.sql.Column'", "name", ColumnName("name")),
        ("it: list[Column]", "'id, name'", (ColumnName("id"), ColumnName("name"))),
        ("it: str", "'it''s'", "it's"),
        ("it: int", "-5", -5),
        ("it: float", "5", 5.0),
        ("it: Decimal", "0.10", Decimal("0.10")),
        ("it: bool", "True", True),
        ("it: timedelta", "1h30m", timedelta(minutes=90)),
        ("it: Sequence[str]", "'a, b'", ("a", "b")),
        ("it: tuple[str, ...]", "'a, b'", ("a", "b")),
        ("it: int | None = None", "5", 5),
        ("it: Optional[int] = None", "5", 5),
        ("it=10", "5", 5),
        ("it=10", "0.5", 0.5),
        ("it=-1.5", "5", 5.0),
        ("it='x'", "5", "5"),
        ("it=False", "true", True),
        ("it=('a',)", "b", ("b",)),
        ("*, it: int", "5", 5),
    ],
)
def test_a_parameter_gets_what_its_annotation_or_its_default_says(
    parameter: str, argument: str, value: Argument
) -> None:
    found = form(f"def mine({parameter}): ...", f"mine({argument})")
    assert found.arguments == (("it", value),)
    assert [type(given) for _, given in found.arguments] == [type(value)]


def test_a_rule_knows_its_function_and_what_to_show() -> None:
    text = "import x\n\ndef mine(column, limit=10, *, strict: bool = False):\n    '''Short.\n\n    More.'''\n"
    kind = kind_of(text)
    assert (kind.meaning, kind.stages) == ("Short.", frozenset(Stage))
    assert kind.signature == "mine(column, [limit], [strict])"
    found = form(text, "mine(name, 5)")
    assert (found.name, found.file, found.line, found.source) == ("mine", FILE, 3, text)
    assert found.arguments == (("column", ColumnName("name")), ("limit", 5))
    assert (found.shown, found.expected) == (("name",), "every row meets mine(name, 5)")


def test_what_the_file_does_is_not_done() -> None:
    form("raise SystemExit(1)\ndef mine(column): ...", "mine(id)")


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("mine()", "WrongCheckArgument"),
        ("mine(id, 1, 2)", "WrongCheckArgument"),
        ("mine(nope)", "UnknownColumn"),
        ("mine(id, x)", "WrongCheckArgument"),
        ("mine(id, 1.5)", "WrongCheckArgument"),
    ],
)
def test_a_wrong_call_is_told(call: str, code: str) -> None:
    found = mistakes(kind_of("def mine(column, limit: int = 10): ..."), parse_call(call)[0], TABLE)
    assert [mistake.code for mistake in found] == [code]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "there is no function 'mine'"),
        ("def yours(column): ...", 1, "there is no function 'mine'"),
        ("if True:\n    def mine(column): ...", 1, "there is no function 'mine'"),
        ("\nasync def mine(column): ...", 2, "not async def"),
        ("x = 1\ndef mine(column:\n    pass", 2, "this is not Python"),
        ("x = 1\nreturn x", 2, "this is not Python: 'return' outside function"),
        ("x = '\0'", 1, "this is not Python"),
        ("def mine(column,\n         *rest): ...", 2, r"\*rest cannot be given"),
        ("def mine(column, **rest): ...", 1, r"\*\*rest cannot be given"),
        ("\ndef mine(column, /): ...", 2, "remove the /"),
        ("def mine(limit=10, *, column): ...", 1, "column has no default and follows limit"),
        ("def mine(column, limit=None): ...", 1, "does not show its type"),
        ("def mine(column, limit=len('x')): ...", 1, "does not show its type"),
        ("def mine(column, options: dict[str, int]): ...", 1, r"options cannot be dict\[str, int\]"),
        ("def mine(column: 'a b'): ...", 1, "column cannot be"),
        ("def mine(name): ...", 1, "'name' is a key of every check"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(OwnCheckError, match=message) as caught:
        kind_of(text)
    assert caught.value.line == line


def test_a_changed_function_is_a_changed_check() -> None:
    def digest(text: str) -> str:
        call = parse_call("mine(id)")[0]
        return digest_of([Check("mine(id)", Stage.BEFORE_WRITE, Place("m.sql"), call, source=text, file=FILE)])

    assert digest("def mine(column): return column > 0") == digest("def mine(column): return column > 0")
    assert digest("def mine(column): return column > 0") != digest("def mine(column): return column > 1")
