"""Which files of a zone are data, and which are new."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidegate.errors import LandingError
from tidegate.project.landing_files import ZoneFile, file_format, files_by_format, list_zone, verify_unchanged


def deliver(root: Path, *paths: str, content: str = "a\n1\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def paths(root: Path, zone: str = "orders") -> list[str]:
    return [file.path for file in list_zone(root, zone)]


def test_files_are_listed_in_order_of_their_paths_with_size_and_time(tmp_path: Path) -> None:
    deliver(tmp_path, "orders/b.csv", "orders/2024/a.csv", "orders/a.csv")
    files = list_zone(tmp_path, "orders")
    assert [file.path for file in files] == ["2024/a.csv", "a.csv", "b.csv"]
    status = (tmp_path / "orders/b.csv").stat()
    assert files[-1] == ZoneFile("b.csv", status.st_size, status.st_mtime_ns)


def test_processed_samples_and_hidden_names_are_never_read(tmp_path: Path) -> None:
    hidden = ("_processed/run-1/a.csv", "_samples/a.csv", ".tmp/a.csv", "_part.csv", ".a.csv.crc", "x/_y/a.csv")
    deliver(tmp_path, "orders/a.csv", *(f"orders/{path}" for path in hidden))
    assert paths(tmp_path) == ["a.csv"]


def test_a_missing_zone_names_the_folder_and_the_nearest_zones(tmp_path: Path) -> None:
    deliver(tmp_path, "orders/a.csv", "_orderz/a.csv")
    with pytest.raises(LandingError) as caught:
        list_zone(tmp_path, "ordres")
    assert str(caught.value) == "landing zone 'ordres' does not exist; did you mean orders?"
    assert caught.value.where == str(tmp_path / "ordres")


@pytest.mark.parametrize("zone", ["", "..", "../orders", "/orders", "_processed", "orders/_samples", "orders//x"])
def test_a_name_that_leads_elsewhere_is_no_zone(tmp_path: Path, zone: str) -> None:
    deliver(tmp_path, "orders/_samples/a.csv")
    with pytest.raises(LandingError, match="not a landing zone's name"):
        list_zone(tmp_path, zone)


def test_a_file_in_place_of_a_zone_is_an_error(tmp_path: Path) -> None:
    deliver(tmp_path, "orders")
    with pytest.raises(LandingError, match="is a file, not a folder"):
        list_zone(tmp_path, "orders")


def test_links_to_files_and_folders_are_followed(tmp_path: Path) -> None:
    deliver(tmp_path, "elsewhere/a.csv", "elsewhere/more/b.csv", "orders/c.csv")
    (tmp_path / "orders/a.csv").symlink_to(tmp_path / "elsewhere/a.csv")
    (tmp_path / "orders/more").symlink_to(tmp_path / "elsewhere/more")
    assert paths(tmp_path) == ["a.csv", "c.csv", "more/b.csv"]


@pytest.mark.parametrize(("target", "why"), [("nowhere.csv", "link to nothing"), (".", "folder above itself")])
def test_a_link_that_cannot_be_followed_is_named(tmp_path: Path, target: str, why: str) -> None:
    deliver(tmp_path, "orders/a.csv")
    (tmp_path / "orders/link").symlink_to(target)
    with pytest.raises(LandingError, match=why) as caught:
        list_zone(tmp_path, "orders")
    assert caught.value.where == str(tmp_path / "orders/link")


def test_what_spark_cannot_open_is_named_when_listed(tmp_path: Path) -> None:
    deliver(tmp_path, "orders/10:00.csv")
    with pytest.raises(LandingError, match="colon"):
        list_zone(tmp_path, "orders")
    os.mkfifo(tmp_path / "orders/10:00")
    (tmp_path / "orders/10:00.csv").unlink()
    with pytest.raises(LandingError, match="neither a file nor a folder"):
        list_zone(tmp_path, "orders")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.csv", "csv"),
        ("A.CSV", "csv"),
        ("x/a.tsv.gz", "csv"),
        ("a.json", "json"),
        ("a.ndjson.gz", "json"),
        ("a.jsonl", "json"),
        ("a.parquet", "parquet"),
        ("a.parquet.gz", None),
        ("a.txt", None),
        ("csv", None),
        ("dir.csv/a", None),
    ],
)
def test_the_ending_says_the_format(path: str, kind: str | None) -> None:
    assert file_format(path) == kind


def test_a_file_of_unknown_kind_is_named_unless_a_format_is_declared(tmp_path: Path) -> None:
    files = (ZoneFile("a.csv", 1, 1), ZoneFile("b.dat", 1, 1))
    with pytest.raises(LandingError, match=r"'b\.dat'") as caught:
        files_by_format(tmp_path / "orders", files, None)
    assert "[landing.orders]" in str(caught.value.remedy)
    assert files_by_format(tmp_path / "orders", files, "csv") == {"csv": files}
    with pytest.raises(LandingError, match="'exel', which is not a format"):
        files_by_format(tmp_path / "orders", files, "exel")


def test_files_that_changed_or_vanished_since_listing_are_found(tmp_path: Path) -> None:
    deliver(tmp_path, "orders/a.csv", "orders/b.csv", "orders/c.csv")
    files = list_zone(tmp_path, "orders")
    deliver(tmp_path, "orders/b.csv", content="a\n1\n2\n")
    (tmp_path / "orders/c.csv").unlink()
    assert [file.path for file in verify_unchanged(tmp_path / "orders", files)] == ["b.csv", "c.csv"]
