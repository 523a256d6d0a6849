"""How unit tests are written: in a settings file or in tests/, in TOML or YAML, and where each part stands."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.compiler.projects import build
from tidegate.names import TableName
from tidegate.problems import Place
from tidegate.project.unit_test_files import DeclaredRows, Scalar, UnitTest, read_unit_tests, unit_test_files

ORDERS = TableName("shop", "silver", "orders")

TOML = """\
owner = "a"

[[tests]]
name = "first"
description = "what it shows"
ordered = true
run_started_at = 2024-05-01T06:00:00+02:00
watermark_value = 2024-04-30
vars = { limit = 3, word = "x" }
expect = [{ id = 1, amount = 10.10 }, { id = 2 }]

[tests.given]
"bronze.orders" = [
  { id = 1, note = "=" },
  { amount = 2.0, id = 2 },
]

[[tests]]
name = "second"
[[tests.given.bronze.orders]]
id = 1
tags = ["a", { b = true }]
[[tests.expect]]
id = 1
"""

YAML = """\
owner: a
tests:
  - name: first
    description: what it shows
    ordered: true
    run_started_at: 2024-05-01T06:00:00+02:00
    watermark_value: 2024-04-30
    vars: {limit: 3, word: x}
    expect:
      - {id: 1, amount: 10.10}
      - {id: 2}
    given:
      bronze.orders:
        - {id: 1, note: "="}
        - {amount: 2.0, id: 2}
  - name: second
    given:
      bronze.orders: [{id: 1, tags: [a, {b: true}]}]
    expect: [{id: 1}]
