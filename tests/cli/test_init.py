from __future__ import annotations

from pathlib import Path

from tests.cli.calling import Call
from tidegate.config import load_settings


def test_a_new_project_is_written_and_its_settings_are_right(tmp_path: Path, tidegate: Call) -> None:
    folder = tmp_path / 'my "shop"'
    told = tidegate("init", str(folder))
    assert told.code == 0
    assert "models/silver/tides/pipeline.sql" in told.out
    settings = load_settings(folder)
    assert settings.project.name == 'my "shop"'
    assert (folder / "landing").is_dir()


def test_every_setting_that_the_new_file_shows_is_known(tmp_path: Path, tidegate: Call) -> None:
    tidegate("init", str(tmp_path / "shop"))
    path = tmp_path / "shop" / "tidegate.toml"
    uncommented = [
        line.removeprefix("# ") if line.startswith(("# [", "# ")) and ("=" in line or "[" in line) else line
        for line in path.read_text().splitlines()
        if "${" not in line and "Everything is optional" not in line and 'namespace = "…"' not in line
    ]
    path.write_text("\n".join(uncommented))
    settings = load_settings(tmp_path / "shop")
    assert settings.landing.zones["orders"].format == "csv"
    assert settings.run.concurrency == 2


def test_nothing_that_is_there_is_overwritten(tmp_path: Path, tidegate: Call) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".gitignore").write_text("mine\n")
    assert tidegate("init", str(tmp_path / "shop")).code == 0
    assert (tmp_path / "shop" / ".gitignore").read_text() == "mine\n"
    (tmp_path / "shop" / "tidegate.toml").write_text("# mine\n")
    again = tidegate("init", str(tmp_path / "shop"), "--json")
    assert again.code == 1
    assert "has a project already" in again.document["error"]
    assert (tmp_path / "shop" / "tidegate.toml").read_text() == "# mine\n"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, tidegate: Call) -> None:
    (tmp_path / "file").write_text("")
    told = tidegate("init", str(tmp_path / "file" / "shop"))
    assert told.code == 1
    assert "error: The project cannot be written" in told.err
    assert f"where: {tmp_path}/file" in told.err
