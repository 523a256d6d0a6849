"""The demo: what it writes, what it never overwrites, and that its story is true."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tidegate.cli.demo_files import deliver, write_demo
from tidegate.cli.main import run_cli
from tidegate.errors import TidegateError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        "gold.daily_revenue": ("311.50", "311.50"),
        "gold.customer_value": ("551.50", "453.50"),
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
