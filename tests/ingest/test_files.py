"""Files of a folder: each lands once by its content, and nothing outside of the folder does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.ingest.landing_project import FILES, LandingProject, ingestion
from tidegate.errors import FailureKind, SourceError
from tidegate.ingest import files_connector

SNAPSHOT = {**FILES, "ingestion_read_strategy": "full_snapshot"}


def drop(root: Path, name: str, text: str, second: int) -> Path:
    path = root / "drop" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (second, second))
    return path


def test_files_land_in_the_order_of_their_times_each_once_by_content(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "b.csv", "1", 10)
    drop(tmp_path, "a.csv", "2", 20)
    drop(tmp_path, "copy of b.csv", "1", 30)
    drop(tmp_path, "other.txt", "3", 5)
    drop(tmp_path, "_part.csv", "4", 5)
    assert shop.land(ingestion(**FILES)).files == ("run-1/000001-00000.csv", "run-1/000001-00001.csv")
    assert shop.pages() == ["1", "2"]
    assert shop.land(ingestion(**FILES)).files == ()
    drop(tmp_path, "b.csv", "1", 40)  # touched
    drop(tmp_path, "a.csv", "2 changed", 50)
    shop.land(ingestion(**FILES))
    assert shop.pages() == ["1", "2", "2 changed"]


def test_a_file_that_has_its_former_content_again_is_landed_again(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    for second, text in enumerate(("old", "new", "old", "old", "new"), 1):
        drop(tmp_path, "a.csv", text, 10 * second)
        shop.land(ingestion(**FILES))
    assert shop.pages() == ["old", "new", "old", "new"]


def test_files_that_take_turns_are_landed_once(tmp_path: Path) -> None:
    """Each day's file is renamed when the next one comes."""
    shop = LandingProject(tmp_path)
    drop(tmp_path, "yesterday.csv", "1", 10)
    for day in range(2, 5):
        drop(tmp_path, "today.csv", str(day), 10 * day)
        shop.land(ingestion(**FILES))
        (tmp_path / "drop/today.csv").rename(tmp_path / "drop/yesterday.csv")
    assert shop.pages() == ["1", "2", "3", "4"]


def test_a_snapshot_is_all_files_as_soon_as_one_of_them_differs(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path)
    drop(tmp_path, "a.csv", "1", 10)
    drop(tmp_path, "b.csv", "2", 20)
    shop.land(ingestion(**SNAPSHOT))
    assert shop.land(ingestion(**SNAPSHOT)).files == ()
    assert len(shop.manifests()) == 1
    drop(tmp_path, "b.csv", "3", 30)
    shop.land(ingestion(**SNAPSHOT))
    assert shop.pages() == ["1", "2", "1", "3"]
    (tmp_path / "drop/a.csv").unlink()
    shop.land(ingestion(**SNAPSHOT))
    assert shop.pages() == ["1", "2", "1", "3", "3"]


def test_many_files_land_in_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files_connector, "_MOST_FILES", 2)
    monkeypatch.setattr(files_connector, "_MOST_BYTES", 10)
    for number in range(4):
        drop(tmp_path, f"{number}.csv", str(number), number)
    drop(tmp_path, "large.csv.gz", "x" * 100, 9)
    shop = LandingProject(tmp_path)
    done = shop.land(ingestion(**{**FILES, "endpoint": "drop/*"}))
    assert (done.batches, done.files[-1]) == (3, "run-1/000003.csv.gz")
    assert shop.pages() == ["0", "1", "2", "3", "x" * 100]


def test_a_name_without_an_ending_gets_that_of_the_contract(tmp_path: Path) -> None:
    drop(tmp_path, "export", "1", 10)
    done = LandingProject(tmp_path).land(ingestion(**{**FILES, "endpoint": "drop/*"}))
    assert done.files == ("run-1/000001.csv",)


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ("../*.csv", "must not leave its folder"),
        ("/etc/passwd", "which this project does not allow"),
        ("drop/*.csv", "is a link out of the folder"),
    ],
)
def test_files_of_elsewhere_are_refused(endpoint: str, message: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret")
    (tmp_path / "project/drop").mkdir(parents=True)
    (tmp_path / "project/drop/link.csv").symlink_to(secret)
    shop = LandingProject(tmp_path / "project")
    with pytest.raises(SourceError, match=message) as caught:
        shop.land(ingestion(**{**FILES, "endpoint": endpoint}))
    assert caught.value.kind is FailureKind.QUERY_REJECTED
    assert not list(shop.zone.glob("run-*/*"))


def test_the_folder_of_files_may_be_elsewhere_by_the_settings(tmp_path: Path) -> None:
    drop(tmp_path / "outside", "a.csv", "1", 10)
    (tmp_path / "project").mkdir()
    toml = f'[contracts]\nfiles_root = "{tmp_path}/outside"\n'
    below = LandingProject(tmp_path / "project", toml)
    assert below.land(ingestion(**FILES)).files == ("run-1/000001.csv",)
    (tmp_path / "free").mkdir()
    free = LandingProject(tmp_path / "free", "[contracts]\nabsolute_paths = true\n")
    endpoint = f"{tmp_path}/outside/drop/*.csv"
    assert free.land(ingestion(**{**FILES, "endpoint": endpoint})).files == ("run-1/000001.csv",)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    shop = LandingProject(tmp_path, '[contracts]\nfiles_root = "nowhere"\n')
    with pytest.raises(SourceError, match="there is no folder"):
        shop.land(ingestion(**FILES))
