"""The text cases of tests/cases/checks: small tables, and what each check finds in them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from tidegate.checks.check_registry import rule_of
from tidegate.checks.check_values import Check, CheckRule, Stage
from tidegate.checks.parsing import parse_call
from tidegate.datatypes import Column, parse_type
from tidegate.problems import Place
from tidegate.project.declared_checks import declared_checks
from tidegate.project.settings_files import SourceNode

CASES = Path(__file__).parents[1] / "cases" / "checks"
PLACE = Place("models/silver/orders.sql")

_LINE = re.compile(r"(?P<table>\w+)(?: after (?P<past>\w+))?: (?P<text>.*) -> (?P<status>\w+)(?: (?P<value>.*))?")


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    rows: str

    @property
    def query(self) -> str:
        cast = ", ".join(f"CAST(`c{i}` AS {c.type}) AS `{c.name}`" for i, c in enumerate(self.columns))
        names = ", ".join(f"`c{i}`" for i in range(len(self.columns)))
        if not self.rows:
            return f"(SELECT {cast} FROM (SELECT {names.replace('`c', 'NULL AS `c')}) WHERE false)"
        return f"(SELECT {cast} FROM VALUES {self.rows} AS t({names}))"


@dataclass(frozen=True)
class Case:
    """`kind`: the check that it is a case of. `value` None: any will do."""

    kind: str
    table: str
    past: str | None
    check: Check
    status: str
    value: str | None

    @property
    def id(self) -> str:
        after = f" after {self.past}" if self.past else ""
        return f"{self.table}{after}: {self.check.name}"


@dataclass(frozen=True)
class CaseFile:
    tables: Mapping[str, Table]
    other: Table | None
    cases: tuple[Case, ...]
    texts: Mapping[str, str] = field(default_factory=dict)

    def form(self, case: Case) -> CheckRule:
        return rule_of(case.check, self.tables[case.table].columns, "shop")


def case_files() -> list[Path]:
    return sorted(CASES.glob("*.txt"))


@cache
def read_cases(path: Path) -> CaseFile:
    parts = re.split(r"^--- (.*)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    sections = list(zip(parts[::2], parts[1::2], strict=True))
    texts = {head.removeprefix("file "): body for head, body in sections if head.startswith("file ")}
    tables = {}
    other, cases = None, []
    for head, body in sections:
        name, _, columns = head.partition(": ")
        if name.startswith("table "):
            tables[name.removeprefix("table ")] = _table(columns, body)
        elif name == "other":
            other = _table(columns, body)
        elif name == "cases":
            cases = list(_cases(body, texts))
    return CaseFile(tables, other, tuple(cases), texts)


def _table(columns: str, body: str) -> Table:
    found = []
    for written in re.split(r", (?=\w+ )", columns):
        name, _, kind = written.partition(" ")
        type_ = parse_type(kind)
        assert type_ is not None, kind
        found.append(Column(name, type_))
    return Table(tuple(found), ", ".join(body.strip().splitlines()))


def _cases(body: str, texts: Mapping[str, str]) -> list[Case]:
    cases, kind = [], ""
    for line in filter(str.strip, body.splitlines()):
        if line.startswith("["):
            kind = line.strip("[]")
            continue
        match = _LINE.fullmatch(line)
        assert match, line
        check = _check(match["text"], texts)
        cases.append(Case(kind, match["table"], match["past"], check, match["status"], match["value"]))
    return cases


def _check(text: str, texts: Mapping[str, str]) -> Check:
    if text.startswith("{"):
        table = tomllib.loads(f"check = {text}", parse_float=Decimal)["check"]
        declared = declared_checks("checks", SourceNode([_node(table)], PLACE), {})
        assert not declared.problems, declared.problems
        return declared.checks[0]
    call, severity = parse_call(text)
    assert severity is None
    source = texts.get(call.arguments[0], "") if call.name == "golden" else ""
    return Check(text, Stage.BEFORE_PUBLISH, PLACE, call, source=source)


def _node(value: Any) -> SourceNode:
    if isinstance(value, dict):
        return SourceNode({key: _node(inner) for key, inner in value.items()}, PLACE)
    if isinstance(value, list):
        return SourceNode([_node(inner) for inner in value], PLACE)
    return SourceNode(value, PLACE, str(value).lower() if isinstance(value, bool) else str(value))
