from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.names import TableName, nearest


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=6))
def test_near_names_are_given_ones_and_an_equal_one_comes_first(word: str, names: list[str]) -> None:
    found = nearest(word, [*names, word])
    assert set(found) <= {*names, word}
    assert found[0].lower() == word.lower()
    assert len(found) <= 3


def test_two_swapped_letters_are_one_slip() -> None:
    assert nearest("nmae", ["name", "namespace"]) == ("name",)
    assert nearest("ORDRES", ["orders", "customers"]) == ("orders",)
    assert nearest("x", ["orders"]) == ()


def test_quotes_inside_a_name_are_doubled() -> None:
    assert TableName("a`b", "silver", "x.y").quoted == "`a``b`.`silver`.`x.y`"
