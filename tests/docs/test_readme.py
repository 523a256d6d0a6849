"""What the README tells a stranger to type works as it is written there."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.cli.main import run_cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, heading: str) -> list[str]:
    """The code under a heading of the README, in order."""
    part = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    assert part, f"the README has no heading '{heading}'"
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", part[1], re.MULTILINE | re.DOTALL)
    return [code for name, code in fenced if name == language]


def test_the_quickstart_takes_ten_lines() -> None:
    first = blocks("sh", "Quickstart: your own CSV")[0]
    assert len(first.splitlines()) <= 10


def test_the_picture_can_be_read_in_light_and_dark() -> None:
    picture = (ROOT / "docs" / "images" / "tidegate.svg").read_text(encoding="utf-8")
    light, dark = picture.split("@media (prefers-color-scheme: dark)")
    styled = set(re.findall(r"^ +\.([\w-]+) \{", light, re.MULTILINE))
    assert styled == set(re.findall(r"^ +\.([\w-]+) \{", dark, re.MULTILINE))
    assert set(re.findall(r'class="([\w-]+)"', picture)) <= styled


@pytest.mark.spark
def test_the_quickstart_and_the_ways_to_read_its_tables_work_as_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first run is the program in a process of its own; the other commands use the session of the tests."""
    good, bad = blocks("sh", "Quickstart: your own CSV")
    reading = "".join(blocks("python", "Reading the tables elsewhere"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def call(*command: str, cwd: Path) -> str:
        done = subprocess.run(
            command, cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def type_here(line: str) -> tuple[int, list[str]]:
        program, *words = shlex.split(line)
        assert program == "tidegate"
        capsys.readouterr()
        return run_cli(words), capsys.readouterr().out.splitlines()

    first_run, asking = good[: good.index("tidegate sql")], good[good.index("tidegate sql") :]
    told = call("bash", "-ec", first_run, cwd=tmp_path).splitlines()
    assert "Starting Spark" in told
    assert any(line.startswith("Published 3 tables to main. 3 succeeded") for line in told)
    shop = tmp_path / "shop"
    monkeypatch.chdir(shop)
    code, screen = type_here(asking)
    assert (code, [line.split() for line in screen[-3:-1]]) == (0, [["Ada", "2", "24.5"], ["Bo", "1", "7.25"]])
    delivery, second_run = bad.splitlines()
    call("bash", "-ec", delivery, cwd=shop)
    command, _, otherwise = second_run.partition(" || ")
    assert otherwise == 'echo "exit code $?"'
    code, screen = type_here(command)
    screen.append(f"exit code {code}")
    for line in blocks("", "Quickstart: your own CSV")[-1].splitlines():
        if not re.search(r"run-|\d\.\ds|^Starting Spark$", line):
            assert line in screen
    assert any(line.startswith("[FAIL] gold.customers  (full_refresh, full, ") for line in screen)
    shown = call(sys.executable, "-c", reading, cwd=shop)
    assert re.findall(r"(Ada|Bo) +│ +([\d.]+)", shown) == [("Ada", "24.5"), ("Bo", "7.25")]
