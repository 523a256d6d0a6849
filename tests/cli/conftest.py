from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Call, Outcome
from tidegate.cli.main import run_cli


@pytest.fixture
def tidegate(capsys: pytest.CaptureFixture[str]) -> Call:
    def call(*args: str) -> Outcome:
        capsys.readouterr()
        code = run_cli(args)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, which is also where the program is started."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "tidegate.toml").write_text('[project]\nname = "shop"\n')
    monkeypatch.chdir(folder)
    return folder
