"""The demo: that its story is true."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.cli.main import run_cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _screen_of_the_readme() -> str:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    screen = re.search(r"^```\n(A small shop is now in demo.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert screen
    return screen[1]


def _likened(screen: str, folder: str) -> list[str]:
    """Without what differs from run to run: times, ids, places, and the order of models that run side by side."""
    text = re.sub(r"run-\d{8}-\d{6}-\d{3}", "RUN", screen.replace(folder, "demo"))
    text = re.sub(r"\b(\d+m )?\d+(\.\d+)?m?s\b", "TIME", text)
    text = re.sub(r"\S*tidegate (?=\w+ --project)", "tidegate ", text)
    return sorted(line for line in text.splitlines() if line not in ("Starting Spark", ""))


@pytest.mark.spark
def test_story_of_the_demo_is_true(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert run_cli(["demo", str(folder), "--json"]) == 0
    told = capsys.readouterr()
    assert told.err.count("Starting Spark") <= 1
    assert _likened(told.err, str(folder)) == _likened(_screen_of_the_readme(), "demo")
    document = json.loads(told.out)
    first, second = document["runs"]
    assert (first["status"], second["status"]) == ("success", "partial")
    fates = {m["model"]: m["status"] for m in second["materializations"]}
    assert fates["silver.payments"] == "failed"
    assert fates["gold.daily_revenue"] == "blocked"
    assert fates["gold.customer_value"] == "completed"
    values = {m["table"]: (m["before"], m["after"]) for m in document["measures"]}
    assert values == {
        "bronze.payments": ("5", "7"),
        "silver.orders": ("6", "8"),
        "silver.customers": ("5", "7"),
        "silver.payments": ("5", "5"),
        "silver.returns": ("2", "3"),
        "gold.daily_revenue": ("311.50", "311.50"),
        "gold.customer_value": ("551.50", "453.50"),
        "gold.customer_value_usd": ("606.66", "498.86"),
        "gold.customer_segments": ("2", "1"),
        "gold.current_customers": ("London", "Paris"),
    }
    own_lines = told.err[told.err.index("What main holds") :].splitlines()
    assert max(len(line) for line in own_lines if str(tmp_path) not in line) <= 80
    try_what_it_says(told.err, folder, capsys)


def try_what_it_says(screen: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command under "What to try next" works, and in the end the gate is open."""
    for line in screen[screen.index("What to try next") :].splitlines():
        words = shlex.split(line) if line.startswith("  ") else []
        if words and words[0] == "cp":
            for file in Path(words[1]).parent.iterdir():
                shutil.copy(file, words[2])
        elif words:
            assert run_cli(words[1:]) == 0, capsys.readouterr()
    capsys.readouterr()
    assert run_cli(["sql", "--project", str(folder), "--json", "SELECT sum(revenue) AS r FROM gold.daily_revenue"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [{"r": "453.50"}]
