"""Text cases about queries: tables as DDL, queries under a title, what is expected in marked lines below each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidegate.compiler.analysis.analyze import analyze
from tidegate.compiler.analysis.scoping import Analysis, QuerySource
from tidegate.compiler.sql.queries import ParsedQuery, parse_query
from tidegate.datatypes import NOTHING_KNOWN, Column, Relation, parse_type

CASES = Path(__file__).parents[2] / "cases"
_TABLE = re.compile(r"create table ([\w.]+) \((.*?)\n\);", re.DOTALL)


@dataclass(frozen=True)
class Case:
    title: str
    sql: str
    expected: tuple[str, ...]


def read_tables(path: Path) -> dict[str, Relation]:
    tables = {name: Relation(tuple(map(_column, _split(body)))) for name, body in _TABLE.findall(path.read_text())}
    assert tables
    return tables


def read_cases(path: Path) -> list[Case]:
    """Lines that begin with one of `=?!` are what is expected, the others are the query."""
    parts = re.split(r"^--- (.*)\n", path.read_text(), flags=re.MULTILINE)[1:]
    cases = []
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        lines = body.splitlines()
        marked = tuple(line for line in lines if line[:2] in ("= ", "? ", "! "))
        cases.append(Case(title, "\n".join(line for line in lines if line not in marked), marked))
    assert cases
    return cases


def parsed(sql: str) -> ParsedQuery:
    query = parse_query(sql)
    assert isinstance(query, ParsedQuery), query
    return query


def analyzed(sql: str, tables: Mapping[str, Relation], namespace: str = "") -> Analysis:
    """A table that is not among `tables` exists, and nothing is known of its columns."""
    query = parsed(sql)
    sources = {}
    for reference in query.references:
        name = ".".join(reference.parts).lower()
        full = f"{namespace}.{name}" if namespace and name.count(".") == 1 else name
        sources[id(reference.node)] = QuerySource(full, tables.get(full, NOTHING_KNOWN))
    return analyze(query.tree, sources)


def _column(text: str) -> Column:
    name, _, kind = text.strip().partition(" ")
    nullable = not kind.endswith(" not null")
    parsed_type = parse_type(kind.removesuffix(" not null"))
    assert parsed_type is not None, text
    return Column(name, parsed_type, nullable)


def _split(body: str) -> list[str]:
    """At the commas that are not inside a type."""
    parts, depth = [""], 0
    for char in body:
        depth += (char in "<(") - (char in ">)")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts
