"""Contracts that drive data and those of gold tables: the mistakes of tests/cases/contracts, compiled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compiler.projects import build

FOLDER = Path(__file__).parents[1] / "cases" / "contracts"
FILE = "contracts/orders.odcs.yml"
BESIDE = {
    "landing/orders/": "",
    "notebooks/revenue.py": "",
    "models/gold/revenue.sql": "SELECT 'open' AS state, 1L AS amount",
}


@dataclass(frozen=True)
class Case:
    title: str
    base: str
    changes: dict[str, Any]
    expected: tuple[tuple[str, str, str], ...]


def read_cases(name: str, base: str) -> list[Case]:
    _, *blocks = re.split(r"^--- ", (FOLDER / name).read_text("utf-8"), flags=re.MULTILINE)
    return [read_case(block, base) for block in blocks]


def read_case(block: str, base: str) -> Case:
    title, *lines = block.splitlines()
    expected = [line.removeprefix("> ").split(" | ", 2) for line in lines if line.startswith("> ")]
    changes = yaml.safe_load("\n".join(line for line in lines if not line.startswith("> "))) or {}
    return Case(title, base, changes, tuple((code, at, message) for code, at, message in expected))


def changed(base: str, changes: dict[str, Any]) -> str:
    contract = yaml.safe_load((FOLDER / base).read_text("utf-8"))
    contract.update(changes.get("contract", {}))
    source, silver = contract["schema"][0], contract["schema"][-1]
    for part, name in ((source, "source"), (silver, "silver")):
        values = {entry["property"]: entry["value"] for entry in part.get("customProperties", ())}
        values |= changes.get(name, {})
        part["customProperties"] = [{"property": key, "value": value} for key, value in values.items()]
    columns = {column["name"]: column for column in silver["properties"]}
    for name, keys in changes.get("columns", {}).items():
        columns[name] = None if keys is None else {**columns.get(name, {"name": name}), **keys}
    silver["properties"] = [column for column in columns.values() if column is not None]
    if "quality" in changes:
        silver["quality"] = changes["quality"]
    text = yaml.safe_dump(contract, sort_keys=False, width=1000)
    before, after = changes.get("replace", ("", ""))
    assert before in text
    return text.replace(before, after) if before else text


CASES = [*read_cases("driving.txt", "orders.odcs.yml"), *read_cases("gold.txt", "revenue.odcs.yml")]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_mistakes_are_reported_where_they_are(tmp_path: Path, case: Case) -> None:
    text = changed(case.base, case.changes)
    found = build(tmp_path, {**BESIDE, FILE: text}).compiled.diagnostics
    lines = ["", *text.splitlines()]
    reported = [
        (d.code, lines[d.span.line], f"{d.message}; {d.suggestion}") for d in found if d.span and d.span.file == FILE
    ]
    assert len(reported) == len(found) == len(case.expected), found
    for (code, at, message), (found_code, line, found_message) in zip(case.expected, reported, strict=True):
        assert code == found_code, found
        assert at in line, found
        assert message in found_message
