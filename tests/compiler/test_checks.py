"""Checks of a project, compiled: what is known of them before anything runs, and whom a model waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build, table
from tidegate.checks.check_registry import rule_of
from tidegate.checks.check_values import QueryRule

ORDERS = "select 1L as id, 2L as customer_id, 'x' as status"


def told(root: Path, files: dict[str, str]) -> list[tuple[str, str | None]]:
    return [(d.code, d.suggestion) for d in build(root, files).compiled.errors]


@pytest.mark.parametrize(
    ("check", "code", "suggestion"),
    [
        ("@constraint: not_null(statsu)", "UnknownColumn", "did you mean status?"),
        ("@constraint: check(x, statsu = 'a')", "UnknownColumn", "status"),
        ("@constraint: required_if(id, statsu = 'a')", "UnknownColumn", "status"),
        ("@constraint: check(x, uper(status) = 'A')", "UnknownFunction", "upper"),
        ("@constraint: check(x, sum(id) > 3)", "MisplacedAggregate", None),
        ("@constraint: references(customer_id, silver.custmers, id)", "UnknownDependency", "silver.customers"),
        ("@constraint: references(customer_id, silver.customers, idd)", "UnknownColumn", "did you mean id?"),
        ("@audit: reconcile_count(silver.custmers)", "UnknownDependency", "silver.customers"),
        ("@constraint: mine(statsu)", "UnknownColumn", "did you mean status?"),
        ("@constraint: mine(id, id)", "WrongCheckArgument", None),
        ("@constraint: yours(statsu)", "UnknownColumn", "did you mean status?"),
        ("@constraint: yours(status, few)", "WrongCheckArgument", "yours(column, limit)"),
        ("@constraint: yours(status, 1.5)", "WrongCheckArgument", None),
        ("@constraint: yours()", "WrongCheckArgument", None),
        ("@constraint: yuors(status)", "UnknownCheck", "did you mean yours?"),
    ],
)
def test_a_wrong_check_is_an_error_with_the_nearest_name(
    tmp_path: Path, check: str, code: str, suggestion: str | None
) -> None:
    files = {
        "models/silver/orders.sql": f"-- {check}\n{ORDERS}",
        "models/silver/customers.sql": "select 1L as id",
        "checks/mine.sql": "-- @params: column\n{column} is not null",
        "checks/yours.py": "def yours(column, limit: int = 10):\n    return column < limit",
    }
    found = told(tmp_path, files)
    assert [code for code, _ in found] == [code]
    assert suggestion is None or suggestion in (found[0][1] or "")


def test_a_model_with_a_wrong_check_is_not_built(tmp_path: Path) -> None:
    files = {"models/silver/orders.sql": f"-- @constraint: not_null(nope)\n{ORDERS}"}
    assert table("silver.orders") not in build(tmp_path, files).compiled.models


def test_columns_that_nobody_knows_are_left_to_the_run(tmp_path: Path) -> None:
    files = {
        "models/silver/orders.sql": "-- @constraint: not_null(nope)\n-- @constraint: check(x, nope > 1)\n"
        "select * from {{ landing_zone('orders') }}",
        "landing/orders/": "",
    }
    assert told(tmp_path, files) == []


def test_a_model_is_built_after_the_tables_that_its_checks_look_at(tmp_path: Path) -> None:
    check = "-- @constraint: references(customer_id, Silver.Zcustomers, id)"
    files = {
        "models/silver/orders.sql": f"{check}\n{ORDERS}",
        "models/silver/zcustomers.sql": "select 1L as id",
    }
    compiled = build(tmp_path, files).compiled
    assert compiled.errors == ()
    assert compiled.waves == ((table("silver.zcustomers"),), (table("silver.orders"),))
    model = compiled.models[table("silver.orders")]
    assert model.depends_on == ()
    (settled,) = model.checks
    form = rule_of(settled, model.relation)
    assert isinstance(form, QueryRule)
    assert form.other == ("shop.silver.zcustomers",)
    assert settled.name == "references(customer_id, Silver.Zcustomers, id)"


def test_a_model_is_built_after_the_tables_behind_a_view_of_it_that_its_check_looks_at(tmp_path: Path) -> None:
    files = {
        "models/silver/orders.sql": "-- @constraint: references(id, silver.joined, id)\nselect 1 as id",
        "models/silver/zcustomers.sql": "select 1 as id",
        "models/silver/joined.sql": "-- @materialized: view\n"
        "select id from silver.orders join silver.zcustomers using (id)",
    }
    compiled = build(tmp_path, files).compiled
    assert compiled.errors == ()
    orders, customers, joined = map(table, ("silver.orders", "silver.zcustomers", "silver.joined"))
    assert compiled.waves == ((customers,), (orders,), (joined,))
    assert compiled.upstreams == {customers: set(), orders: {customers}, joined: {orders, customers}}


def test_two_models_may_refer_to_each_other(tmp_path: Path) -> None:
    files = {
        "models/silver/a.sql": "-- @constraint: references(id, silver.b, id)\nselect 1 as id",
        "models/silver/b.sql": "-- @constraint: references(id, silver.a, id)\nselect 1 as id",
    }
    compiled = build(tmp_path, files).compiled
    assert compiled.errors == ()
    assert sorted(name for wave in compiled.waves for name in wave) == [table("silver.a"), table("silver.b")]


def test_a_changed_check_changes_the_digest_and_not_the_fingerprint(tmp_path: Path) -> None:
    def compiled(name: str, head: str) -> tuple[str, str]:
        files = {"models/silver/orders/pipeline.sql": f"{head}{ORDERS}"}
        if name == "test":
            files["models/silver/orders/tests/quality/t.sql"] = "select * from {{ this }} where id is null"
        model = build(tmp_path / name, files).compiled.models[table("silver.orders")]
        return model.checks_digest, model.fingerprint

    heads = {
        "none": "",
        "audit": "-- @audit: row_count(>, 0)\n",
        "other": "-- @audit: row_count(>, 1)\n",
        "warn": "-- @audit: row_count(>, 0) warn\n",
        "test": "",
    }
    found = {name: compiled(name, head) for name, head in heads.items()}
    assert found["none"][0] == ""
    assert len({digest for digest, _ in found.values()}) == len(heads)
    assert len({fingerprint for _, fingerprint in found.values()}) == 1
    assert compiled("again", "\n-- @audit:   row_count( >,0 )\n") == found["audit"]


def test_a_view_may_have_checks_and_an_ephemeral_model_may_not(tmp_path: Path) -> None:
    files = {
        "models/_defaults.toml": 'audit = ["row_count(>, 0)"]',
        "models/silver/a.sql": f"-- @kind: view\n-- @constraint: not_null(id)\n{ORDERS}",
        "models/silver/b.sql": f"-- @materialized: ephemeral\n-- @constraint: not_null(id)\n{ORDERS}",
        "models/silver/c.sql": f"-- @materialized: ephemeral\n{ORDERS}",
    }
    built = build(tmp_path, files)
    assert [(d.code, d.model) for d in built.compiled.errors] == [("TestOfEphemeral", "silver.b")]
    names = {model.table.name: [check.name for check in model.checks] for model in built.project.models}
    assert names == {"a": ["not_null(id)", "row_count(>, 0)"], "b": ["not_null(id)"], "c": []}


def test_a_query_in_a_settings_file_is_compiled_like_a_test(tmp_path: Path) -> None:
    sidecar = '[[checks]]\ntype = "sql"\nname = "mine"\nsql = """\nselect *\nfrom {{ this }}\nwhere idd is null\n"""\n'
    files = {"models/silver/orders.sql": ORDERS, "models/silver/orders.toml": sidecar}
    (error,) = build(tmp_path / "wrong", files).compiled.errors
    assert error.code == "UnknownColumn"
    assert error.span is not None
    assert (error.span.file, error.span.line, error.span.col) == ("models/silver/orders.toml", 7, 7)
    built = build(tmp_path / "right", {**files, "models/silver/orders.toml": sidecar.replace("idd", "id")})
    assert built.compiled.errors == ()
    assert "`shop`.`silver`.`orders`" in built.bind_test("silver.orders", "mine").sql


def test_checks_are_looked_at_again_when_nothing_else_changed(tmp_path: Path) -> None:
    from tidegate.compiler import compile_project
    from tidegate.compiler.compile_cache import CompileCache
    from tidegate.project import load_project

    cache = CompileCache()
    files = {"models/silver/a.sql": "select 1 as id", "models/silver/a.toml": 'constraint = "not_null(id)"'}
    built = build(tmp_path, files)

    def codes() -> list[str]:
        compiled = compile_project(load_project(built.settings), built.settings, [], {}, cache=cache)
        return [error.code for error in compiled.errors]

    assert codes() == []
    (tmp_path / "models/silver/a.toml").write_text('constraint = "not_null(idd)"')
    assert codes() == ["UnknownColumn"]
