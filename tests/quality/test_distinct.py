"""The estimate of different values, from the bits that Spark would have set."""

from __future__ import annotations

import random

import pytest

from tidegate.quality.column_profiles import BITMAP_BYTES, estimated


def bitmap(values: int, seed: int) -> int:
    """As the SQL of `bit_of` sets it, of hashes that are as good as random."""
    chance, bits = random.Random(seed), bytearray(BITMAP_BYTES)
    for _ in range(values):
        rest = chance.getrandbits(32) | 1 << 15
        at = ((rest & -rest).bit_length() - 1) * 2048 + chance.getrandbits(11)
        bits[at // 8] |= 1 << at % 8
    return int.from_bytes(bits, "little")


@pytest.mark.parametrize("values", [0, 1, 2, 5])
def test_a_handful_is_exact(values: int) -> None:
    assert {estimated(bitmap(values, seed)) for seed in range(20)} == {values}


@pytest.mark.parametrize("values", [100, 1_000, 3_000, 10_000, 50_000, 200_000])
def test_many_are_estimated_within_a_tenth_and_right_on_average(values: int) -> None:
    found = [estimated(bitmap(values, seed)) / values for seed in range(5)]
    assert all(0.9 < share < 1.1 for share in found)
    assert sum(found) / len(found) == pytest.approx(1, abs=0.04)


def test_what_was_seen_in_two_parts_is_counted_once() -> None:
    assert estimated(bitmap(1000, 1) | bitmap(1000, 1)) == estimated(bitmap(1000, 1))
    assert estimated(bitmap(1000, 1) | bitmap(1000, 2)) == pytest.approx(2000, rel=0.1)


def test_more_than_the_bits_can_tell_is_still_a_number() -> None:
    assert estimated((1 << BITMAP_BYTES * 8) - 1) > 10**8
