"""Masked columns as the compiler sees them: types, fingerprints, and which columns are shown to nobody."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import Built, build, table
from tests.project.test_contract_models import CONTRACT
from tidegate.compiler.hidden_columns import has_errors_upstream, hidden_columns, hidden_in_query

PEOPLE = "-- @column: email: {}\n-- @column: ssn: {}\nselect 1L as id, 'a@b.c' as email, 123456789 as ssn, 5 as age\n"


def people(root: Path, email: str = "", ssn: str = "", **models: str) -> Built:
    files = {f"models/gold/{name}.sql": sql for name, sql in models.items()}
    built = build(root, {"models/silver/people.sql": PEOPLE.format(email, ssn), **files})
    assert built.compiled.diagnostics == ()
    return built


def hidden(built: Built, name: str) -> set[str]:
    return set(hidden_columns(built.compiled, table(name)))


def test_readers_see_the_types_that_masks_leave(tmp_path: Path) -> None:
    files = {
        "masks/decade.sql": "{column} div 10 * 10",
        "models/silver/a.sql": "-- @column: ssn: [mask_ssn]\n-- @column: born: [redact]\n-- @column: AGE: [decade]\n"
        "select 123 as ssn, date'2000-01-01' as born, 5 as age, 1 as n",
        "models/gold/b.sql": "select * from silver.a",
        "models/gold/c.sql": "select ssn + 1L as wrong, upper(ssn) as fine from silver.a",
    }
    built = build(tmp_path, files)
    columns = {column.name: column for column in built.compiled.models[table("gold.b")].relation.columns}
    assert {name: str(column.type) for name, column in columns.items()} == {
        "ssn": "string",
        "born": "date",
        "age": "bigint",
        "n": "int",
    }
    assert columns["born"].nullable is True
    assert [d.code for d in built.compiled.errors] == []


def test_a_mistake_below_tells_the_masked_type(tmp_path: Path) -> None:
    sql = {"models/gold/c.sql": "select abs(array(ssn)) as x from silver.people"}
    for tags, kind in (("", "array<int>"), ("[redact]", "array<int>"), ("[mask_ssn]", "array<string>")):
        built = build(tmp_path / kind / tags, {"models/silver/people.sql": PEOPLE.format("", tags), **sql})
        assert kind in built.compiled.errors[0].message


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("", "a description [blue]", True),
        ("[pii]", "[mask_email, pii]", False),
        ("[mask_email]", "[redact]", False),
        ("[mask_email]", "[mask_email, blue]", True),
    ],
)
def test_a_mask_is_part_of_what_the_table_is(tmp_path: Path, one: str, other: str, same: bool) -> None:
    prints = [
        people(tmp_path / n, tags).compiled.models[table("silver.people")].fingerprint
        for n, tags in (("a", one), ("b", other))
    ]
    assert (prints[0] == prints[1]) is same


def test_the_text_of_an_own_mask_counts(tmp_path: Path) -> None:
    found = []
    for name, sql in (("a", "upper({column})"), ("b", "lower({column})")):
        files = {"masks/m.sql": sql, "models/silver/people.sql": PEOPLE.format("[m]", "")}
        found.append(build(tmp_path / name, files).compiled.models[table("silver.people")].fingerprint)
    assert found[0] != found[1]


def test_what_comes_from_a_personal_column_is_personal_too(tmp_path: Path) -> None:
    built = people(
        tmp_path,
        "[PII]",
        copied="select Email as contact, id from silver.people",
        further="-- @materialized: ephemeral\nselect lower(contact) as c, id from gold.copied",
        last="select max(c) as newest, count(*) as n, max(if(c = 'x', id, 0)) as m from gold.further group by id",
        all="select * from silver.people",
    )
    assert hidden(built, "silver.people") == {"email"}
    assert hidden(built, "gold.copied") == {"contact"}
    assert hidden(built, "gold.last") == {"newest"}
    assert hidden(built, "gold.all") == {"email"}


def test_a_masked_column_is_hidden_in_its_table_and_has_nothing_to_hide_below(tmp_path: Path) -> None:
    built = people(tmp_path, "[mask_email, pii]", copied="select email from silver.people")
    assert hidden(built, "silver.people") == {"email"}
    assert hidden(built, "gold.copied") == set()


def test_a_column_that_is_declared_public_is_shown(tmp_path: Path) -> None:
    counted = "-- @column: n: how many [public]\nselect count(email) as n, count(ssn) as m from silver.people"
    assert hidden(people(tmp_path, "[pii]", "[pii]", counted=counted), "gold.counted") == {"m"}


def test_a_star_over_columns_that_are_not_known_keeps_names_hidden(tmp_path: Path) -> None:
    files = {
        "models/silver/a.sql": "-- @column: email: [pii]\nselect * from {{ landing_zone('people') }}",
        "models/gold/b.sql": "select * from silver.a",
        "landing/people/": "",
    }
    built = build(tmp_path, files)
    assert not built.compiled.errors
    assert hidden(built, "gold.b") == {"email"}


def test_a_query_over_tables_hides_what_it_takes_from_them_by_any_name(tmp_path: Path) -> None:
    built = people(tmp_path, "[pii]", "[mask_ssn]")
    sql = "select p.email as a, length(ssn) as b, age as c from shop.silver.people p"
    assert hidden_in_query(built.compiled, sql) == {"a", "b", "email", "ssn"}
    assert hidden_in_query(built.compiled, "select 1 as a from shop.silver.others") == frozenset()
    assert hidden_in_query(built.compiled, "no query") == frozenset()


def test_what_cannot_be_read_makes_all_below_it_uncertain(tmp_path: Path) -> None:
    files = {
        "models/silver/people.sql": PEOPLE.format("", ""),
        "models/silver/people.toml": "[columns.email]\ntags = [",
        "models/gold/copied.sql": "select email from silver.people",
        "models/gold/other.sql": "select 1 as x",
    }
    compiled = build(tmp_path / "a", files).compiled
    assert compiled.tagged
    found = {
        name: has_errors_upstream(compiled, table(name)) for name in ("silver.people", "gold.copied", "gold.other")
    }
    assert found == {"silver.people": True, "gold.copied": True, "gold.other": False}
    folder = {"models/_defaults.toml": "[columns", "models/gold/other.sql": "select 1 as x"}
    assert has_errors_upstream(build(tmp_path / "b", folder).compiled, table("gold.other"))


def test_a_project_without_tags_has_nothing_to_hide(tmp_path: Path) -> None:
    assert not build(tmp_path, {"models/gold/other.sql": "select 1 as x"}).compiled.tagged


def test_tags_of_the_project_apply_to_the_tables_of_contracts(tmp_path: Path) -> None:
    files = {
        "tidegate.toml": '[project]\nname = "shop"\n[defaults.columns.city]\ntags = ["redact"]\n'
        '[defaults.columns.amount]\ntags = ["pii"]\n',
        "contracts/orders.odcs.yml": CONTRACT.replace("      - name: city", "      - name: city\n        unique: true"),
        "landing/shop/orders/": "",
    }
    built = build(tmp_path, files)
    assert [(d.code, d.message) for d in built.compiled.errors] == [
        ("MaskedKey", "column 'city' is masked with redact and is part of the unique columns of its contract")
    ]
    files["contracts/orders.odcs.yml"] = CONTRACT.replace("[orders_source.address.city]", "[orders_source.address]")
    built = build(tmp_path, files)
    assert [(d.code, d.severity.value, d.model) for d in built.compiled.diagnostics] == [
        ("ClearInBronze", "warning", "bronze.orders")
    ]
    assert [mask.name for mask in built.compiled.models[table("silver.orders")].model.masks] == ["redact"]
    assert hidden(built, "silver.orders") == {"city", "amount"}
    assert hidden(built, "bronze.orders") == {"address", "amount", "city", "_text"}
