from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.config import format_duration, parse_duration


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=10_000)))
def test_a_formatted_duration_reads_back_as_the_same_length(length: timedelta) -> None:
    whole = length // timedelta(milliseconds=1) * timedelta(milliseconds=1)
    assert parse_duration(format_duration(length)) == whole


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("5m", timedelta(minutes=5)),
        ("24h", timedelta(days=1)),
        ("7d", timedelta(weeks=1)),
        (" 1h 30m ", timedelta(minutes=90)),
        ("250MS", timedelta(milliseconds=250)),
    ],
)
def test_people_write_durations_in_several_ways(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize("text", ["", "5", "m", "5 minutes", "-3m", "1.5h", "٣m", "9999999999999w"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        parse_duration(text)
