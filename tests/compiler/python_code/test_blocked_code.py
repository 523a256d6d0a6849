"""Each program of tests/cases/python_code/blocked.txt is refused, each of allowed.txt is not."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tidegate.compiler.python_code import check_source

CASES = Path(__file__).parents[2] / "cases" / "python_code"
CHARACTER = re.compile(r"\\u([0-9a-f]{4})")


def read(name: str) -> list[tuple[str, str]]:
    parts = re.split(r"^--- (.*)\n", (CASES / name).read_text("utf-8"), flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize(("expected", "code"), read("blocked.txt"), ids=lambda value: value.split("\n")[0][:60])
def test_code_that_reaches_out_is_refused_at_its_place(expected: str, code: str) -> None:
    source = CHARACTER.sub(lambda found: chr(int(found[1], 16)), code.removesuffix("\n")).replace("\\0", "\0")
    problems = check_source(source, "models/silver/a.py")
    assert problems, "nothing was found"
    first = problems[0]
    assert f"{first.code} {first.line}:{first.col}" == expected, first.message
    assert all(problem.message and problem.suggestion for problem in problems)


@pytest.mark.parametrize(("name", "code"), read("allowed.txt"), ids=lambda value: value.split("\n")[0][:60])
def test_plain_code_is_not_refused(name: str, code: str) -> None:
    assert check_source(code, "models/silver/a.py", ["geopy"]) == ()


def test_the_corpus_is_large() -> None:
    assert len(read("blocked.txt")) >= 300


def test_what_the_settings_allow_may_be_imported() -> None:
    source = "import os\nimport geopy.distance\nfrom duckdb import connect\n"
    assert [p.line for p in check_source(source, "a.py")] == [1, 2, 3]
    assert [p.line for p in check_source(source, "a.py", ["geopy", "duckdb"])] == [1]


def test_columns_are_counted_in_characters() -> None:
    (problem,) = check_source("x = 'äöü', open\n", "a.py")
    assert (problem.line, problem.col) == (1, 12)


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 5000 + ")" * 5000,
        "x = " + "-" * 50_000 + "1",
        "x = " + "+".join("1" * 60_000),
        "x = 1\n" * 200_000,
        "\n".join(" " * i + "if x:" for i in range(200)) + " pass",
        "a0 = 'ab'\n" + "\n".join(f"a{i + 1} = a{i} + a{i}" for i in range(200)),
        "x = 'a' * 99999999999\ny = x * 99999",
        "a = b\nb = a + 'x'\nf(b)",
        "x" + ".a" * 3000,
        "def f(x: " + "list[" * 300 + "]" * 300 + "): pass",
    ],
    ids=range(10),
)
def test_code_that_is_hard_to_check_ends_soon(source: str) -> None:
    begin = time.monotonic()
    check_source(source, "a.py")
    assert time.monotonic() - begin < 3


def test_a_broken_file_is_one_problem() -> None:
    (problem,) = check_source("def model(tg:\n    return 1\n", "a.py")
    assert (problem.code, problem.line) == ("PythonSyntax", 1)
