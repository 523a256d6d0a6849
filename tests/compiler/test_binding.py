from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from tests.compiler.projects import Built, build, table
from tidegate.compiler import RunValues, bind
from tidegate.config import ZoneSettings
from tidegate.errors import QueryError

EPHEMERAL = "-- @materialized: ephemeral\n"
ANY_COLUMNS = "select * from {{ landing_zone('in') }}"
BASE = {
    "landing/in/": "",
    "models/bronze/orders.sql": ANY_COLUMNS,
    "models/bronze/items.sql": ANY_COLUMNS,
    "models/silver/orders.sql": ANY_COLUMNS,
    "models/sales/gold/orders.sql": ANY_COLUMNS,
    "models/silver/part.sql": EPHEMERAL + "with o as (select * from bronze.orders) select * from o -- end",
    "models/silver/nested.sql": EPHEMERAL + "select * from silver.part where id > 1;",
}


def bound(root: Path, sql: str, **values: object) -> str:
    built = build(root, {**BASE, "models/x/y.sql": sql})
    assert built.compiled.errors == ()
    query = built.bind("x.y", **values)
    for read in query.reads:
        name = read.table.quoted if read.table else "`landing`.`in`"
        assert query.sql[read.start : read.end] == name
    return (
        query.sql.replace("`shop`.`bronze`.", "B.").replace("`shop`.`silver`.", "S.").replace("`sales`.`gold`.", "G.")
    )


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from bronze.orders;\n-- end", "select * from B.`orders`"),
        ("select * from Bronze . `Orders` as O", "select * from B.`orders` as O"),
        ("select * from {{ this }}, {{ ref('shop.silver.orders') }}", "select * from `shop`.`x`.`y`, S.`orders`"),
        ("select bronze.items.id, items.* from bronze.items", "select items.id, items.* from B.`items`"),
        ("select shop.bronze.items.id.f.g from bronze.items", "select items.id.f.g from B.`items`"),
        ("select bronze.items.* from shop.bronze.items", "select items.* from B.`items`"),
        ("select gold.orders.id from sales.gold.orders", "select orders.id from G.`orders`"),
        (
            "select bronze.orders.id from bronze.orders join silver.orders on silver.orders.id = bronze.orders.id",
            (
                "select `bronze_orders`.id from B.`orders` AS `bronze_orders` join S.`orders` AS `silver_orders` "
                "on `silver_orders`.id = `bronze_orders`.id"
            ),
        ),
        (
            "select * from bronze.orders where exists (select 1 from silver.orders where id = bronze.orders.id)",
            (
                "select * from B.`orders` AS `bronze_orders` where exists "
                "(select 1 from S.`orders` where id = `bronze_orders`.id)"
            ),
        ),
        (
            "select * from bronze.orders where exists (select 1 from bronze.items where id = bronze.orders.id)",
            "select * from B.`orders` where exists (select 1 from B.`items` where id = orders.id)",
        ),
        (
            "select bronze.orders.id from bronze.orders join bronze.items as orders on true",
            "select `bronze_orders`.id from B.`orders` AS `bronze_orders` join B.`items` as orders on true",
        ),
        (
            "select bronze.items.id from bronze.items join bronze.items using (id)",
            "select bronze.items.id from B.`items` join B.`items` using (id)",
        ),
        # Here bronze is an alias, and orders a struct column of it.
        ("select bronze.orders.id from silver.orders bronze", "select bronze.orders.id from S.`orders` bronze"),
        ("select bronze.orders.id from bronze.orders o", "select bronze.orders.id from B.`orders` o"),
        (
            "select part.id from silver.part",
            "select part.id from (with o as (select * from B.`orders`) select * from o) AS `part`",
        ),
        (
            "select silver.part.id from silver.part",
            "select part.id from (with o as (select * from B.`orders`) select * from o) AS `part`",
        ),
        (
            "with o as (select 1) select * from silver.nested n, o",
            (
                "with o as (select 1) select * from (select * from (with o as (select * from B.`orders`) "
                "select * from o) AS `part` where id > 1) n, o"
            ),
        ),
        (
            "select items.id from bronze.items tablesample (10 percent) repeatable (3) where true",
            "select items.id from B.`items` tablesample (10 percent) repeatable (3) AS `items` where true",
        ),
        (
            "select 'bronze.orders' /* bronze.orders */ from bronze.orders",
            "select 'bronze.orders' /* bronze.orders */ from B.`orders`",
        ),
        ("select 'x'{# gone #} as `bronze.orders` from bronze.orders", "select 'x' as `bronze.orders` from B.`orders`"),
        ("select * from {{ landing_zone('in') }} i", "select * from `landing`.`in` i"),
    ],
)
def test_names_are_written_in_full_and_nothing_else_changes(tmp_path: Path, sql: str, expected: str) -> None:
    assert bound(tmp_path, sql) == expected


