"""How many different values a column has, estimated from 4 KB of bits that one pass over its rows sets.

Each value has one bit, by its hash: half of all values share the first 2,048 bits, a quarter the next, and so on. Few
values are counted in all parts; of many, only the later parts, with a known share of the values, are not yet full.
"""

from __future__ import annotations

import math

__all__ = ["BITMAP_BYTES", "bit_of", "estimated"]

_PARTS = 16
_BITS = 2048
_FULL = 0.8
BITMAP_BYTES = _PARTS * _BITS // 8


def bit_of(hashed: str) -> str:
    """SQL for the place of a value's bit. `hashed` is SQL that gives its hash of 64 bits, and is cheap to say often."""
    rest = f"(shiftright({hashed}, 32) | {1 << (_PARTS - 1)}L)"
    return f"bit_count(({rest} & -{rest}) - 1L) * {_BITS}L + ({hashed} & {_BITS - 1}L)"


def estimated(bitmap: int) -> int:
    """`bitmap`: the bytes that `bitmap_construct_agg` gave, the first ones lowest. Exact for a handful of values."""
    part = (1 << _BITS) - 1
    filled = [((bitmap >> (number * _BITS)) & part).bit_count() for number in range(_PARTS)]
    first = next((number for number, count in enumerate(filled) if count <= _FULL * _BITS), _PARTS - 1)
    return round((1 << first) * sum(map(_values, filled[first:])))


def _values(filled: int) -> float:
    """How many values have most likely set so many bits."""
    return -_BITS * math.log1p(-min(filled, _BITS - 1) / _BITS)
