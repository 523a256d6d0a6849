"""The formats of landing files: what contracts and file names call them, and which reader takes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["FILE_FORMATS", "READERS", "FileFormat", "format_of"]


@dataclass(frozen=True, slots=True)
class FileFormat:
    name: str
    """As `landing_file_format` of a contract, and as the ending of file names."""

    reader: str
    """As `format` of a landing zone: `transform/landing` has a reader for each."""

    delimiter: str = ""
    """Between two fields."""

    by_line: bool = False
    """Each line is a record."""

    gzip: bool = True
    """Files may be compressed as a whole, with the ending `.gz`."""


FILE_FORMATS: Mapping[str, FileFormat] = {
    form.name: form
    for form in (
        FileFormat("csv", "csv", delimiter=","),
        FileFormat("json", "json"),
        FileFormat("jsonl", "json", by_line=True),
        FileFormat("ndjson", "json", by_line=True),
        FileFormat("parquet", "parquet", gzip=False),
        FileFormat("tsv", "csv", delimiter="\t"),
    )
}

READERS = ("csv", "json", "parquet")


def format_of(name: str) -> FileFormat | None:
    """By the last ending of a file's name, a `.gz` after it allowed where a reader can take that."""
    ending = name.rpartition("/")[2].lower()
    form = FILE_FORMATS.get(os.path.splitext(ending.removesuffix(".gz"))[1].removeprefix("."))
    return None if form is None or (ending.endswith(".gz") and not form.gzip) else form
