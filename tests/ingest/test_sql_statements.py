"""The statements that the SQL connectors send, pinned as text in tests/cases/ingest/, and read by a parser."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlglot

from tidegate.ingest.sql.cdc_reads import ChangesRead, part_predicates
from tidegate.ingest.sql.sql_dialects import POSTGRES, TRANSACT_SQL, SqlColumn, ValueKind, generic_dialect
from tidegate.ingest.sql.sql_reads import Key, SqlTableRead

CASES = Path(__file__).parents[1] / "cases" / "ingest"
DIALECTS = {
    "sqlserver": (TRANSACT_SQL, "tsql"),
    "postgres": (POSTGRES, "postgres"),
    "jdbc:mysql:": (generic_dialect("jdbc:mysql://h/d"), "mysql"),
    "jdbc:h2:": (generic_dialect("jdbc:h2:mem:x"), "postgres"),
}


@dataclass(frozen=True)
class Case:
    name: str
    settings: dict[str, str]
    expected: str


def cases(file: str) -> list[Case]:
    parts = re.split(r"^=== (.*)\n", (CASES / file).read_text(), flags=re.MULTILINE)[1:]
    found = []
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        head, _, expected = body.partition("---\n")
        settings = dict(line.split(": ", 1) for line in head.splitlines() if line)
        found.append(Case(name, settings, expected.strip()))
    return found


def statements_of(case: Case) -> list[str]:
    given = case.settings
    dialect, _ = DIALECTS[given["database"]]
    read = SqlTableRead(
        dialect,
        given["table"],
        filtering=column(given["filter"]) if "filter" in given else None,
        lower=given.get("lower"),
        upper=given.get("upper"),
        ordering=tuple(map(column, given["order"].split(", "))) if "order" in given else (),
    )
    match given["read"].split():
        case ["bound"]:
            return [read.greatest(), read.has_rows()]
        case ["whole"]:
            return [f"SELECT * FROM {read.from_table} WHERE {read.whole() or '1 = 1'}"]
        case ["ends", rows]:
            return [read.range_ends(int(rows), key(given.get("after")))]
        case ["range"]:
            predicate = read.range(key(given.get("after")), key(given.get("end")))
            return [f"SELECT * FROM {read.from_table} WHERE {predicate}"]
        case ["rest"]:
            return [f"SELECT * FROM {read.from_table} WHERE {read.without_value()}"]
    raise AssertionError(given["read"])


def column(text: str) -> SqlColumn:
    name, _, kind = text.rpartition(" ")
    return SqlColumn(name, ValueKind(kind))


def key(text: str | None) -> Key | None:
    return None if text is None else tuple(json.loads(text))


@pytest.mark.parametrize("case", cases("table_reads.txt"), ids=lambda case: case.name)
def test_a_read_of_a_table_is_this_statement(case: Case) -> None:
    statements = statements_of(case)
    assert "\n".join(statements) == case.expected
    for statement in statements:
        sqlglot.parse_one(statement, read=DIALECTS[case.settings["database"]][1])


def statements_of_changes(case: Case) -> list[str]:
    given = case.settings
    read = ChangesRead(given.get("instance", "dbo_Orders"), given.get("lower"), given.get("upper"))
    match given["read"].split():
        case ["bound", milliseconds]:
            return [read.newest_commit(int(milliseconds))]
        case ["lsn"]:
            return [read.lsn_bounds()]
        case ["parts"]:
            return [read.parts(lsn(1), lsn(300), 4)]
        case ["changes"]:
            return [read.changes(lsn(1), lsn(300))]
        case ["predicates"]:
            return part_predicates([lsn(20), lsn(10), lsn(30)])
    raise AssertionError(given["read"])


def lsn(number: int) -> bytes:
    return number.to_bytes(10, "big")


@pytest.mark.parametrize("case", cases("change_reads.txt"), ids=lambda case: case.name)
def test_a_read_of_changes_is_this_statement(case: Case) -> None:
    statements = statements_of_changes(case)
    assert "\n".join(statements) == case.expected
    for statement in statements:
        sqlglot.parse_one(statement, read="tsql")
