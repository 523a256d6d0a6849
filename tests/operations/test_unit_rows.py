"""Expected rows against given ones, as the cases of tests/cases/unit_rows.txt say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tidegate.operations.unit_tests.unit_test_result import RowComparison, compare_rows

CASES = Path(__file__).parents[1] / "cases" / "unit_rows.txt"


def value(word: str) -> Any:
    if word in ("NULL", "true", "false", "''"):
        return {"NULL": None, "true": True, "false": False, "''": ""}[word]
    if re.fullmatch(r"-?\d+", word):
        return int(word)
    return float(word) if re.fullmatch(r"-?\d+\.\d+|nan", word) else word


def rows(text: str) -> list[tuple[Any, ...]]:
    return [tuple(map(value, line.split())) for line in text.strip().splitlines()]


def written(row: tuple[Any, ...]) -> str:
    words = {None: "NULL", True: "true", False: "false", "": "''"}
    return " ".join(words[cell] if cell is None or isinstance(cell, bool) or cell == "" else str(cell) for cell in row)


def told(found: RowComparison) -> Iterator[str]:
    if found.disordered:
        yield "disordered"
    yield from (f"- {written(row)}" for row in found.missing)
    yield from (f"+ {written(row)}" for row in found.unexpected)
    for pair in found.differing:
        yield f"~ {written(pair.expected)} | {written(pair.actual)} | {' '.join(map(str, pair.columns))}"


def cases() -> Iterator[Any]:
    for block in CASES.read_text(encoding="utf-8").split("--- ")[1:]:
        head, _, body = block.partition("\n")
        expected, actual, result = re.split(r"^[=>]\n", f"{body.rstrip()}\n", flags=re.MULTILINE)
        yield pytest.param(head, expected, actual, result, id=head)


@pytest.mark.parametrize(("head", "expected", "actual", "result"), list(cases()))
def test_rows_are_compared_as_the_case_says(head: str, expected: str, actual: str, result: str) -> None:
    key = re.search(r"\[key ([\d ]+)\]", head)
    positions = tuple(map(int, key[1].split())) if key else ()
    found = compare_rows(rows(expected), rows(actual), positions, ordered="[ordered]" in head)
    assert list(told(found)) == result.strip().splitlines()
    assert found.none == (not result.strip())


def test_values_with_parts_are_compared_by_their_parts() -> None:
    one = ({"b": [1, 2], "a": None}, [1.0, float("nan")], Decimal("1.50"), bytearray(b"x"))
    other = ({"a": None, "b": [1, 2]}, [1.0, float("nan")], Decimal("1.5"), b"x")
    assert compare_rows([one], [other]).none
    assert not compare_rows([one], [(*other[:3], b"y")]).none
    assert not compare_rows([([1, 2],)], [([2, 1],)]).none


def test_very_many_rows_are_not_searched_for_likeness() -> None:
    left = [(at, "a", "b") for at in range(1000)]
    right = [(at + 5000, "a", "b") for at in range(1000)]
    found = compare_rows(left, right)
    assert (len(found.missing), len(found.unexpected), found.differing) == (1000, 1000, ())
