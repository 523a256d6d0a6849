"""Messages made to end the process that reads them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.connect.proto import relations_pb2

from tidegate.python_models.connect.wire_depth import MOST_DEPTH, parse_bounded, wire_depth

Relation = relations_pb2.Relation


def _field(number: int, content: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(content)) + content


def _number(value: int) -> bytes:
    pieces = bytearray()
    while value > 0x7F:
        pieces.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*pieces, value])


def _limits(levels: int) -> bytes:
    """A Limit of a Limit of …, each two messages."""
    plan = b""
    for _ in range(levels):
        plan = _field(8, _field(1, plan))
    return plan


def test_depth_counts_messages_within_messages() -> None:
    assert wire_depth(Relation.DESCRIPTOR, b"") == 1
    assert wire_depth(Relation.DESCRIPTOR, _limits(50)) == 101
    assert parse_bounded(Relation, _limits(250)).limit.input.limit.HasField("input")


@pytest.mark.parametrize("levels", [MOST_DEPTH, 5_000])
def test_a_plan_that_is_too_deep_is_refused(levels: int) -> None:
    with pytest.raises(ValueError, match="nested more than"):
        parse_bounded(Relation, _limits(levels))


def test_a_million_levels_are_refused_at_once() -> None:
    # Lengths that lie: each level says that all the rest is inside.
    with pytest.raises(ValueError):
        parse_bounded(Relation, (b"\x42\xff\xff\xff\x0f\x0a\xff\xff\xff\x0f") * 1_000_000)


def test_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidegate.python_models.connect.wire_depth._MOST_FIELDS", 1000)
    with pytest.raises(ValueError, match="parts"):
        parse_bounded(relations_pb2.Drop, b"\x12\x00" * 1001)


@pytest.mark.parametrize(
    "data", [b"\x0a", b"\x0a\x05a", b"\xff" * 20, b"\x0b", b"\x0c", b"\x0d\x00", b"\x09\x00", b"\x07", bytes(range(64))]
)
def test_what_is_no_message_is_refused_or_read(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        parse_bounded(Relation, data)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    try:
        message = parse_bounded(Relation, data)
    except ValueError:
        return
    assert message.DESCRIPTOR is Relation.DESCRIPTOR
