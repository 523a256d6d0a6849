"""Archiving moves exactly what was read, and loses nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegate.lake.consumed import ConsumedFile
from tidegate.project.landing_files import list_zone
from tidegate.runs.archive import ArchiveReport, archive_zone


def deliver(folder: Path, path: str, content: str = "a\n1\n") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(content)


def consume(folder: Path, run_id: str = "run-1") -> list[ConsumedFile]:
    return [ConsumedFile(f.path, f.size, f.mtime_ns, run_id) for f in list_zone(folder.parent, folder.name)]


def everything(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_files_move_to_the_folder_of_the_run_that_read_them(tmp_path: Path) -> None:
    deliver(tmp_path / "z", "a.csv", "A")
    deliver(tmp_path / "z", "2024/b.csv", "B")
    report = archive_zone(tmp_path / "z", consume(tmp_path / "z"))
    assert report.moved == ("2024/b.csv", "a.csv")
    assert report.skipped == ()
    assert everything(tmp_path / "z") == {"_processed/run-1/2024/b.csv": "B", "_processed/run-1/a.csv": "A"}


def test_a_file_that_arrived_during_the_run_stays(tmp_path: Path) -> None:
    deliver(tmp_path / "z", "a.csv", "A")
    consumed = consume(tmp_path / "z")
    deliver(tmp_path / "z", "b.csv", "B")
    archive_zone(tmp_path / "z", consumed)
    assert everything(tmp_path / "z") == {"_processed/run-1/a.csv": "A", "b.csv": "B"}


def test_a_file_that_was_replaced_stays_and_is_reported(tmp_path: Path) -> None:
    deliver(tmp_path / "z", "a.csv", "A")
    consumed = consume(tmp_path / "z")
    deliver(tmp_path / "z", "a.csv", "AA")
    report = archive_zone(tmp_path / "z", consumed)
    assert report.moved == ()
    assert [str(line) for line in report.skipped] == ["a.csv changed since it was read; it will be read again"]
    assert everything(tmp_path / "z") == {"a.csv": "AA"}


def test_archiving_again_changes_nothing(tmp_path: Path) -> None:
    deliver(tmp_path / "z", "a.csv", "A")
    deliver(tmp_path / "z", "b.csv", "B")
    consumed = consume(tmp_path / "z")
    archive_zone(tmp_path / "z", consumed[:1])
    assert archive_zone(tmp_path / "z", consumed).moved == ("b.csv",)
    after = everything(tmp_path / "z")
    assert archive_zone(tmp_path / "z", consumed) == ArchiveReport()
    assert everything(tmp_path / "z") == after


def test_an_archived_file_is_never_overwritten(tmp_path: Path) -> None:
    for content in ("first", "second", "third"):
        deliver(tmp_path / "z", "a.csv", content)
        archive_zone(tmp_path / "z", consume(tmp_path / "z"))
    assert everything(tmp_path / "z") == {
        "_processed/run-1/a.csv": "first",
        "_processed/run-1/a.csv.1": "second",
        "_processed/run-1/a.csv.2": "third",
    }


def test_a_file_put_in_its_place_at_the_last_moment_goes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver(tmp_path / "z", "a.csv", "read")
    consumed = consume(tmp_path / "z")
    rename = os.rename

    def late_delivery(source: Path, target: Path) -> None:
        deliver(tmp_path / "z", "a.csv", "not read yet")
        rename(source, target)

    monkeypatch.setattr(os, "rename", late_delivery)
    report = archive_zone(tmp_path / "z", consumed)
    assert report.moved == ()
    assert everything(tmp_path / "z") == {"a.csv": "not read yet"}


def test_a_link_is_moved_so_that_it_still_leads_to_its_file(tmp_path: Path) -> None:
    deliver(tmp_path, "elsewhere/a.csv", "A")
    (tmp_path / "z").mkdir()
    (tmp_path / "z/a.csv").symlink_to("../elsewhere/a.csv")
    assert archive_zone(tmp_path / "z", consume(tmp_path / "z")).moved == ("a.csv",)
    assert not (tmp_path / "z/a.csv").exists()
    assert (tmp_path / "z/_processed/run-1/a.csv").read_text() == "A"
    assert (tmp_path / "elsewhere/a.csv").exists()


def test_a_file_that_cannot_be_moved_is_reported_and_the_others_move(tmp_path: Path) -> None:
    deliver(tmp_path / "z", "a.csv", "A")
    deliver(tmp_path / "z", "b.csv", "B")
    first, second = consume(tmp_path / "z")
    deliver(tmp_path / "z", "_processed/blocked", "a file where a folder is needed")
    blocked = ConsumedFile(first.path, first.size, first.mtime_ns, "blocked")
    report = archive_zone(tmp_path / "z", [blocked, second])
    assert report.moved == ("b.csv",)
    assert [file.path for file in report.skipped] == ["a.csv"]
    assert (tmp_path / "z/a.csv").read_text() == "A"


def test_a_path_that_leads_out_of_the_zone_is_left_alone(tmp_path: Path) -> None:
    deliver(tmp_path, "a.csv", "A")
    status = (tmp_path / "a.csv").stat()
    (tmp_path / "z").mkdir()
    report = archive_zone(tmp_path / "z", [ConsumedFile("../a.csv", status.st_size, status.st_mtime_ns, "run-1")])
    assert report.moved == ()
    assert (tmp_path / "a.csv").exists()
