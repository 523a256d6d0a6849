"""A landing file is its content: what was consumed under its name is not new, whatever its times say."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tidegate.lake.consumed import ConsumedFile
from tidegate.project.landing_files import ZoneFile, content_digest, list_zone, unconsumed

A = ConsumedFile("a", 2, 1, "run-1", "xx")


def digests(**known: str) -> Callable[[ZoneFile], str | None]:
    """Digests by path; a file that is not named must not be read."""
    return lambda file: known[file.path]


def test_a_file_of_the_recorded_size_and_time_is_not_read_for_its_digest() -> None:
    assert unconsumed([ZoneFile("a", 2, 1)], [A], digests()).all == ()


def test_a_touched_file_is_the_same_file() -> None:
    touched = ZoneFile("a", 2, 99)
    found = unconsumed([touched], [A], digests(a="xx"))
    assert found.all == ()
    assert found.touched == {touched}


def test_a_file_with_other_content_is_replaced_and_read_only_if_its_size_does_not_tell() -> None:
    same_size, longer = ZoneFile("a", 2, 2), ZoneFile("b", 3, 2)
    consumed = [A, ConsumedFile("b", 2, 1, "run-1", "yy")]
    found = unconsumed([same_size, longer], consumed, digests(a="zz"))
    assert found.replaced == (same_size, longer)
    assert found.touched == frozenset()


def test_content_that_was_consumed_under_another_name_is_new_and_a_copy() -> None:
    copy, other = ZoneFile("b", 2, 5), ZoneFile("c", 2, 5)
    found = unconsumed([copy, other], [A], digests(b="xx", c="yy"))
    assert found.new == (copy, other)
    assert found.copies == {"b": "a"}


def test_two_new_files_of_one_content_are_copies_but_empty_ones_are_not() -> None:
    files = [ZoneFile("b (1)", 2, 5), ZoneFile("b", 2, 5), ZoneFile("e", 0, 1), ZoneFile("f", 0, 1)]
    found = unconsumed(files, [], digests(**{"b": "xx", "b (1)": "xx"}))
    assert found.copies == {"b (1)": "b"}


def test_a_touched_file_of_a_list_without_digests_is_replaced_because_it_cannot_be_known() -> None:
    file = ZoneFile("a", 2, 9)
    assert unconsumed([file], [ConsumedFile("a", 2, 1, "run-1")], digests()).replaced == (file,)


def test_a_file_that_cannot_be_read_now_is_not_taken_for_the_one_consumed() -> None:
    file = ZoneFile("a", 2, 9)
    assert unconsumed([file], [A], lambda _: None).replaced == (file,)


def test_a_vanished_file_is_no_change() -> None:
    assert unconsumed([], [A], digests()).all == ()


def test_the_digest_is_of_the_content_alone(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / "zone").mkdir(exist_ok=True)
        (tmp_path / "zone" / name).write_text("n\n1\n")
    os.utime(tmp_path / "zone/a.csv", (1, 1))
    one, two = list_zone(tmp_path, "zone")
    assert content_digest(tmp_path / "zone", one) == content_digest(tmp_path / "zone", two) is not None


@pytest.mark.parametrize("change", ["grown", "gone", "touched"])
def test_a_file_that_is_not_as_it_was_listed_has_no_digest(tmp_path: Path, change: str) -> None:
    path = tmp_path / "zone" / "a.csv"
    path.parent.mkdir()
    path.write_text("n\n1\n")
    (file,) = list_zone(tmp_path, "zone")
    if change == "grown":
        path.write_text("n\n1\n2\n")
    elif change == "gone":
        path.unlink()
    else:
        os.utime(path, (1, 1))
    assert content_digest(tmp_path / "zone", file) is None
