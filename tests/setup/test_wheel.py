"""The built wheel is whole: it installs into an empty environment, with all that the package reads at run time."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tidegate"


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    files = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    wanted = {name for name in files if "__pycache__" not in name}
    with zipfile.ZipFile(wheel) as archive:
        assert wanted <= set(archive.namelist())


def test_wheel_installs_into_a_fresh_environment(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel)
    where = Path(run(python, "-I", "-c", "import tidegate; print(tidegate.__file__)").strip()).parent
    assert where.is_relative_to(tmp_path)
    assert (where / "operations" / "demo" / "project" / "landing" / "orders" / "day-1.csv").is_file()
    assert (tmp_path / "venv" / "bin" / "tidegate").is_file()
