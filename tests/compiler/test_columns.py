"""Where the columns of a table are known from, besides the query that gives them; and projects that are in order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.compile_project import write_projects

from tests.compiler.projects import Built, build, table
from tidegate.compiler import compile_from_disk
from tidegate.config import load_settings
from tidegate.operations.new_project import deliver, write_demo
from tidegate.operations.new_project import write_project as write_new

ZONE = "select * from {{ landing_zone('z') }}"


def columns(built: Built, name: str) -> list[str]:
    relation = built.compiled.models[table(name)].relation
    return [f"{c.name} {c.type}" for c in relation.columns] + ([] if relation.complete else ["…"])


def test_a_zone_has_the_columns_that_are_declared(tmp_path: Path) -> None:
    toml = '[project]\nname = "shop"\n[landing.z]\ncolumns = { id = "BIGINT", at = "timestamp" }\n'
    built = build(tmp_path, {"tidegate.toml": toml, "landing/z/": "", "models/bronze/a.sql": ZONE})
    assert columns(built, "bronze.a") == ["id bigint", "at timestamp"]


def test_of_a_zone_without_declaration_nothing_is_known(tmp_path: Path) -> None:
    files = {"landing/z/": "", "models/bronze/a.sql": ZONE, "models/silver/b.sql": "select anything from bronze.a"}
    built = build(tmp_path, files)
    assert built.compiled.diagnostics == ()
    assert columns(built, "bronze.a") == ["…"]
    assert columns(built, "silver.b") == ["anything ?"]


def test_a_contract_promises_what_the_query_leaves_open(tmp_path: Path) -> None:
    contract = 'required = ["id"]\n[columns.id]\ntype = "bigint"\nnullable = false\n[columns.n]\ntype = "decimal"\n'
    files = {
        "landing/z/": "",
        "models/bronze/a.sql": ZONE,
        "models/bronze/a.contract.toml": contract,
        "models/silver/b.sql": "select id, n, other from bronze.a",
    }
    built = build(tmp_path, files)
    assert built.compiled.diagnostics == ()
    assert columns(built, "silver.b") == ["id bigint", "n ?", "other ?"]
    assert built.compiled.models[table("silver.b")].relation.columns[0].nullable is False


def test_versions_have_their_own_columns(tmp_path: Path) -> None:
    files = {
        "models/bronze/a.sql": "-- @kind: scd2\n-- @unique_key: id\nselect 1 as id, 2Y as small",
        "models/silver/b.sql": "select * from bronze.a",
    }
    found = ["id int", "small int", "valid_from timestamp", "valid_to timestamp", "is_current boolean"]
    assert columns(build(tmp_path, files), "silver.b") == found


def demo(root: Path) -> None:
    write_demo(root)
    deliver(root, "day-2")


@pytest.mark.parametrize(
    "write", [demo, write_new, lambda root: write_projects(root, 200)], ids=["demo", "new", "benchmark"]
)
def test_sample_projects_are_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], object]
) -> None:
    monkeypatch.setenv("TIDEGATE_HOME", str(tmp_path / "home"))
    root = tmp_path / "project"
    write(root)
    settings = load_settings(root / "tidegate" if (root / "tidegate").is_dir() else root)
    compiled, _ = compile_from_disk(settings, (), {})
    assert compiled.models
    assert compiled.diagnostics == ()
    known = [column for model in compiled.models.values() for column in model.relation.columns]
    assert all(column.type.known for column in known)
