from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.compiler.projects import write_project
from tidegate.checks.check_values import Stage
from tidegate.config import load_settings
from tidegate.project import LoadedProject, Materialized, Severity, Strategy, load_project
from tidegate.project.model import Freshness, Model


def load(root: Path, files: dict[str, str]) -> LoadedProject:
    return load_project(load_settings(write_project(root, files), env={}))


def only(project: LoadedProject) -> Model:
    assert project.problems == ()
    (model,) = project.models
    return model


def test_models_are_found_in_every_form(tmp_path: Path) -> None:
    project = load(
        tmp_path,
        {
            "models/silver/orders.sql": "select 1 as id",
            "models/sales/gold/revenue.sql": "select 1 as id",
            "models/silver/customers/pipeline.sql": "select 1 as id",
            "pipelines/crm/silver/people/pipeline.sql": "select 1 as id",
            "models/bronze/größe-1.SQL": "select 1 as id",
            "models/silver/README.md": "no model",
            "models/.hidden/x.sql": "no model",
            "models/__pycache__/x.py": "no model",
        },
    )
    assert project.problems == ()
    assert sorted(str(model.table) for model in project.models) == [
        "crm.silver.people",
        "sales.gold.revenue",
        "shop.bronze.größe-1",
        "shop.silver.customers",
        "shop.silver.orders",
    ]


def test_nearer_settings_win(tmp_path: Path) -> None:
    files = {
        "tidegate.toml": 'project.name = "shop"\n\n[defaults]\nowner = "toml"\ndescription = "x"\non_empty = "fail"\n',
        "models/_defaults.toml": 'owner = "models"\ndescription = "models"\ntags = ["a", "b"]\nskip = "never"\n',
        "models/silver/_defaults.toml": 'owner = "silver"\ndescription = "silver"\n',
        "models/silver/orders.yaml": "owner: sidecar\nfirst_partition: 2026-01-31\n",
        "models/silver/orders.sql": "-- @owner: header\nselect 1 as id",
    }
    project = load(tmp_path, files)
    model = project.models[0]
    assert [problem.code for problem in project.problems] == ["ConflictingSettings"]
    settings = model.settings
    assert (settings.owner, settings.description, settings.on_empty) == ("header", "silver", "fail")
    assert (settings.tags, settings.skip, settings.first_partition) == (("a", "b"), "never", "2026-01-31")
    assert project.origin(model, "on_empty").file == "tidegate.toml"
    assert project.origin(model, "on_empty").line == 6
    assert project.origin(model, "first_partition").line == 2


def test_each_kind_has_its_strategy(tmp_path: Path) -> None:
    kinds = {
        "table": Strategy.FULL_REFRESH,
        "append": Strategy.APPEND_ONLY,
        "merge": Strategy.INCREMENTAL,
        "scd2": Strategy.SCD2,
        "tracked": Strategy.TRACKED,
        "microbatch": Strategy.TIME_INTERVAL,
        "delete_insert": Strategy.DELETE_INSERT,
    }
    project = load(tmp_path, {f"models/silver/{kind}.sql": f"-- @kind: {kind}\nselect 1 as id" for kind in kinds})
    assert {model.table.name: model.settings.strategy for model in project.models} == kinds


def test_a_model_may_be_a_table_where_its_folder_is_of_views(tmp_path: Path) -> None:
    files = {
        "models/_defaults.toml": 'materialized = "view"\n',
        "models/gold/a.sql": "select 1 as id",
        "models/gold/b.sql": "-- @kind: append\nselect 1 as id",
    }
    a, b = load(tmp_path, files).models
    assert (a.settings.materialized, a.settings.strategy) == (Materialized.VIEW, Strategy.FULL_REFRESH)
    assert (b.settings.materialized, b.settings.strategy) == (Materialized.TABLE, Strategy.APPEND_ONLY)


def test_keys_and_notes_of_columns_may_be_quoted(tmp_path: Path) -> None:
    notes = "-- @column: order_id: the id\n-- @column: `line no`: which: line\n"
    header = '-- @unique_key: order_id, "line no", `a``b`\n' + notes
    files = {
        "models/silver/orders.sql": header + "select 1 as id",
        "models/silver/orders.toml": '[columns]\nnote = "n"\norder_id = { description = "less", tags = ["pii"] }\n',
    }
    settings = only(load(tmp_path, files)).settings
    assert settings.unique_key == ("order_id", "line no", "a`b")
    assert settings.columns == {"note": "n", "order_id": "the id", "line no": "which: line"}


