"""Models with quarantine as the compiler sees them: what defines them, who reads what they refuse, what is hidden."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.compiler.projects import Built, build, table
from tidegate.compiler import compile_project
from tidegate.compiler.compile_cache import CompileCache
from tidegate.compiler.hidden_columns import hidden_columns, hidden_in_query, hidden_in_table
from tidegate.names import TableName
from tidegate.project import load_project
from tidegate.runs.reads import owned_tables, owning_models

QUARANTINE = "-- @quarantine: true\n-- @constraint: not_null(id)\n"
PEOPLE = "{head}select 1 as id, 'a@b.c' as email, 'x' as name\n"


def people(root: Path, head: str = QUARANTINE, files: Mapping[str, str] | None = None) -> Built:
    built = build(root, {"models/silver/people.sql": PEOPLE.format(head=head), **(files or {})})
    assert built.compiled.diagnostics == ()
    return built


def test_a_table_beside_another_is_named_after_it() -> None:
    orders = TableName("shop", "silver", "orders")
    assert str(orders.quarantine) == "shop.silver.orders__quarantine"
    assert orders.quarantine.beside_quarantine == orders
    assert orders.beside_quarantine is None
    assert TableName("shop", "silver", "__quarantine").beside_quarantine is None


def test_who_reads_a_quarantine_is_built_after_its_model(tmp_path: Path) -> None:
    built = people(tmp_path, files={"models/gold/why.sql": "select id, _reasons, name from silver.PEOPLE__quarantine"})
    why = built.compiled.models[table("gold.why")]
    assert why.depends_on == (table("silver.people"),)
    assert why.sources == (table("silver.people__quarantine"),)
    assert built.compiled.waves == ((table("silver.people"),), (table("gold.why"),))
    assert built.bind("gold.why").sql == "select id, _reasons, name from `shop`.`silver`.`people__quarantine`"
    types = {column.name: str(column.type) for column in why.relation.columns}
    assert types == {"id": "int", "_reasons": "array<string>", "name": "string"}


def test_without_quarantine_there_is_no_such_table(tmp_path: Path) -> None:
    files = {
        "models/silver/people.sql": PEOPLE.format(head="-- @quarantine: false\n"),
        "models/gold/why.sql": "select id from silver.people__quarantine",
    }
    assert [d.code for d in build(tmp_path / "a", files).compiled.errors] == ["UnknownDependency"]
    left_behind = build(tmp_path / "b", files, lake=["silver.people__quarantine"]).compiled
    assert left_behind.errors == ()
    assert left_behind.models[table("gold.why")].depends_on == ()


def test_a_reader_is_compiled_anew_when_quarantine_is_switched_on(tmp_path: Path) -> None:
    cache = CompileCache()
    files = {"models/gold/why.sql": "select * from silver.people__quarantine"}
    lake = [table("silver.people__quarantine")]
    found = []
    for head in ("", QUARANTINE, ""):
        built = build(tmp_path, {"models/silver/people.sql": PEOPLE.format(head=head), **files})
        compiled = compile_project(load_project(built.settings), built.settings, lake, {}, cache=cache)
        found.append(compiled.models[table("gold.why")].depends_on)
    assert found == [(), (table("silver.people"),), ()]


def test_a_circle_through_a_quarantine_is_found(tmp_path: Path) -> None:
    files = {
        "models/silver/people.sql": QUARANTINE + "select id from gold.why",
        "models/gold/why.sql": "select id from silver.people__quarantine",
    }
    assert "CyclicDependency" in {d.code for d in build(tmp_path, files).compiled.errors}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("", "-- @quarantine: false\n", True),
        ("-- @constraint: not_null(id)\n", "-- @constraint: not_null(name)\n", True),
        ("-- @constraint: not_null(id)\n", QUARANTINE, False),
        (QUARANTINE, QUARANTINE + "-- @constraint: not_null(name)\n", False),
        (QUARANTINE, QUARANTINE + "-- @constraint: not_null(name) warn\n", True),
        (QUARANTINE, QUARANTINE + "-- @constraint: unique(name)\n-- @audit: row_count(>, 0)\n", True),
    ],
)
def test_constraints_are_part_of_a_definition_where_they_keep_rows_out(
    one: str, other: str, same: bool, tmp_path: Path
) -> None:
    prints = [
        people(tmp_path / f"{number}", head).compiled.models[table("silver.people")].fingerprint
        for number, head in enumerate((one, other))
    ]
    assert (prints[0] == prints[1]) is same


def test_what_is_hidden_in_a_table_is_hidden_in_its_quarantine_and_in_what_reads_that(tmp_path: Path) -> None:
    head = QUARANTINE + "-- @column: email: [mask_email]\n-- @column: name: [pii]\n"
    files = {
        "models/gold/why.sql": "select id, name as n, email from silver.people__quarantine",
        "models/gold/odd__quarantine.sql": "-- @column: a: [pii]\nselect 1 as a",
        "models/gold/odd.sql": "select 1 as a",
    }
    compiled = people(tmp_path, head, files).compiled
    refused = table("silver.people__quarantine")
    assert hidden_columns(compiled, refused) == {"email", "name"}
    assert hidden_in_table(compiled, refused, ["name", "_reasons"]) == {"email", "name"}
    assert hidden_columns(compiled, table("gold.why")) == {"n"}
    assert "n" in hidden_in_query(compiled, f"select name as n from {refused.quoted}")
    assert hidden_in_table(compiled, table("gold.odd__quarantine"), ["a"]) == {"a"}
    assert hidden_in_table(compiled, table("gold.odd"), ["a"]) == set()


def test_a_model_and_what_it_refuses_are_owned_together(tmp_path: Path) -> None:
    compiled = people(tmp_path, files={"models/gold/plain.sql": "select 1 as id"}).compiled
    both = {table("silver.people"), table("silver.people__quarantine")}
    assert owned_tables(compiled, [table("silver.people")]) == both
    assert owning_models(compiled, both) == {table("silver.people")}
    others = {table("gold.plain"), table("gold.plain__quarantine"), table("silver.unknown")}
    assert owned_tables(compiled, [table("gold.plain")]) == {table("gold.plain")}
    assert owning_models(compiled, others) == others
