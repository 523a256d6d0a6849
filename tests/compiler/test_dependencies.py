from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.projects import build, table

ANY_COLUMNS = "select * from {{ landing_zone('in') }}"
BASE = {"landing/in/": "", **{f"models/bronze/{name}.sql": ANY_COLUMNS for name in ("a", "b", "c", "d")}}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from bronze.a join bronze.b using (id)", "a b"),
        ("select * from bronze.a, bronze.b left join shop.bronze.c on true", "a b c"),
        ("select * from BRONZE.A union all (select * from Bronze.`b`) except select * from bronze.c", "a b c"),
        ("select (select max(id) from bronze.a) from bronze.b where id in (select id from bronze.c)", "a b c"),
        ("select * from (select * from (bronze.a join bronze.b on true)) x", "a b"),
        ("select * from bronze.a t, lateral (select * from bronze.b where b.id = t.id)", "a b"),
        ("select * from bronze.a lateral view explode(array(1)) bronze as b", "a"),
        ("with a as (select * from bronze.b) select * from a join bronze.a on true", "a b"),
        (
            "with a as (select 1 as id), b as (with a as (select * from bronze.c) select * from a) select * from b, a",
            "c",
        ),
        ("with recursive r as (select 1 as n union all select n + 1 from r, bronze.d) select * from r", "d"),
        ("with x as (select * from bronze.a) select 1 as id where exists (select 1 from x)", "a"),
        ("select 'from bronze.a', \"bronze.b\", `bronze.c` from values (1) as t(`bronze.c`) -- from bronze.d", ""),
        ("/* {{ ref('bronze.a') }} */ select 1 as id -- {{ this }}", ""),
        ("select * from bronze.a pivot (sum(id) for id in (1, 2)) tablesample (10 percent)", "a"),
        ("from bronze.a select id", "a"),
        ("select * from explode(array(1)), range(3) r, json_tuple('{}', 'a')", ""),
        ("select * from {{ ref('shop.bronze.a') }} t join {{ ref('bronze.b') }}\non true", "a b"),
        ("select * from {% if is_incremental() %} bronze.a {% else %} bronze.b {% endif %}", "a b"),
        ("-- @depends_on: bronze.c\nselect * from bronze.a", "a c"),
    ],
)
def test_dependencies_are_what_the_sql_reads(tmp_path: Path, sql: str, expected: str) -> None:
    built = build(tmp_path, {**BASE, "models/silver/x.sql": sql})
    assert built.compiled.diagnostics == ()
    found = built.compiled.models[table("silver.x")]
    assert " ".join(t.name for t in found.depends_on) == expected
    assert not found.reads_itself


def test_tables_of_the_lake_are_sources(tmp_path: Path) -> None:
    built = build(tmp_path, {"models/silver/x.sql": "select * from RAW.Events"}, lake=["raw.events", "raw.other"])
    assert built.compiled.models[table("silver.x")].sources == (table("raw.events"),)


def test_a_table_may_read_itself(tmp_path: Path) -> None:
    built = build(tmp_path, {"models/silver/x.sql": "select * from {{ this }}"})
    found = built.compiled.models[table("silver.x")]
    assert found.reads_itself
    assert found.depends_on == ()
    assert built.compiled.waves == ((table("silver.x"),),)


def test_ephemeral_models_are_seen_through(tmp_path: Path) -> None:
    files = {
        **BASE,
        "landing/z/": "",
        "models/silver/one.sql": "-- @materialized: ephemeral\nselect * from bronze.a",
        "models/silver/two.sql": (
            "-- @materialized: ephemeral\n"
            "select * from silver.one join {{ landing_zone('z') }} on '{{ watermark_value }}' > ''"
        ),
        "models/gold/x.sql": "select * from silver.two",
    }
    built = build(tmp_path, files)
    assert built.compiled.diagnostics == ()
    found = built.compiled.models[table("gold.x")]
    assert (found.depends_on, found.zones) == ((table("bronze.a"),), ("z",))
    assert found.inlined == (table("silver.one"), table("silver.two"))
    assert found.manual
    assert found.uses_watermark
    assert [[t.name for t in wave] for wave in built.compiled.waves] == [["a", "b", "c", "d"], ["x"]]


def test_waves_are_as_early_and_as_orderly_as_can_be(tmp_path: Path) -> None:
    files = {
        "models/l/z.sql": "select 1 as id",
        "models/l/a.sql": "select 1 as id",
        "models/l/c.sql": "select * from l.z join l.b using (id)",
        "models/l/b.sql": "select * from l.a",
        "models/l/d.sql": "select * from l.z",
    }
    built = build(tmp_path, files)
    assert [[t.name for t in wave] for wave in built.compiled.waves] == [["a", "z"], ["b", "d"], ["c"]]


def test_the_path_of_a_cycle_is_shown(tmp_path: Path) -> None:
    files = {
        "models/l/a.sql": "select * from l.b",
        "models/l/b.sql": "-- @materialized: ephemeral\nselect * from l.c",
        "models/l/c.sql": "select * from l.a",
        "models/l/after.sql": "select * from l.a",
    }
    (error,) = build(tmp_path, files).compiled.errors
    assert error.message.endswith("l.a -> l.b -> l.c -> l.a")


def test_a_failed_model_does_not_hide_the_errors_of_others(tmp_path: Path) -> None:
    files = {
        "models/l/a.sql": "select * from",
        "models/l/b.sql": "select * from l.aa",
        "models/l/c.sql": "select 1 as x",
    }
    built = build(tmp_path, files)
    assert [error.code for error in built.compiled.errors] == ["SqlSyntax", "UnknownDependency"]
    assert list(built.compiled.models) == [table("l.c")]
