"""Each mistake is told once and at its place; none is hidden by another, and none is told that another one caused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.compiler.projects import build, table, write_project
from tidegate.compiler import compile_project
from tidegate.config import load_settings
from tidegate.names import TableName
from tidegate.project import load_project


def told(root: Path, files: dict[str, str]) -> list[str]:
    found = build(root, files).compiled.diagnostics
    return [f"{d.code} {Path(d.span.file).name}:{d.span.line}:{d.span.col}" for d in found if d.span]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "select 1 as n from bronze.a version as of 1, bronze.nothing, bronze.a timestamp as of '2024-01-01'",
            ["TimeTravel x.sql:1:20", "UnknownDependency x.sql:1:46", "TimeTravel x.sql:1:62"],
        ),
        ("select\n  identifier,\n  1 as x\nfrom identifier('bronze.a')", ["HiddenDependency x.sql:4:6"]),
        (
            "-- @kind: append\nselect a.nothing from bronze.a a right join bronze.a b on a.id = b.id",
            ["UnknownColumn x.sql:2:8", "OuterJoinOfNewRows x.sql:2:45"],
        ),
        (
            "select a.id, a.nothing from bronze.a a {% if is_incremental() %}join bronze.a b on a.id = b.id{% endif %}",
            ["UnknownColumn x.sql:1:14"],
        ),
        ("-- @kind: merge\n-- @unique_key: a b\nselect 1 as a", ["InvalidSetting x.sql:2:4"]),
        ("-- @kind: merge\n-- @unique_key id\nselect 1 as id", ["MalformedDirective x.sql:2:4"]),
        (
            "{% set s %}a,b{% endset %}\nselect {% for n in s.split(',') %}1 {{ n }}, {% endfor %}\n  no from bronze.a",
            ["UnknownColumn x.sql:3:3"],
        ),
        (
            "{% set name %}id{% endset %}\nselect {{ name | length }} as n,\n  nothing as m\nfrom bronze.a",
            ["UnknownColumn x.sql:3:3"],
        ),
    ],
)
def test_one_file_tells_all_its_mistakes_and_no_more(tmp_path: Path, sql: str, expected: list[str]) -> None:
    assert told(tmp_path, {"models/bronze/a.sql": "select 1 as id", "models/silver/x.sql": sql}) == expected


def test_a_model_that_cannot_be_read_is_no_unknown_table(tmp_path: Path) -> None:
    files = {
        "models/bronze/p.py": "def model(tg): ...",
        "models/silver/x.sql": "select anything from bronze.p join bronze.q using (id)",
    }
    write_project(tmp_path, {"models/bronze/q.sql": ""})
    (tmp_path / "models/bronze/q.sql").write_bytes(b"select '\xff' as id")
    assert told(tmp_path, files) == ["UnreadableFile q.sql:1:1"]


def test_a_model_goes_before_a_table_of_the_lake_whatever_their_case(tmp_path: Path) -> None:
    files = {"models/silver/Orders.sql": "select 1 as id", "models/gold/x.sql": "select id from silver.orders"}
    built = build(tmp_path, files, lake=["silver.orders"])
    assert built.compiled.models[table("gold.x")].depends_on == (TableName("shop", "silver", "Orders"),)


def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"models/silver/a.sql": "select 1 as id"})
    name = os.path.join(os.fsencode(root), b"models", b"silver", b"\xff.sql")
    try:
        with open(name, "w") as file:
            file.write("select 1 as id")
    except OSError:
        pytest.skip("this disk keeps no such name")
    settings = load_settings(root, env={})
    found = compile_project(load_project(settings), settings, {}, {}).diagnostics
    assert [d.code for d in found] == ["UnreadableFile"]


def test_folders_behind_links_are_read_once(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", {"models/silver/a.sql": "select 1 as id"})
    write_project(tmp_path / "other", {"gold/b.sql": "select id from silver.a"})
    (root / "models/gold").symlink_to(tmp_path / "other/gold")
    (tmp_path / "other/gold/again").symlink_to(root / "models/gold")
    settings = load_settings(root, env={})
    compiled = compile_project(load_project(settings), settings, {}, {})
    assert [t.short("shop") for t in compiled.models] == ["gold.b", "silver.a"]


def test_a_chain_below_a_circle_is_not_searched(tmp_path: Path) -> None:
    files = {"models/l/a.sql": "select * from l.b", "models/l/b.sql": "select * from l.a"}
    files |= {f"models/l/c{i}.sql": f"select * from l.{'a' if not i else f'c{i - 1}'}" for i in range(400)}
    assert told(tmp_path, files) == ["CyclicDependency a.sql:1:15"]
