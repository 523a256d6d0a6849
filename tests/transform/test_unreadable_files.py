"""Files of which nothing can be read: one look at a delivery finds all of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tidegate.config import ZoneSettings
from tidegate.transform.landing.bad_records import UnreadableFileError
from tidegate.transform.landing.csv_groups import group_files
from tidegate.transform.landing.json_texts import document_texts


def test_all_unreadable_files_of_a_delivery_are_found_at_once(tmp_path: Path) -> None:
    contents = {"a": b"id\n1\n", "b": b"id\n\xff\n", "c": b"id,id\n1,1\n", "d": b"id\n2\n", "e": b"id\n\x00\n"}
    for name, content in contents.items():
        (tmp_path / f"{name}.csv").write_bytes(content)
    paths = [tmp_path / f"{name}.csv" for name in contents]
    with pytest.raises(UnreadableFileError, match=r"^'b\.csv' is not UTF-8: see the byte at offset 3") as caught:
        group_files(paths, ZoneSettings(), None)
    assert caught.value.where == f"{paths[1]}:2"
    assert [(file.path.name, file.line) for file in caught.value.files] == [("b.csv", 2), ("c.csv", 1), ("e.csv", None)]
    (group,), _ = group_files([paths[0], paths[3]], ZoneSettings(), None)
    assert group.names == ("id",)


def test_a_document_that_is_cut_off_behind_its_beginning_is_one_bad_record(tmp_path: Path) -> None:
    """Its beginning is all that is looked at before it is read."""
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b'[{"id": 1}]')[:-9])
    (record,) = document_texts(path, None)
    assert (record.fields, record.text) == (None, None)
    assert str(record.why).startswith("is not a whole gzip file")
