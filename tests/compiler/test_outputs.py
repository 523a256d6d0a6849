from __future__ import annotations

import pytest

from tidegate.compiler.sql.locate import line_and_column, offset_in_source, offset_of_star

NAMED = {
    "select ^id from a.b": "id",
    "select t.^id from a.b t": "id",
    "select s.x.^id from a.b": "id",
    "select id as other, x as ^ID from a.b": "id",
    "with id as (select 1 as id) select ^id from id": "id",
    "(select 1 as ^id)": "id",
    "select 1 as ^id union all select 2 as id": "id",
    "select explode(m) as (k, ^v) from a.b": "v",
    "select `^the id` from a.b": "the id",
    "-- id\r\nselect {{ id }} as ^id\r\nfrom {{ ref('id') }}": "id",
    "{% if id %}\nselect 1 as ^id {# id #} from {{ ref('a') }}{% endif %}": "id",
}


@pytest.mark.parametrize("marked", NAMED)
def test_a_column_is_found_where_the_result_names_it(marked: str) -> None:
    source = marked.replace("^", "")
    offset = offset_in_source(source, NAMED[marked])
    assert offset is not None
    wanted = marked.replace("\r\n", "\n").index("^") - (1 if "`" in marked else 0)
    assert offset == wanted


@pytest.mark.parametrize("source", ["select * from a.b", "select x from a.b", "select (", "", "values (1)"])
def test_what_is_not_named_is_not_found(source: str) -> None:
    assert offset_in_source(source, "id") is None


@pytest.mark.parametrize(
    "marked",
    [
        "select ^* from a.b",
        "select 2 * x, count(*), t.^* from a.b t",
        "-- * \nselect distinct\n ^* from {{ ref('x') }}",
    ],
)
def test_a_star_that_means_columns_is_found(marked: str) -> None:
    assert offset_of_star(marked.replace("^", "")) == marked.index("^")


def test_there_may_be_no_such_star() -> None:
    assert offset_of_star("select count(*) * 2 as x from a.b") is None


def test_lines_and_columns_count_from_one() -> None:
    assert [line_and_column("ab\r\ncd", offset) for offset in (0, 1, 3, 4)] == [(1, 1), (1, 2), (2, 1), (2, 2)]
