"""Points at which a process dies: the one that is named, when it is reached, and no other."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidegate.cli.main import run_cli
from tidegate.errors import ConfigError
from tidegate.faults import FAULT_POINTS, Fault, parse_fault

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tidegate"
PROGRAM = """
import sys
from tidegate.faults import fault
from tidegate.names import TableName
for line in sys.argv[1:]:
    point, _, model = line.partition(":")
    print(line, flush=True)
    fault(point, TableName("shop", *model.split(".")) if model else None)
"""
STEPS = ("before_branch", "after_write:a.x", "after_write:a.y", "after_write:a.x", "after_publish")


def reach(*steps: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Come to these points, one after another, in a process of its own."""
    variables = {**os.environ, **environment}
    command = [sys.executable, "-c", PROGRAM, *steps]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("fault", "reached"),
    [
        ("before_branch", 1),
        ("after_write", 2),
        ("after_write@2", 3),
        ("after_write:a.y", 3),
        ("after_write:shop.a.y", 3),
        ("after_write:a.x@2", 4),
        ("after_publish", 5),
    ],
)
def test_a_process_dies_at_the_point_that_is_named(fault: str, reached: int) -> None:
    ended = reach(*STEPS, TIDEGATE_FAULT=fault)
    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split() == list(STEPS[:reached])


@pytest.mark.parametrize("fault", ["after_archive", "after_write@4", "after_write:a.z", "after_write:a.y@2", ""])
def test_a_point_that_is_not_reached_harms_nobody(fault: str) -> None:
    ended = reach(*STEPS, TIDEGATE_FAULT=fault)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_each_point_that_is_reached_is_written_down_the_last_one_too(tmp_path: Path) -> None:
    log = tmp_path / "points.txt"
    assert reach(*STEPS, TIDEGATE_FAULT_LOG=str(log)).returncode == 0
    assert log.read_text().split() == list(STEPS)
    log.unlink()
    assert reach(*STEPS, TIDEGATE_FAULT_LOG=str(log), TIDEGATE_FAULT="after_write@2").returncode != 0
    assert log.read_text().split() == list(STEPS[:3])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("after_writ", "no fault point 'after_writ'"),
        ("after_publish:a.x", "not about a model"),
        ("after_write@0", "not of the form"),
        ("after_write@two", "not of the form"),
        (":a.x", "no fault point ''"),
    ],
)
def test_a_name_that_switches_on_nothing_is_an_error(text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        parse_fault(text)
    assert caught.value.remedy


def test_a_fault_is_written_as_it_is_read() -> None:
    for text in ("after_write", "after_write:a.x", "after_write@3", "after_write:a.x@3"):
        assert str(parse_fault(text)) == text
    assert parse_fault("after_write:a.x@3") == Fault("after_write", "a.x", 3)


def test_any_command_refuses_to_start_with_a_wrong_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEGATE_FAULT", "after_pblish")
    assert run_cli(["ls"]) == 1
    said = capsys.readouterr().err
    assert "no fault point 'after_pblish'" in said
    assert "after_publish" in said


def calls() -> Iterator[tuple[str, bool]]:
    """Each point that the code comes to, and whether it says of which model."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    for path in (path for path, text in texts.items() if "fault(" in text):
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "fault":
                assert isinstance(node.args[0], ast.Constant), path
                yield str(node.args[0].value), len(node.args) == 2


def test_the_points_of_the_table_are_those_of_the_code() -> None:
    assert set(calls()) == {(name, point.of_model) for name, point in FAULT_POINTS.items()}


def test_the_points_of_the_docs_are_those_of_the_table() -> None:
    rows = [
        f"| `{name}` | {'each model' if point.of_model else 'a chunked load' if point.of_load else 'the run'} | "
        f"{point.means} |"
        for name, point in FAULT_POINTS.items()
    ]
    page = (ROOT / "docs" / "chaos.md").read_text(encoding="utf-8")
    assert page.rstrip().splitlines()[-len(rows) :] == rows