def test_values_of_the_run_are_filled_in(tmp_path: Path) -> None:
    sql = (
        "select '{{ run_started_at }}' as t from bronze.orders"
        "{% if is_incremental() %} where id > {{ watermark_value }}{% endif %}"
    )
    assert bound(tmp_path / "1", sql).endswith("select '2026-01-02T03:04:05+00:00' as t from B.`orders`")
    assert bound(tmp_path / "2", sql, incremental=True, watermark_value="7").endswith("B.`orders` where id > 7")


def test_dates_are_literals_outside_quotes_and_text_inside(tmp_path: Path) -> None:
    sql = (
        "-- @kind: time_interval\n-- @time_column: t\n-- @first_partition: 2026-01-01\n"
        "select @start_date as t, 'from @start_date to @end_date' as s, `@start_date` /* @end_date */, '@start_dates'"
        " from bronze.orders where t < @END_DATE"
    )
    text = bound(tmp_path, sql, start_date="2026-01-01T00:00:00+00:00", end_date="2026-01-02T00:00:00+00:00")
    assert text.splitlines()[-1] == (
        "select TIMESTAMP '2026-01-01T00:00:00+00:00' as t, "
        "'from 2026-01-01T00:00:00+00:00 to 2026-01-02T00:00:00+00:00' as s, "
        "`@start_date` /* @end_date */, '@start_dates' from B.`orders` where t < TIMESTAMP '2026-01-02T00:00:00+00:00'"
    )
    with pytest.raises(QueryError, match="@start_date has no value"):
        bound(tmp_path, sql)


def test_a_table_that_only_this_run_would_read_is_refused(tmp_path: Path) -> None:
    sql = "select * from {% if watermark_value == '7' %}bronze.orders{% else %}bronze.items{% endif %}"
    with pytest.raises(QueryError, match=r"bronze\.orders"):
        bound(tmp_path, sql, incremental=True, watermark_value="7")


def test_a_template_that_fails_with_real_values_says_where(tmp_path: Path) -> None:
    sql = "select\n{{ 1 // (watermark_value | length - 3) }} as x"
    with pytest.raises(QueryError) as caught:
        bound(tmp_path, sql.replace("watermark_value", "(watermark_value or 'long')"), watermark_value="abc")
    assert caught.value.where == "models/x/y.sql:2"


