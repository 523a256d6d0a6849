"""Names in lists of files are those of files."""

from __future__ import annotations

from pathlib import Path

from tests.file_order import FIRST

ROOT = Path(__file__).parents[1]


def test_every_file_that_is_begun_first_is_there_once() -> None:
    assert [file for file in FIRST if not (ROOT / file).is_file()] == []
    assert len(set(FIRST)) == len(FIRST)
