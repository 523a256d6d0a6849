"""Which queries the parser reads as others."""

from __future__ import annotations

import pytest

from tidegate.compiler.sql.faithful_text import difference_in_text
from tidegate.compiler.sql.queries import ParsedQuery, parse_query


def _difference(sql: str) -> str | None:
    query = parse_query(sql)
    assert isinstance(query, ParsedQuery)
    return difference_in_text(query)


@pytest.mark.parametrize(
    ("sql", "difference"),
    [
        ("SELECT k FROM t WHERE name = 'O''Brien'", "CONCAT"),
        ("SELECT log10(x) FROM t", "LOG10"),
        ("SELECT x >>> 2 FROM t", "SHIFTRIGHT"),
        ("SELECT date_trunc(unit, day) FROM t", "UNIT"),
        ("SELECT percentile(x, 0.5, weight) FROM t", "WEIGHT"),
        ("SELECT get_json_object(j, '$.dc:title') FROM t", "'$.DC:TITLE'"),
        ("SELECT get_json_object(j, '$..b') FROM t", "Unsupported expression type JSONPathRecursive"),
        ("SELECT array_size(c) FROM t", "ARRAY_SIZE"),
        ("SELECT trunc(day, 'q') FROM t", "'Q'"),
        ("SELECT 2.5BD FROM t", "BD"),
    ],
)
def test_text_of_the_tree_says_another_thing(sql: str, difference: str) -> None:
    assert _difference(sql) == difference


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT cast(a AS int), a::int, DATE '2020-01-01', INTERVAL 1 DAY, count(*), year(d), if(a > 1, 2, 3) FROM t",
        "SELECT row_number() OVER (PARTITION BY k ORDER BY a DESC NULLS LAST, b NULLS FIRST) AS n FROM t",
        "SELECT 10L, 1.5D, 2S + 1Y, d FROM t",
        "SELECT a <> b, a != b, a <=> b, x BETWEEN 1 AND 2, NOT a IS NULL, a IS NOT NULL, 1.50, -1, a IN (1, 2) FROM t",
        "SELECT nvl(a, b), substr(a, 1, 2), lcase(a), mod(a, 2), a % 2, a || b, concat(a, b) FROM t",
        "SELECT date_trunc('month', d), upper(a) FROM t",
        "SELECT sum(x) OVER (PARTITION BY k ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM t",
        "SELECT transform(a, x -> x + 1), m['a'], s.f, CASE a WHEN 1 THEN 'it\\'s' ELSE \"b\" END FROM t",
        "WITH c AS (SELECT * FROM t) SELECT c.`odd name` FROM c, u LEFT OUTER JOIN v USING (k) ORDER BY 1 ASC",
    ],
)
def test_common_queries_are_said_by_their_tree(sql: str) -> None:
    assert _difference(sql) is None
