from __future__ import annotations

import pandas
import pyarrow
import pytest

from tidegate.python_models.arrow_pieces import frames_of
from tidegate.python_models.returned_value import rows_of
from tidegate.python_models.sandbox.link import FrameKind


@pytest.mark.parametrize(
    "frame",
    [
        pandas.DataFrame({"a": range(1_000_000), "b": "text"}),
        pandas.DataFrame({"a": ["x" * 3_000_000, None, ""]}),
        pandas.DataFrame({"a": [None] * 1000}),
        pandas.DataFrame({"a": [1]})[:0],
    ],
    ids=["many rows", "a large value", "no values", "no rows"],
)
def test_no_frame_of_a_link_is_long(frame: pandas.DataFrame) -> None:
    *pieces, result = frames_of(rows_of(frame, None), None)
    assert {piece.kind for piece in pieces} == {FrameKind.DATA}
    assert result.kind is FrameKind.RESULT
    assert max(len(piece.body) for piece in pieces) <= 1 << 20
    sent = pyarrow.ipc.open_stream(b"".join(piece.body for piece in pieces)).read_all()
    assert sent.equals(rows_of(frame, None).read_all())
