from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.problems import Place
from tidegate.project.directives import read_directives, split_list, unquote, without_templates

KEYS = ("owner", "unique_key", "description", "column")
NAMES = st.text(st.characters(exclude_categories=("C",)), min_size=1).filter(str.strip)
VALUES = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20)


@given(st.lists(st.tuples(st.sampled_from(KEYS), VALUES), max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_directives_read_back_as_written(entries: list[tuple[str, str]], line_end: str) -> None:
    text = line_end.join([*(f"-- @{key}: {value}" for key, value in entries), "select 1"])
    found, problems = read_directives(text, "f.sql", KEYS)
    assert [(d.key, d.value) for d in found] == entries
    assert [d.place for d in found] == [Place("f.sql", i + 1, 4) for i in range(len(entries))]
    assert problems == ()


def test_the_header_goes_on_through_blank_lines_and_block_comments() -> None:
    text = "\n/* why\n ask @owner: nobody */\n{# jinja\n #}\n\n--@owner:data\n  -- @description:  a: b  \nselect 1"
    found, problems = read_directives(text, "f.sql", KEYS)
    assert [(d.key, d.value, d.place.line) for d in found] == [("owner", "data", 7), ("description", "a: b", 8)]
    assert not problems


@given(st.text(alphabet="{}%#x ", max_size=12), st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_directive_is_read_before_templates(value: str, line_end: str) -> None:
    body = f"select {{{{ 1 }}}}{line_end}-- @owner: {{{{ below the header }}}}"
    text = without_templates(f"-- @description: {value}{line_end}-- {{{{ 2 }}}}{line_end}{body}")
    header, _, rest = text.partition(line_end)
    assert header == f"-- @description: {value.replace('{', ' ')}"
    assert rest == f"-- {{{{ 2 }}}}{line_end}{body}"


@given(
    st.lists(st.text(st.characters(exclude_categories=("C",)), min_size=1).filter(str.strip), min_size=1, max_size=5)
)
def test_quoted_columns_survive_a_list(names: list[str]) -> None:
    text = ", ".join("`" + name.replace("`", "``") + "`" for name in names)
    assert [unquote(item) for item in split_list(text)] == names


def test_commas_inside_parentheses_and_quotes_do_not_separate() -> None:
    assert split_list('country, bucket(16, id), "a, b"') == ("country", "bucket(16, id)", '"a, b"')


@pytest.mark.parametrize("text", ["a,,b", "a,", "", "`a", "f(a", 'a"'])
def test_broken_lists_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        split_list(text)


@pytest.mark.parametrize("text", ["order id", "1st", "``", "`a`b`", "a.b"])
def test_what_is_no_column_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        unquote(text)
