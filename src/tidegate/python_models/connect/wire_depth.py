"""How deep a serialized message is nested, counted before it is parsed.

The parser of protobuf calls itself: its own limit of 100 is too low for plans of some fifty steps, and without a limit
a message made for it would end the process.
"""

from __future__ import annotations

from typing import Any

__all__ = ["MOST_DEPTH", "parse_bounded", "wire_depth"]

MOST_DEPTH = 600
"""Messages within messages: some 300 steps of a DataFrame one after the other. Spark's own server takes 1024."""

_MOST_FIELDS = 2_000_000

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def parse_bounded(message_type: Any, data: bytes) -> Any:
    """Raises ValueError for what is no message of this type, and for one that is nested too deeply."""
    from google.protobuf.message import DecodeError

    if wire_depth(message_type.DESCRIPTOR, data) > 90:
        _allow_deep_messages()
    try:
        return message_type.FromString(data)
    except (DecodeError, RecursionError) as error:
        raise ValueError("it is no message of Spark Connect") from error


def wire_depth(descriptor: Any, data: bytes) -> int:
    """Raises ValueError past MOST_DEPTH or _MOST_FIELDS, and for bytes that are no message."""
    deepest, position, fields = 1, 0, 0
    open_messages = [(descriptor, len(data))]
    while open_messages:
        descriptor, end = open_messages[-1]
        if position == end:
            open_messages.pop()
            continue
        if position > end:
            raise ValueError("a message ends in the middle of a field")
        tag, position = _varint(data, position)
        kind, fields = tag & 7, fields + 1
        if fields > _MOST_FIELDS:
            raise ValueError(f"the plan has more than {_MOST_FIELDS} parts")
        if kind == _VARINT:
            _, position = _varint(data, position)
        elif kind == _FIXED64:
            position += 8
        elif kind == _FIXED32:
            position += 4
        elif kind == _BYTES:
            length, position = _varint(data, position)
            if position + length > end:
                raise ValueError("a field is longer than its message")
            field = descriptor.fields_by_number.get(tag >> 3)
            inner = None if field is None else field.message_type
            if inner is None:
                position += length
                continue
            open_messages.append((inner, position + length))
            deepest = max(deepest, len(open_messages))
            if deepest > MOST_DEPTH:
                raise ValueError(f"the plan is nested more than {MOST_DEPTH} levels deep; store what is in between")
        else:  # groups, which Spark Connect does not have
            raise ValueError("a field is of no known kind")
    return deepest


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise ValueError("a number is not complete")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7


def _allow_deep_messages() -> None:
    """For the process: only what was counted here is parsed from code that is not trusted."""
    try:
        from google._upb import _message
    except ImportError:  # the parsers in pure Python and in C++ have other limits
        return
    _message.SetAllowOversizeProtos(True)
