"""Each case of tests/cases/deltas: a query, its tables, and what becomes of it, word for word.

Without `key` or `within`, the model's table holds the result as it is. `*` marks the columns of a table's key.
`{orders}` stands for the table's full name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tidegate.names import TableName
from tidegate.planner.deltas.delta_query import DeltaQuery, DeltaRefusal, InputTable
from tidegate.planner.deltas.rewrite import rewrite

CASES = Path(__file__).parents[2] / "cases" / "deltas"
TABLE = re.compile(r"(\w+)\((.*?)\)( changed)?(?: keyed by (.*))?")


class Case(NamedTuple):
    title: str
    inputs: dict[TableName, InputTable]
    key: tuple[str, ...]
    within_key: bool
    query: str
    expected: str


def read_cases(path: Path) -> Iterator[Case]:
    for text in re.split(r"^=== ", path.read_text(), flags=re.MULTILINE)[1:]:
        title, rest = text.split("\n", 1)
        head, query, *expected = re.split(r"^--- \w+\n|^--- ", rest, maxsplit=2, flags=re.MULTILINE)
        inputs: dict[TableName, InputTable] = {}
        key: tuple[str, ...] = ()
        within_key = False
        for line in head.splitlines():
            if line.startswith(("key ", "within ")):
                within_key = line.startswith("within ")
                key = tuple(line.split(" ", 1)[1].split(", "))
            elif found := TABLE.fullmatch(line):
                name, columns, marks, keyed_by = found.groups()
                names, types = zip(*(text.partition(":")[::2] for text in columns.split(", ")), strict=True)
                unique = frozenset(column[:-1] for column in names if column.endswith("*"))
                inputs[TableName("shop", "silver", name)] = InputTable(
                    tuple(column.rstrip("*") for column in names),
                    (unique,) if unique else (),
                    marks is not None,
                    frozenset(keyed_by.split(", ")) if keyed_by else None,
                    {name.rstrip("*"): kind or "long" for name, kind in zip(names, types, strict=True)},
                )
            else:
                raise ValueError(f"{path.name}: {title}: {line}")
        yield Case(title, inputs, key, within_key, query, "".join(expected))


def outcome(case: Case) -> str:
    sql = re.sub(r"\{(\w+)\}", lambda found: TableName("shop", "silver", found[1]).quoted, case.query)
    delta = rewrite(sql.strip(), case.inputs, case.key, case.within_key, holds_result=not case.key)
    text = told(delta)
    return re.sub(r"`shop`\.`silver`\.`(\w+)`", r"{\1}", text)


def told(delta: DeltaQuery | DeltaRefusal) -> str:
    if isinstance(delta, DeltaRefusal):
        return f"refused: {delta.construct}\n"
    unique = ", unique" if delta.unique else ""
    reads = ", ".join(read.name for read in delta.reads)
    steps = "".join(f"--- step {step.name}\n{step.sql}\n" for step in delta.steps)
    steps += "".join(f"--- unless: {guard.why}\n{guard.sql}\n" for guard in delta.guards)
    head = f"region {', '.join(delta.region)}{unique}\nreads {reads}"
    return f"{head}\n{steps}--- touched\n{delta.touched}\n--- result\n{delta.result}\n"


ALL = [(path.stem, case) for path in sorted(CASES.glob("*.txt")) for case in read_cases(path)]


@pytest.mark.parametrize("case", [case for _, case in ALL], ids=[f"{stem}: {case.title}" for stem, case in ALL])
def test_a_query_becomes_exactly_this(case: Case) -> None:
    assert outcome(case) == case.expected.strip() + "\n"


def test_titles_are_unlike() -> None:
    assert len({case.title for _, case in ALL}) == len(ALL) > 40
