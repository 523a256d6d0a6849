from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.analysis.cases import CASES, Case, read_cases
from tests.compiler.projects import build, table

BASE = "-- @owner: a\nselect a.id, upper(name) as n, 'x' as k from bronze.a as a where id > 3"


def fingerprint(root: Path, sql: str, **more: str) -> str:
    files = {"models/bronze/a.sql": "select 1 as id, 'a' as name", "landing/z/": "", "models/silver/x.sql": sql, **more}
    built = build(root, files, variables={"v": 1})
    assert built.compiled.errors == ()
    return built.compiled.models[table("silver.x")].fingerprint


@pytest.mark.parametrize(
    "same",
    [
        BASE + ";",
        BASE.replace(" ", "\n  ").replace("--\n  @owner:\n  a", "-- @owner: b"),
        BASE.replace("select", "SELECT").replace("from", "From").replace("upper", "UPPER"),
        BASE + " -- a comment\n/* and another */",
        BASE.replace("bronze.a", "{{ ref('bronze.a') }}"),
        "-- @description: text\n-- @tags: t\n-- @skip: never\n-- @column: id: the id\n" + BASE,
        "{% set limit = 3 %}" + BASE.replace("3", "{{ limit }}"),
        BASE.replace("\n", "\r\n"),
        BASE.replace("a.id", "b.id").replace("as a where", "as b where"),
        BASE.replace("as a where", "a where"),
        BASE.replace("as a where", "where"),
    ],
)
def test_what_does_not_change_the_table_does_not_count(tmp_path: Path, same: str) -> None:
    assert fingerprint(tmp_path / "1", same) == fingerprint(tmp_path / "2", BASE)


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("'x'", "'X'"),
        BASE.replace("'x'", "' x'"),
        BASE.replace("3", "4"),
        BASE.replace("as n", "as m"),
        BASE.replace("a.id", "id"),
        BASE.replace("a.id", "/*+ broadcast(a) */ a.id"),
        "-- @on_empty: fail\n" + BASE,
        "-- @kind: merge\n-- @unique_key: id\n" + BASE,
        "-- @partitioned_by: id\n" + BASE,
        BASE + "{% if is_incremental() %} and id > 4{% endif %}",
        BASE + " and id > {{ var('v') }}",
    ],
)
def test_what_changes_the_table_counts(tmp_path: Path, other: str) -> None:
    assert fingerprint(tmp_path / "1", other) != fingerprint(tmp_path / "2", BASE)


@pytest.mark.parametrize("case", read_cases(CASES / "fingerprints" / "recorded.txt"), ids=lambda case: case.title)
def test_tables_of_an_earlier_version_stay_valid(tmp_path: Path, case: Case) -> None:
    """Another fingerprint rebuilds the tables of every user: change it only together with the version in it."""
    assert [f"= {fingerprint(tmp_path, case.sql)[:16]}"] == list(case.expected)


def test_how_a_zone_is_read_counts(tmp_path: Path) -> None:
    toml = '[project]\nname = "shop"\n[landing.z]\nformat = "csv"\nheader = {}\n'
    sql = "select * from {{ landing_zone('z') }}"
    one = fingerprint(tmp_path / "1", sql, **{"tidegate.toml": toml.format("true")})
    two = fingerprint(tmp_path / "2", sql, **{"tidegate.toml": toml.format("false")})
    assert len({one, two, fingerprint(tmp_path / "3", sql)}) == 3


def test_settings_of_spark_count_that_change_what_a_query_means(tmp_path: Path) -> None:
    def of(name: str, setting: str) -> str:
        toml = f'[project]\nname = "shop"\n[spark.conf]\n{setting}\n'
        return fingerprint(tmp_path / name, BASE, **{"tidegate.toml": toml})

    zones = {of(f"{n}", f'"spark.sql.session.timeZone" = "{zone}"') for n, zone in enumerate(("UTC", "Asia/Tokyo"))}
    lenient = of("3", '"spark.sql.ansi.enabled" = false')
    assert len({*zones, lenient, of("4", "")}) == 4
    assert of("5", '"spark.sql.shuffle.partitions" = 7') == of("4", "")


def test_an_inlined_model_and_a_macro_count(tmp_path: Path) -> None:
    def of(name: str, inner: str, macro: str) -> str:
        more = {
            "models/silver/e.sql": f"-- @materialized: ephemeral\n{inner}",
            "macros/m.sql": f"{{% macro m() %}}{macro}{{% endmacro %}}",
        }
        return fingerprint(tmp_path / name, "select *, {{ m() }} as m from silver.e", **more)

    assert of("1", "select 1 as id", "1") == of("2", "SELECT 1 AS id --", "1")
    assert len({of("3", "select 1 as id", "1"), of("4", "select 2 as id", "1"), of("5", "select 1 as id", "2")}) == 3


@pytest.mark.parametrize(
    ("sql", "deterministic"),
    [
        ("select id, upper(name), row_number() over (order by id) from bronze.a order by id limit 3", True),
        (
            "select zip_with(array(1), array(2), (x, y) -> x + y), date '2026-01-01', unix_timestamp('1')",
            True,
        ),
        ("select 'now()', `rand`, a.uuid, a.now from bronze.a a -- rand()", True),
        ("select * from bronze.a where year(current_date) > id", False),
        ("select current_timestamp() as t", False),
        ("select now() as t", False),
        ("select unix_timestamp() as t", False),
        ("select timestamp 'now' as t, DATE'Today' as d", False),
        ("select RAND() as r", False),
        ("select * from (select * from bronze.a limit 3)", False),
        ("(select 1 as id union all select 2) limit 1", False),
        ("select * from bronze.a tablesample (5 rows)", False),
        ("select my_function(id) from bronze.a", False),
        ("select * from my_source(1)", False),
        ("select '{{ run_started_at }}' as t", False),
        ("select * from silver.moving_view", False),
        ("select * from silver.moving_part", False),
        ("select * from silver.moving_table", True),
    ],
)
def test_only_sql_that_cannot_change_is_deterministic(tmp_path: Path, sql: str, deterministic: bool) -> None:
    files = {
        "tidegate.toml": '[project]\nname = "shop"\n[spark]\nfunctions = ["my_function", "my_source"]\n',
        "models/bronze/a.sql": "select 1 as id, 'a' as name, 2 as rand, 3 as uuid, 4 as now",
        "models/silver/moving_view.sql": "-- @kind: view\nselect now() as t",
        "models/silver/moving_part.sql": "-- @materialized: ephemeral\nselect * from silver.moving_view",
        "models/silver/moving_table.sql": "select now() as t",
        "models/silver/x.sql": sql,
    }
    built = build(tmp_path, files)
    assert built.compiled.errors == ()
    assert built.compiled.models[table("silver.x")].deterministic is deterministic


def test_how_a_zone_is_read_counts_where_it_is_declared(tmp_path: Path) -> None:
    sql = "select * from {{ landing_zone('z') }}"
    toml = '[project]\nname = "shop"\n'
    found = [
        fingerprint(tmp_path / str(number), sql, **{"tidegate.toml": toml + zone})
        for number, zone in enumerate(("", "[landing.z]\n", '[landing.z]\nencoding = "utf-16"\n'))
    ]
    assert found[0] == found[1] != found[2]
