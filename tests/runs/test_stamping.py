"""The list of columns in a snapshot's summary stays short, however many there are."""

from __future__ import annotations

from tidegate.runs.build.result_frame import column_list


def test_a_short_list_is_whole() -> None:
    assert column_list(["id", "name"]) == "id, name"


def test_a_long_list_ends_at_a_whole_name_and_says_how_many_there_are() -> None:
    text = column_list([f"column_{number}" for number in range(1000)])
    assert len(text) < 1050
    assert text.endswith(", … (1000 columns)")
    assert text.split(", ")[-2] == f"column_{len(text.split(', ')) - 2}"
