from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.compiler.projects import write_project
from tidegate.config import load_settings
from tidegate.errors import SelectionError, SetupError
from tidegate.project import load_project
from tidegate.project.git_ref import at_git_ref, settings_of_past

WHO = {f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **WHO}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=env)


def commit(folder: Path, tag: str) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", tag)
    git(folder, "tag", tag)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in a folder of a repository, changed since its first commit and in its working tree."""
    git(tmp_path, "init", "--quiet", "--initial-branch", "trunk")
    root = tmp_path / "data" / "my shop"
    files = {
        "models/silver/orders.sql": "select 1 as id",
        "models/silver/größe.sql": "select 'ü' as x\r\n",
        "landing/orders/day.csv": "id\n1\n",
    }
    write_project(root, files)
    (tmp_path / "data" / "elsewhere.sql").write_text("no part of it")
    commit(tmp_path, "one")
    (root / "models/silver/orders.sql").write_text("select 2 as id")
    commit(tmp_path, "two")
    (root / "models/silver/orders.sql").write_text("select 3 as id")
    (root / "models/silver/new.sql").write_text("select 3 as id")
    return root


def test_the_project_is_as_it_was(project: Path) -> None:
    with at_git_ref(project, "one") as past:
        found = sorted(path.relative_to(past).as_posix() for path in past.rglob("*") if path.is_file())
        assert found == ["models/silver/größe.sql", "models/silver/orders.sql", "tidegate.toml"]
        assert (past / "models/silver/orders.sql").read_text() == "select 1 as id"
        assert (past / "models/silver/größe.sql").read_bytes() == "select 'ü' as x\r\n".encode()
        assert past.name == project.name
    assert not past.exists()
    assert (project / "models/silver/orders.sql").read_text() == "select 3 as id"


@pytest.mark.parametrize("ref", ["two", "HEAD", "trunk", "HEAD~0"])
def test_any_name_of_a_commit_will_do(project: Path, ref: str) -> None:
    with at_git_ref(project, ref) as past:
        assert (past / "models/silver/orders.sql").read_text() == "select 2 as id"


def test_the_folder_goes_away_when_looking_fails(project: Path) -> None:
    with pytest.raises(RuntimeError), at_git_ref(project, "one") as past:
        raise RuntimeError
    assert not past.exists()


def test_a_project_that_is_the_whole_repository_works_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    write_project(tmp_path, {"models/silver/orders.sql": "select 1 as id"})
    commit(tmp_path, "one")
    with at_git_ref(tmp_path, "one") as past:
        assert (past / "models/silver/orders.sql").is_file()


def test_attributes_and_filters_of_git_change_nothing(project: Path) -> None:
    (project / ".gitattributes").write_text("*.sql export-ignore export-subst eol=crlf\n")
    (project / "models/silver/a.sql").write_text("select '$Format:%H$' as x\n")
    commit(project, "three")
    with at_git_ref(project, "three") as past:
        assert (past / "models/silver/a.sql").read_bytes() == b"select '$Format:%H$' as x\n"


def test_links_are_links(project: Path) -> None:
    (project / "models/silver/same.sql").symlink_to("orders.sql")
    commit(project, "three")
    with at_git_ref(project, "three") as past:
        assert (past / "models/silver/same.sql").read_text() == "select 3 as id"


def test_it_works_inside_a_hook(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/index")
    with at_git_ref(project, "one") as past:
        assert (past / "models/silver/orders.sql").is_file()


def test_an_unknown_ref_is_told_with_the_nearest(project: Path) -> None:
    with pytest.raises(SelectionError, match="git knows no 'trnk'") as caught:
        at_git_ref(project, "trnk").__enter__()
    assert caught.value.remedy == "did you mean trunk?"


def test_a_ref_that_looks_like_an_option_is_only_a_ref(project: Path) -> None:
    with pytest.raises(SelectionError, match="git knows no '--all'"):
        at_git_ref(project, "--all").__enter__()


def test_a_ref_without_the_project_is_told(project: Path) -> None:
    other = write_project(project.parent / "other", {})
    with pytest.raises(SelectionError, match=r"there was no tidegate\.toml in this folder at 'one'"):
        at_git_ref(other, "one").__enter__()


def test_a_folder_outside_git_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(SelectionError, match="is not in a git repository"):
        at_git_ref(tmp_path, "HEAD").__enter__()


def test_a_machine_without_git_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    with pytest.raises(SetupError, match="git is not installed"):
        at_git_ref(project, "one").__enter__()


def test_the_past_has_its_own_settings_over_the_lake_and_zones_of_today(project: Path) -> None:
    (project / "tidegate.toml").write_text('[project]\nname = "renamed"\n[landing]\nroot = "elsewhere"\n')
    now = load_settings(project, env={})
    with at_git_ref(project, "one") as folder:
        past = settings_of_past(folder, now)
        assert (past.project.name, past.root) == ("shop", folder)
        assert (past.lake, past.landing.root) == (now.lake, project / "elsewhere")
        assert [model.table.name for model in load_project(past).models] == ["größe", "orders"]


def test_a_project_without_a_name_keeps_the_one_of_its_folder(project: Path) -> None:
    (project / "tidegate.toml").write_text("")
    commit(project, "three")
    now = load_settings(project, env={})
    with at_git_ref(project, "three") as folder:
        assert settings_of_past(folder, now).project == now.project
