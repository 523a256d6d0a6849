"""The one table of file formats, and the places that have something for each reader."""

from __future__ import annotations

import pytest

from tidegate.config.file_formats import FILE_FORMATS, READERS, format_of
from tidegate.operations.contract_tools import file_columns
from tidegate.transform.landing import zone_frame


def test_every_format_has_a_reader_and_every_reader_a_format() -> None:
    assert tuple(dict.fromkeys(form.reader for form in FILE_FORMATS.values())) == READERS
    assert tuple(zone_frame._FORMATS) == tuple(zone_frame._RAW_FORMATS) == tuple(file_columns._COLUMNS) == READERS


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a/b.csv", "csv"),
        ("B.TSV.GZ", "tsv"),
        ("b.jsonl", "jsonl"),
        ("b.parquet", "parquet"),
        ("b.parquet.gz", None),
        ("b.txt", None),
        ("csv", None),
    ],
)
def test_a_name_shows_its_format(name: str, form: str | None) -> None:
    found = format_of(name)
    assert (None if found is None else found.name) == form
