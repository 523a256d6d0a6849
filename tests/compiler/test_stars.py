from __future__ import annotations

import pytest

from tidegate.compiler.query_facts import takes_all_columns
from tidegate.compiler.sql.queries import ParsedQuery, parse_query

CASES = {
    "select * from a.b": True,
    "select distinct * from a.b where x": True,
    "select id, * from a.b": True,
    "select * except (x) from a.b": True,
    "select t.* from a.b t": True,
    "select b.* from a.b": True,
    "with c as (select * from a.b) select * from c": True,
    "with c as (select x from a.b), d as (select * from a.c) select c.x, d.* from c join d using (x)": True,
    "select * from (select * from a.b) t": True,
    "select x from a.b union all select * from a.c": True,
    "select * from (a.b join a.c using (x))": True,
    "select x from a.b": False,
    "select count(*) as n from a.b": False,
    "with c as (select x, y from a.b) select * from c": False,
    "with c as (select x from a.b), d as (select * from a.c) select c.* from c join d using (x)": False,
    "select * from (select x from a.b) t": False,
    "select t.* from (select x from a.b) t join a.c u on t.x = u.x": False,
    "select x from a.b where exists (select * from a.c)": False,
    "select * from landing_1": False,
    "select * from landing_1 join a.b using (x)": True,
    "select * from range(10)": False,
    "select * from values (1) as t(x)": False,
    "with recursive c as (select 1 as n union all select * from c) select * from c": False,
    "select t.*, explode(t.xs) as x from a.b t": True,
}


@pytest.mark.parametrize("sql", CASES)
def test_a_star_counts_if_it_leads_to_a_table(sql: str) -> None:
    query = parse_query(sql)
    assert isinstance(query, ParsedQuery)
    assert takes_all_columns(query.tree, {"landing_1"}) is CASES[sql]
