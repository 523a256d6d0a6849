"""Contracts against columns that are given by hand; how a query's columns are found is tried elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.columns import relation
from tests.compiler.projects import write_project
from tidegate.compiler.compiled import Diagnostic
from tidegate.compiler.drafts import CompilationState
from tidegate.compiler.external_tables import ExternalTables
from tidegate.compiler.passes.contract_rules import check_contracts
from tidegate.config import load_settings
from tidegate.datatypes import NOTHING_KNOWN, Relation
from tidegate.names import TableName
from tidegate.project import load_project

ORDERS = TableName("shop", "silver", "orders")


def check(
    root: Path,
    contract: str,
    columns: Relation | None,
    sql: str = "select 1 as id",
    published: Relation = NOTHING_KNOWN,
) -> list[Diagnostic]:
    files = {"models/silver/orders.sql": sql, "models/silver/orders.contract.toml": contract}
    settings = load_settings(write_project(root, files), env={})
    project = load_project(settings)
    assert project.problems == ()
    work = CompilationState.of(project, settings, ExternalTables(sources={ORDERS: published}), {})
    (draft,) = work.drafts
    draft.content.relation = columns
    found = list(check_contracts(work, draft))
    assert draft.failed == any(diagnostic.severity == "error" for diagnostic in found)
    return found


def codes(found: list[Diagnostic]) -> list[str]:
    return [f"{d.code} {d.span.file.rpartition('.')[2]}:{d.span.line}:{d.span.col}" for d in found if d.span]


def test_a_contract_that_is_kept_is_quiet(tmp_path: Path) -> None:
    contract = 'required = ["ID"]\nprotected = ["id"]\n[columns.Id]\ntype = "bigint"\nnullable = false\n'
    assert check(tmp_path, contract, relation("id bigint!")) == []


@pytest.mark.parametrize("columns", [None, NOTHING_KNOWN, relation("id bigint!", complete=False)])
def test_nothing_is_said_of_columns_that_are_not_known(tmp_path: Path, columns: Relation | None) -> None:
    contract = 'required = ["a"]\nprotected = ["b"]\n[columns.c]\ntype = "int"\n'
    assert check(tmp_path, contract, columns) == []


def test_a_known_column_is_judged_though_there_may_be_others(tmp_path: Path) -> None:
    contract = 'required = ["a"]\n[columns.id]\ntype = "string"\n'
    found = check(tmp_path, contract, relation("id bigint", complete=False))
    assert codes(found) == ["ContractColumnType sql:1:13"]
    assert found[0].message == "column 'id' is bigint, but the contract says string"


def test_type_and_nullability_that_are_not_known_are_no_fault(tmp_path: Path) -> None:
    assert check(tmp_path, '[columns.id]\ntype = "int"\nnullable = false\n', relation("id")) == []


def test_a_column_that_may_be_null_is_told_where_the_query_names_it(tmp_path: Path) -> None:
    sql = "-- @owner: a\nselect\n  x as other,\n  t.id\nfrom (select 1 as id, 2 as x) t\nunion all\nselect 1, 2"
    contract = "[columns]\nid = { nullable = false }\nother = { nullable = true }\n"
    found = check(tmp_path, contract, relation("other int?, id int?"), sql)
    assert codes(found) == ["ContractNullable sql:4:5"]


def test_a_column_behind_a_star_is_told_in_the_contract(tmp_path: Path) -> None:
    found = check(tmp_path, '[columns.id]\ntype = "string"\n', relation("id int"), "select * from silver.orders")
    assert codes(found) == ["ContractColumnType toml:2:1"]


@pytest.mark.parametrize(
    ("header", "quiet"),
    [
        ("-- @kind: merge\n-- @unique_key: ID\n", True),
        ("-- @kind: tracked\n-- @group_key: id\n", True),
        ("-- @kind: merge\n-- @unique_key: id\n-- @null_keys: match\n", False),
        ("-- @kind: table\n-- @unique_key: id\n", False),
        ("-- @kind: merge\n-- @unique_key: other\n", False),
    ],
)
def test_a_key_in_which_null_stops_the_run_is_never_null(tmp_path: Path, header: str, quiet: bool) -> None:
    found = check(
        tmp_path, "[columns.id]\nnullable = false\n", relation("id int?, other int"), header + "select 1 as id"
    )
    assert (found == []) is quiet


def test_columns_that_scd2_adds_are_columns_of_the_table(tmp_path: Path) -> None:
    contract = 'required = ["valid_from", "is_current"]\n[columns]\nvalid_to = "timestamp"\nis_current = "int"\n'
    found = check(tmp_path, contract, relation("id int"), "-- @kind: scd2\n-- @unique_key: id\nselect 1 as id")
    assert codes(found) == ["ContractColumnType toml:4:1"]


def test_a_small_integer_is_taken_as_the_query_gives_it(tmp_path: Path) -> None:
    contract = '[columns]\na = "smallint"\nb = "int"\n'
    assert check(tmp_path, contract, relation("a smallint, b smallint")) == []


def test_a_protected_column_is_told_once_though_it_is_required_too(tmp_path: Path) -> None:
    contract = 'required = ["email", "id"]\nprotected = ["email"]\n[columns.email]\ntype = "string"\n'
    found = check(tmp_path, contract, relation("id int"))
    assert codes(found) == ["ContractProtectedColumn toml:2:14"]


def test_a_protected_column_of_the_published_table_is_said_to_be_lost(tmp_path: Path) -> None:
    contract = 'protected = ["email"]\n'
    (never,) = check(tmp_path / "a", contract, relation("id int"))
    (lost,) = check(tmp_path / "b", contract, relation("id int"), published=relation("id int, email string"))
    assert "does not give it" in never.message
    assert "would take it off the published table" in lost.message