@pytest.mark.parametrize(
    ("sql", "driving"),
    [
        ("select * from bronze.orders join bronze.items on true", "orders"),
        ("select * from bronze.orders union all select * from bronze.items", "orders items"),
        ("select * from bronze.orders except select * from bronze.items", "orders"),
        ("with o as (select * from bronze.items) select * from (select * from o) join bronze.orders on true", "items"),
        ("select * from silver.nested join bronze.items on true", "orders"),
        ("select * from bronze.items join silver.nested on true", "items"),
        (
            "select (select max(id) from bronze.items) from bronze.orders where id in (select id from bronze.items)",
            "orders",
        ),
        ("select * from ((bronze.orders join bronze.items on true))", "orders"),
    ],
)
def test_rows_come_from_the_leftmost_tables(tmp_path: Path, sql: str, driving: str) -> None:
    query = build(tmp_path, {**BASE, "models/x/y.sql": sql}).bind("x.y")
    assert " ".join(read.table.name for read in query.reads if read.driving and read.table) == driving


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select id, o.a.b as `x y`, upper(c) as d from bronze.orders o", ("id", "x y", "d")),
        ("with t as (select 1 as a, 2 as b) (select a, t.b from t) union all select 1, 2", ("a", "b")),
        ("select *, 1 as x from bronze.orders", ()),
        ("select id, upper(c) from bronze.orders", ()),
        ("select o.* from bronze.orders o", ()),
        ("select explode(map(1, 2)) as (k, v)", ()),
        ("values (1)", ()),
    ],
)
def test_columns_are_known_where_all_are_listed(tmp_path: Path, sql: str, columns: tuple[str, ...]) -> None:
    assert build(tmp_path, {**BASE, "models/x/y.sql": sql}).bind("x.y").columns == columns


def test_a_zone_is_read_as_declared_with_the_call_on_top(tmp_path: Path) -> None:
    toml = '[project]\nname = "shop"\n[landing.in]\nformat = "csv"\nheader = true\ndelimiter = ";"\n'
    sql = "select * from {{ landing_zone('in', header=false, columns={'a': 'int'}) }}"
    (read,) = build(tmp_path, {**BASE, "tidegate.toml": toml, "models/x/y.sql": sql}).bind("x.y").reads
    assert read.landing is not None
    assert read.landing.settings == ZoneSettings("csv", False, None, ";", {"a": "int"})
    assert read.alias is None


def test_reads_can_be_replaced_by_other_relations(tmp_path: Path) -> None:
    sql = "select items.id from bronze.items join bronze.orders as o on true"
    query = build(tmp_path, {**BASE, "models/x/y.sql": sql}).bind("x.y")
    assert query.substitute(lambda read: "(select 1 as id)") == (
        "select items.id from (select 1 as id) AS `items` join (select 1 as id) as o on true"
    )


def test_a_test_looks_at_its_own_model(tmp_path: Path) -> None:
    files = {
        **BASE,
        "models/x/y/pipeline.sql": "select 1 as id",
        "models/x/y/tests/quality/t.sql": "select * from {{ this }} where id in (select id from raw.lake) -- end",
    }
    query = build(tmp_path, files, lake=["raw.lake"]).bind_test("x.y", "t")
    assert query.sql == "select * from `shop`.`x`.`y` where id in (select id from `shop`.`raw`.`lake`)"


GAPS = st.sampled_from([" ", "\n", "\t ", " /* bronze.items */ ", " -- from bronze.items\n", "  \n\n"])
WORDS = [
    *("select", "'bronze.items'", ",", "o.id", ",", "`bronze.items`", ",", "\"it''s\"", "from", "bronze.orders", "o"),
    *("join", "bronze.items", "on", "o.id", "=", "items.id", "where", "o.id", "in", "(", "select", "id", "from"),
    *("silver.orders", ")", "and", "name", "<>", r"'\' -- bronze.items'", "order by", "`é`"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Built:
    sql = "select * from bronze.orders, bronze.items, silver.orders"
    return build(tmp_path_factory.mktemp("base"), {**BASE, "models/x/y.sql": sql})


@example_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(GAPS, min_size=len(WORDS), max_size=len(WORDS)))
def test_putting_the_old_names_back_gives_the_old_text(base: Built, gaps: list[str]) -> None:
    text = "".join(gap + word for gap, word in zip(gaps, WORDS, strict=True))
    found = base.compiled.models[table("x.y")]
    models = {**base.compiled.models, table("x.y"): replace(found, model=replace(found.model, source=text))}
    compiled = replace(base.compiled, models=models)
    query = bind(compiled, table("x.y"), RunValues("now"))
    assert len(query.reads) == 3
    back, last = "", 0
    for read in query.reads:
        assert read.table is not None
        back += query.sql[last : read.start] + f"{read.table.layer}.{read.table.name}"
        last = read.end
    assert back + query.sql[last:] == text
