from __future__ import annotations

import pytest

from tidegate.contracts import ModelContract, read_contract
from tidegate.datatypes import BIGINT, STRING
from tidegate.problems import Place

HEAD = "version: 1.0.0\napiVersion: v3.1.0\nkind: DataContract\nid: orders\n"


def good(text: str, file: str = "orders.contract.toml", table: str = "orders") -> ModelContract:
    contract, problems = read_contract(text, file, table)
    assert problems == ()
    assert contract is not None
    return contract


def odcs(text: str, table: str = "orders") -> ModelContract:
    return good(HEAD + text, "orders.odcs.yml", table)


def problems_of(text: str, file: str = "orders.odcs.yml") -> list[str]:
    _, problems = read_contract(text, file, "orders")
    return [f"{p.code} {p.place.line}:{p.place.col} {p.message}" for p in problems]


def test_every_rule_of_a_toml_contract_knows_its_place() -> None:
    contract = good(
        'required = ["id",\n  "amount"]\nprotected = [\'email\']\n\n'
        '[columns.id]\ntype = "bigint"\nnullable = false\n[columns.email]\ntype = "string"\n'
    )
    assert [(fact.value, fact.place) for fact in contract.required] == [
        ("id", Place("orders.contract.toml", 1, 13)),
        ("amount", Place("orders.contract.toml", 2, 3)),
    ]
    assert [(fact.value, fact.place.line, fact.place.col) for fact in contract.protected] == [("email", 3, 14)]
    first, second = contract.columns
    assert first.type is not None
    assert first.nullable is not None
    assert (first.name, first.place.line, first.type.value.type, first.type.place.line) == ("id", 5, BIGINT, 6)
    assert (first.nullable.value, first.nullable.place.line) == (False, 7)
    assert (second.name, second.nullable) == ("email", None)


def test_a_type_may_be_written_without_a_table() -> None:
    (column,) = good('[columns]\nnote = "varchar(20)"\n').columns
    assert column.type is not None
    assert (column.type.value.type, column.type.place.line) == (STRING, 2)


def test_an_empty_file_promises_nothing() -> None:
    assert good("") == ModelContract("orders.contract.toml")


def test_windows_line_ends_do_no_harm() -> None:
    contract = good('required = ["id"]\r\n[columns.id]\r\ntype = "int"\r\n')
    assert contract.columns[0].place.line == 2


def test_every_property_of_an_odcs_schema_must_be_there() -> None:
    contract = odcs(
        "schema:\n- name: orders\n  properties:\n"
        "  - name: id\n    physicalType: BIGINT\n    logicalType: integer\n    required: true\n"
        "  - name: email\n    logicalType: string\n    required: false\n"
        "    customProperties:\n    - {property: protected, value: true}\n"
        "  - {name: note, physicalName: remark}\n"
        "  - {name: total, semanticType: measure}\n"
    )
    assert [fact.value for fact in contract.required] == ["id", "email", "remark"]
    assert [(fact.value, fact.place.line) for fact in contract.protected] == [("email", 16)]
    known, email, note = contract.columns
    assert known.type is not None
    assert known.nullable is not None
    assert (known.type.value.type, known.type.place.line) == (BIGINT, 9)
    assert (known.nullable.value, known.nullable.place.line) == (False, 11)
    assert email.type is not None
    assert email.nullable is not None
    assert (email.type.value.kinds, email.nullable.value) == (("string",), True)
    assert (note.type, note.nullable) == (None, None)


@pytest.mark.parametrize(("table", "column"), [("orders", "b"), ("ITEMS", "c"), ("other", "a")])
def test_the_object_with_the_name_of_the_table_is_taken_else_the_first(table: str, column: str) -> None:
    objects = "\n".join(
        f"- {{{names}, properties: [{{name: {column}}}]}}"
        for names, column in (("name: x", "a"), ("name: Orders", "b"), ("name: y, physicalName: silver.items", "c"))
    )
    assert [fact.value for fact in odcs(f"schema:\n{objects}\n", table).required] == [column]


def test_anchors_and_merge_keys_are_followed() -> None:
    contract = odcs(
        "schema:\n- name: orders\n  properties:\n"
        "  - &base {name: id, logicalType: integer, required: true}\n  - {<<: *base, name: other}\n"
    )
    assert [fact.value for fact in contract.required] == ["id", "other"]
    assert all(rule.nullable is not None and not rule.nullable.value for rule in contract.columns)


def test_keys_of_a_later_standard_are_not_judged() -> None:
    text = HEAD.replace("v3.1.0", "v3.9.0") + "novelty: 1\nschema:\n- {name: a, novelty: 1, properties: []}\n"
    assert problems_of(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "InvalidContract 1:1 an ODCS contract must hold keys and values"),
        ("- a\n", "InvalidContract 1:1 an ODCS contract must hold keys and values"),
        (HEAD, "InvalidContract 1:1 the contract has no 'schema'"),
        (HEAD + "schema: orders\n", "InvalidContract 5:1 'schema' must be a list"),
        (HEAD + "schema:\n- orders\n", "InvalidContract 6:3 each item of 'schema' must hold keys and values"),
        (HEAD + "id: b\nschema: []\n", "InvalidContract 5:1 'id' is set twice"),
        (HEAD + "schema:\n- {name: a, <<: 1}\n", "InvalidContract 6:3 '<<' cannot be followed"),
        (HEAD + "schema: [\n", "UnreadableFile 6:1 not valid YAML"),
        (HEAD + "schema: \x00\n", "UnreadableFile 1:1 not valid YAML"),
        ("[" * 5000, "UnreadableFile 1:1 not valid YAML"),
    ],
)
def test_a_broken_odcs_file_says_where(text: str, problem: str) -> None:
    found = problems_of(text)
    assert len(found) == 1
    assert found[0].startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("required = 3\n", "InvalidContract 1:1 'required' must be a list of columns"),
        ('required = ["a", ""]\n', "InvalidContract 1:1 'required' must be a list of columns"),
        ("columns = []\n", "InvalidContract 1:1 'columns' must hold a table for each column"),
        ("[columns.a]\n[columns.A]\n", "InvalidContract 2:1 column 'A' is described twice"),
        ("[columns]\na.type = 3\n", "InvalidContract 2:1 the type of column 'a' is not one of Spark's: 3"),
        ("[columns\n", "UnreadableFile 1:9 not valid TOML"),
    ],
)
def test_a_broken_toml_file_says_where(text: str, problem: str) -> None:
    found = problems_of(text, "orders.contract.toml")
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_what_is_right_in_a_broken_contract_still_holds() -> None:
    contract, problems = read_contract('required = ["id"]\nprotected = 1\n', "a.contract.toml", "a")
    assert len(problems) == 1
    assert contract is not None
    assert [fact.value for fact in contract.required] == ["id"]