def test_quality_tests_belong_to_the_model_beside_them(tmp_path: Path) -> None:
    header = "-- @severity: warn\n-- @description: ids\n-- @timeout: 90s\n-- @tags: a, b\n-- @remediation: ask\n"
    files = {
        "models/silver/orders.sql": "select 1 as id",
        "models/silver/orders/tests/quality/no_nulls.sql": header + "select * from {{ this }} where id is null",
        "models/silver/orders/tests/quality/any.sql": "select 1 as id",
    }
    any_test, no_nulls = only(load(tmp_path, files)).sql_tests
    assert (any_test.name, any_test.severity, any_test.timeout) == ("any", Severity.ERROR, None)
    assert (no_nulls.severity, no_nulls.timeout, no_nulls.tags) == (Severity.WARN, timedelta(seconds=90), ("a", "b"))
    assert (no_nulls.description, no_nulls.remediation) == ("ids", "ask")
    assert no_nulls.place.file == "models/silver/orders/tests/quality/no_nulls.sql"


def test_contracts_belong_to_the_model_beside_them(tmp_path: Path) -> None:
    odcs = (
        "version: 1.0.0\napiVersion: v3.1.0\nkind: DataContract\nid: a\nschema: [{name: a, properties: [{name: id}]}]\n"
    )
    files = {
        "models/silver/orders.sql": "select 1 as id",
        "models/silver/orders.contract.toml": 'required = ["id"]\n',
        "models/silver/orders.toml": 'owner = "data"\n',
        "models/silver/items.sql": "select 1 as id",
        "models/silver/items.odcs.yml": odcs,
        "models/silver/payments/pipeline.sql": "select 1 as id",
        "models/silver/payments/contract.toml": 'required = ["id"]\n',
        "models/sales/gold/revenue/pipeline.sql": "select 1 as id",
        "models/sales/gold/revenue/contract.odcs.yaml": odcs,
        "models/silver/contract.sql": "select 1 as id",
        "models/silver/contract.toml": 'owner = "settings of a model called contract"\n',
        "models/silver/contract.contract.toml": 'required = ["id"]\n',
        "models/silver/plain.sql": "select 1 as id",
    }
    project = load(tmp_path, files)
    assert project.problems == ()
    found = {model.table.name: model.contract for model in project.models}
    assert {name: contract.file for name, contract in found.items() if contract} == {
        "orders": "models/silver/orders.contract.toml",
        "items": "models/silver/items.odcs.yml",
        "payments": "models/silver/payments/contract.toml",
        "revenue": "models/sales/gold/revenue/contract.odcs.yaml",
        "contract": "models/silver/contract.contract.toml",
    }
    assert all([fact.value for fact in contract.required] == ["id"] for contract in found.values() if contract)
    assert {model.table.name: model.settings.owner for model in project.models}["orders"] == "data"


def test_freshness_is_a_check_of_the_newest_row(tmp_path: Path) -> None:
    warning = only(load(tmp_path, {"models/a/b.sql": "-- @freshness: at 1h30m\nselect 1"}))
    assert warning.settings.freshness == Freshness("1h30m", "at")
    assert [(c.name, c.stage, c.severity) for c in warning.checks] == [
        ("freshness(at, 1h30m)", Stage.AFTER_PUBLISH, Severity.WARN)
    ]
    audit = "-- @watermark_column: at\n-- @freshness: 24h audit\n-- @audit: freshness(at, 24h)\nselect 1"
    (check,) = only(load(tmp_path, {"models/a/b.sql": audit})).checks
    assert (check.name, check.stage, check.severity) == ("freshness(at, 24h)", Stage.BEFORE_PUBLISH, Severity.ERROR)


def test_no_time_at_all_is_no_freshness(tmp_path: Path) -> None:
    (problem,) = load(tmp_path, {"models/a/b.sql": "-- @freshness: 0s\nselect 1"}).problems
    assert (problem.code, problem.message) == ("InvalidSetting", "freshness must be longer than no time at all")


def test_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path: Path) -> None:
    model = only(load(tmp_path, {"models/silver/a.sql": "\ufeff-- @owner: data\r\nselect 1 as id\r\n"}))
    assert model.settings.owner == "data"


def test_files_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"models/silver/a.sql": "select 1"})
    (root / "models/silver/a.sql").write_bytes(b"select 1\n-- \xff")
    project = load_project(load_settings(root, env={}))
    assert [(p.code, p.place.file, p.place.line) for p in project.problems] == [
        ("UnreadableFile", "models/silver/a.sql", 2)
    ]


def test_a_project_without_models_is_empty(tmp_path: Path) -> None:
    assert load(tmp_path, {}) == LoadedProject()
