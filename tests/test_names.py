from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidegate.names import TableName, is_zone_name, nearest


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


def test_a_zone_is_a_path_whose_names_are_read() -> None:
    assert all(map(is_zone_name, ("orders", "erp/orders", "a b/ü", "x" * 255)))
    hidden = ("", ".", "..", "./orders", "a/../b", "a//b", "/a", "a/", "_a", "a/.b", "a\0b")
    too_long = ("x" * 256, "ü" * 128, "/".join(["orders"] * 1000))
    assert not any(map(is_zone_name, (*hidden, *too_long)))
