"""What a contract asks of rows, as the questions that a run puts to the table that it built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build
from tidegate.checks.check_values import GroupRule, RowRule
from tidegate.contracts import RowRules, read_contract
from tidegate.datatypes import Column, Relation, parse_type
from tidegate.errors import QueryError
from tidegate.quality import CheckAnswer
from tidegate.runs.build.contract_check import difference, view_notes
from tidegate.runs.build.contract_queries import RowQuestion, questions_about_rows

HEAD = "version: 1.0.0\napiVersion: v3.1.0\nkind: DataContract\nid: revenue\nstatus: active\nschema:\n- name: revenue\n"
CASES = Path(__file__).parent.parent / "cases" / "contracts" / "rows.txt"


def read_cases() -> list[tuple[str, str, list[str]]]:
    """Of each case: the columns of the table, the contract's properties, and the questions."""
    blocks = CASES.read_text("utf-8").split("=== ")[1:]
    cases = []
    for block in blocks:
        heading, _, rest = block.partition("\n")
        properties, _, expected = rest.partition("--\n")
        cases.append((heading, properties, expected.split("\n\n")[0].splitlines()))
    return cases


def rules_of(properties: str) -> RowRules:
    contract, problems = read_contract(f"{HEAD}  properties:\n{properties}", "revenue.odcs.yml", "revenue")
    assert problems == ()
    assert contract is not None
    assert contract.rows is not None
    return contract.rows


def relation(text: str) -> Relation:
    columns = []
    for part in text.split("; "):
        name, _, written = part.partition(" ")
        kind = parse_type(written)
        assert kind is not None
        columns.append(Column(name, kind, None))
    return Relation(tuple(columns))


def asked(question: RowQuestion) -> str:
    form = question.query.form
    if isinstance(form, GroupRule):
        return f"{question.place.line}: {', '.join(form.keys)} twice: {question.complaint}"
    assert isinstance(form, RowRule)
    return f"{question.place.line}: {form.violates}: {question.complaint}"


@pytest.mark.parametrize(("heading", "properties", "expected"), read_cases())
def test_a_contract_asks_of_rows(heading: str, properties: str, expected: list[str]) -> None:
    columns, _, hidden = heading.partition(" without ")
    questions = questions_about_rows(rules_of(properties), relation(columns), frozenset(hidden.split()), "UTC")
    assert [asked(question) for question in questions] == expected


def test_a_constraint_that_the_type_of_the_table_cannot_keep_is_an_error_with_its_line() -> None:
    options = 'logicalTypeOptions: {minimum: "2024-01-01T00:00:00Z"}'
    rules = rules_of(f"  - {{name: at, logicalType: timestamp,\n     {options}}}\n")
    with pytest.raises(QueryError, match=r"of column 'at' cannot be used.* names a time zone") as error:
        list(questions_about_rows(rules, relation("at timestamp_ntz"), frozenset(), "UTC"))
    assert error.value.where == "revenue.odcs.yml:10"


@pytest.mark.parametrize(
    ("properties", "noted"), [("{name: id, logicalType: integer}", False), ("{name: id, primaryKey: true}", True)]
)
def test_a_view_is_said_to_be_checked_by_its_columns_alone(properties: str, noted: bool, tmp_path: Path) -> None:
    files = {
        "models/gold/revenue.sql": "-- @materialized: view\nSELECT id FROM silver.orders",
        "models/silver/orders.sql": "SELECT id FROM {{ landing_zone('orders') }}",
        "landing/orders/": "",
        "models/gold/revenue.odcs.yml": f"{HEAD}  properties:\n  - {properties}\n",
    }
    models = build(tmp_path, files).compiled.models
    (view,) = (model for model in models.values() if model.model.table.name == "revenue")
    assert bool(view_notes(view)) == noted


def test_a_difference_shows_some_rows_and_the_line() -> None:
    rules = rules_of("  - {name: id, logicalType: integer, primaryKey: true, logicalTypeOptions: {minimum: 1}}\n")
    _, least, key = questions_about_rows(rules, relation("id bigint"), frozenset(), "UTC")
    samples = tuple({"id": -number, "note": "x" * 100} for number in range(4))
    shown = ", ".join(f"(id = {-number}, note = '{'x' * 79}…)" for number in range(3))
    assert difference(least, CheckAnswer("failed", 1200, "", samples)) == (
        f"column 'id' is less than the minimum 1: 1200 rows, such as {shown} (revenue.odcs.yml:9)"
    )
    assert difference(key, CheckAnswer("failed", 1, "", ({"id": "***", "n": 2},))) == (
        "primary key id is not unique: 1 value, such as (id = '***') 2 times (revenue.odcs.yml:9)"
    )
