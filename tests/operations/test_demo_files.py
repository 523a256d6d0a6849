"""The demo: what it writes, and what it never overwrites."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidegate.errors import TidegateError
from tidegate.operations.new_project import deliver, write_demo


def test_demo_writes_a_project_into_an_empty_folder(tmp_path: Path) -> None:
    write_demo(tmp_path)
    assert (tmp_path / "tidegate.toml").is_file()
    assert (tmp_path / "models" / "silver" / "payments" / "pipeline.sql").is_file()


def test_untouched_demo_is_replaced_with_its_lake(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo")
    deliver(tmp_path / "demo", "day-2")
    (tmp_path / "demo" / ".tidegate").mkdir()
    (tmp_path / "demo" / ".tidegate" / "catalog.db").touch()
    write_demo(tmp_path / "demo")
    assert not (tmp_path / "demo" / ".tidegate").exists()
    assert not (tmp_path / "demo" / "landing" / "orders" / "day-2.csv").exists()


@pytest.mark.parametrize("file", ["models/silver/orders.sql", "models/gold/mine.sql", "notes.txt"])
def test_demo_that_a_person_changed_is_left_alone(tmp_path: Path, file: str) -> None:
    write_demo(tmp_path)
    (tmp_path / file).write_text("SELECT 1 AS mine")
    with pytest.raises(TidegateError, match=file):
        write_demo(tmp_path)
    assert (tmp_path / file).read_text() == "SELECT 1 AS mine"


def test_lake_of_another_project_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".tidegate").mkdir()
    (tmp_path / ".tidegate" / "catalog.db").touch()
    with pytest.raises(TidegateError, match="did not write"):
        write_demo(tmp_path)


def test_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("something")
    with pytest.raises(TidegateError, match="did not write"):
        write_demo(tmp_path / "demo")