"""


def read(text: str, file: str = "orders.yaml", table: TableName | None = ORDERS) -> tuple[UnitTest, ...]:
    tests, problems = read_unit_tests(dedent(text), file, "shop", table)
    assert problems == ()
    return tests


def texts(rows: DeclaredRows) -> list[list[str | None]]:
    return [[cell.text if isinstance(cell, Scalar) else None for cell in row] for row in rows.rows]


def told(text: str, file: str = "tests/a.yaml", table: TableName | None = None) -> list[str]:
    tests, problems = read_unit_tests(dedent(text), file, "shop", table)
    assert tests == ()
    return [problem.message for problem in problems]


@pytest.mark.parametrize(("text", "file"), [(TOML, "orders.toml"), (YAML, "orders.yaml")])
def test_toml_and_yaml_say_the_same(text: str, file: str) -> None:
    first, second = read(text, file)
    assert (first.table, first.name, first.description, first.ordered) == (ORDERS, "first", "what it shows", True)
    assert first.run_started_at == "2024-05-01T04:00:00+00:00"
    assert (first.watermark_value, first.incremental) == ("2024-04-30", True)
    assert first.vars == {"limit": 3, "word": "x"}
    assert first.expect.columns == ("id", "amount")
    assert texts(first.expect) == [["1", "10.10"], ["2", None]]
    (given,) = first.given
    assert (given.name, given.rows.columns) == ("bronze.orders", ("id", "note", "amount"))
    assert texts(given.rows) == [["1", "=", None], ["2", None, "2.0"]]
    assert second.given[0].name == "bronze.orders"
    assert second.given[0].rows.rows[0][1] == (Scalar("a", "a"), {"b": Scalar(True, "true")})
    assert (second.ordered, second.incremental, second.run_started_at) == (False, False, None)


def test_places_in_toml() -> None:
    first, second = read(TOML, "orders.toml")
    assert (first.place, second.place) == (Place("orders.toml", 3), Place("orders.toml", 18))
    assert first.given[0].place == Place("orders.toml", 13, 1)
    assert first.given[0].rows.places["note"] == Place("orders.toml", 14, 13)
    assert first.given[0].rows.places["amount"] == Place("orders.toml", 15, 5)
    assert first.expect.places["amount"] == Place("orders.toml", 10, 21)
    assert second.given[0].rows.places["tags"] == Place("orders.toml", 22, 1)
    assert second.expect.places["id"] == Place("orders.toml", 24, 1)


def test_places_in_yaml() -> None:
    first, second = read(YAML)
    assert (first.place, second.place) == (Place("orders.yaml", 3, 5), Place("orders.yaml", 16, 5))
    assert first.given[0].place == Place("orders.yaml", 13, 7)
    assert first.given[0].rows.places["amount"] == Place("orders.yaml", 15, 12)
    assert first.expect.places["amount"] == Place("orders.yaml", 10, 17)


def test_a_word_keeps_how_it_was_written() -> None:
    (test,) = read("tests: [{name: a, expect: [{country: no, code: 007, day: 2024-01-01, none: null}]}]")
    (country, code, day, none), *_ = test.expect.rows
    assert (country, none) == (Scalar(False, "no"), None)
    assert isinstance(code, Scalar)
    assert isinstance(day, Scalar)
    assert (code.text, day.text) == ("007", "2024-01-01")


def test_csv_has_null_for_an_empty_field_and_knows_what_a_text_means() -> None:
    (test,) = read(
        """
        tests:
          - name: a
            given:
              orders:
                csv: |
                  id, amount, paid, day,        at,                  note
                  1,  2.5,    true, 2024-01-01, 2024-01-01 10:00:00, "a, b"
                  2,,,,,
            expect: []
        """
    )
    rows = test.given[0].rows
    assert rows.columns == ("id", "amount", "paid", "day", "at", "note")
    kinds = [type(cell.value).__name__ for cell in rows.rows[0] if isinstance(cell, Scalar)]
    assert kinds == ["int", "float", "bool", "date", "datetime", "str"]
    assert texts(rows)[0][-1] == "a, b"
    assert rows.rows[1] == (Scalar(2, "2"), None, None, None, None, None)


def test_rows_may_be_written_as_rows_or_as_sql() -> None:
    (test,) = read("tests: [{name: a, given: {a.b: {rows: [{id: 1}]}}, expect: {sql: SELECT 1 AS id}}]")
    assert test.given[0].rows.columns == ("id",)
    assert test.expect.sql == "SELECT 1 AS id"


def test_columns_are_the_same_whatever_their_case() -> None:
    (test,) = read("tests: [{name: a, expect: [{id: 1}, {ID: 2}]}]")
    assert test.expect.columns == ("id",)
    assert test.expect.rows == ((Scalar(1, "1"),), (Scalar(2, "2"),))


@pytest.mark.parametrize(
    ("test", "incremental"),
    [
        ("{name: a, expect: []}", False),
        ("{name: a, expect: [], is_incremental: true}", True),
        ("{name: a, expect: [], watermark_value: 3}", True),
        ("{name: a, expect: [], watermark_value: 3, is_incremental: false}", False),
    ],
)
def test_a_watermark_makes_a_run_incremental_unless_said_otherwise(test: str, incremental: bool) -> None:
    assert read(f"tests: [{test}]")[0].incremental is incremental


def test_dates_of_an_interval_are_written_as_a_run_writes_them() -> None:
    (test,) = read("tests: [{name: a, expect: [], start_date: 2024-01-01, end_date: 2024-01-02T03:00:00+02:00}]")
    assert (test.start_date, test.end_date) == ("2024-01-01 00:00:00", "2024-01-02 01:00:00")


def test_a_test_that_is_wrong_does_not_hide_the_others() -> None:
    text = "tests: [{name: a}, {name: b, model: silver.orders, expect: []}, 3]"
    tests, problems = read_unit_tests(text, "tests/a.yaml", "shop")
    assert [test.name for test in tests] == ["b"]
    assert len(problems) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file has no list of tests"),
        ("tests: 3", "'tests' must be a list"),
        ("tests: [{name: a, expect: []}]", "the test does not say which model it is of"),
        ("tests: [{model: silver.orders, expect: []}]", "the test has no name"),
        ("tests: [{model: a.b, name: x}]", "the test does not say which rows it expects"),
        ("tests: [{model: a.b, name: [x], expect: []}]", "'name' must be text"),
        ("tests: [{model: a.b, name: x, expect: {rows: [], csv: a}}]", "'expect' must have one of rows, csv and sql"),
        (
            "tests: [{model: a.b, name: x, expect: [], given: {c: {csv: 'a,a'}}}]",
            "the first line of 'c' must name each column once",
        ),
        ("tests: [{model: a.b, name: x, expect: [], ordered: 3}]", "'ordered' must be true or false, not '3'"),
        ("tests: [{model: a.b, name: x, expect: [], vars: 3}]", "'vars' must hold names and values"),
    ],
)
def test_what_is_wrong_is_told(text: str, message: str) -> None:
    assert told(text) == [message]


def test_broken_yaml_is_told_with_its_place() -> None:
    _, (problem,) = read_unit_tests("tests:\n  - [", "tests/a.yaml", "shop")
    assert (problem.code, problem.place.file, problem.place.line) == ("UnreadableFile", "tests/a.yaml", 2)
    _, (problem,) = read_unit_tests("a: &a [*a]", "tests/a.yaml", "shop")
    assert problem.code == "UnreadableFile"


def test_files_directly_in_tests_are_found(tmp_path: Path) -> None:
    for name in ("tests/b.yml", "tests/a.yaml", "tests/c.toml", "tests/d.txt", "tests/.e.yaml", "tests/more/f.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert unit_test_files(tmp_path) == ("tests/a.yaml", "tests/b.yml", "tests/c.toml")
    assert unit_test_files(tmp_path / "nowhere") == ()


def test_a_project_has_the_tests_of_settings_files_and_of_the_folder(tmp_path: Path) -> None:
    built = build(
        tmp_path,
        {
            "models/silver/orders.sql": "select 1 as id",
            "models/silver/orders.toml": 'owner = "a"\n[[tests]]\nname = "beside"\nexpect = [{ id = 1 }]\n',
            "models/gold/total/pipeline.sql": "select count(*) as n from silver.orders",
            "models/gold/total/config.yaml": "tests: [{name: in its folder, expect: [{n: 0}]}]",
            "tests/more.yaml": "tests: [{name: apart, model: Silver.Orders, expect: [{id: 1}]}]",
        },
    )
    assert built.compiled.diagnostics == ()
    assert [(test.table.name, test.name) for test in built.project.unit_tests] == [
        ("total", "in its folder"),
        ("orders", "beside"),
        ("Orders", "apart"),
    ]
    assert built.compiled.models[ORDERS].model.settings.owner == "a"


def test_tests_do_not_change_what_a_model_is(tmp_path: Path) -> None:
    plain = build(tmp_path / "a", {"models/silver/orders.sql": "select 1 as id"})
    sidecar = "tests: [{name: a, expect: []}]"
    tested = build(tmp_path / "b", {"models/silver/orders.sql": "select 1 as id", "models/silver/orders.yaml": sidecar})
    assert plain.compiled.models[ORDERS].fingerprint == tested.compiled.models[ORDERS].fingerprint
