"""`tidegate compile`: every diagnostic at once, for people and for programs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.calling import Call

CALL = """
import signal
from tidegate.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start its jobs with the interrupt ignored
main()
"""

TOOK = r"(?:\d+\.\d\d s|\d+ ms)"


@pytest.fixture
def models(project: Path) -> Path:
    folder = project / "models" / "silver"
    folder.mkdir(parents=True)
    (folder / "orders.sql").write_text("SELECT 1 AS id\n")
    return folder


def test_a_sound_project_is_one_line_and_ends_with_0(models: Path, tidegate: Call) -> None:
    told = tidegate("compile")
    assert (told.code, told.err) == (0, "")
    assert re.fullmatch(rf"1 model, no errors in {TOOK}\n", told.out)


def test_all_diagnostics_are_told_in_order_of_place_and_an_error_ends_with_1(models: Path, tidegate: Call) -> None:
    (models / "b.sql").write_text("-- @quarantine: true\nSELECT *\nFROM silver.ordres\n")
    (models / "a.sql").write_text("SELECT FROM WHERE")
    told = tidegate("compile")
    assert (told.code, told.err) == (1, "")
    heads = [line for line in told.out.splitlines() if re.match(r"\w+\[", line)]
    assert [head.split(":")[0] for head in heads] == [
        "error[SqlSyntax]",
        "warning[QuarantineWithoutRule]",
        "error[UnknownDependency]",
    ]
    assert "3 | FROM silver.ordres\n  |      ^^^^^^^^^^^^^\n  = help: did you mean silver.orders?\n" in told.out
    assert re.search(rf"^3 models, 2 errors, 1 warning in {TOOK}$", told.out, re.MULTILINE)


def test_a_warning_alone_ends_with_0(models: Path, tidegate: Call) -> None:
    (models / "b.sql").write_text("-- @quarantine: true\nSELECT 1 AS id\n")
    told = tidegate("compile")
    assert told.code == 0
    assert "2 models, 1 warning in" in told.out


def test_the_document_has_every_diagnostic_with_its_place(models: Path, tidegate: Call) -> None:
    for n in range(120):
        (models / f"m{n:03}.sql").write_text(f"SELECT 1 AS id,\n  {{{{ var('day{n}') }}}} AS day\n")
    told = tidegate("compile", "--json")
    assert told.code == 1
    assert set(told.document) == {"version", "command", "diagnostics", "models", "duration_ms"}
    assert (told.document["command"], told.document["models"]) == ("compile", 121)
    assert len(told.document["diagnostics"]) == 120
    seventh = told.document["diagnostics"][7]
    assert list(seventh) == ["severity", "code", "message", "model", "span", "suggestion"]
    assert (seventh["severity"], seventh["code"], seventh["model"]) == ("error", "TemplateError", "silver.m007")
    assert "'day7'" in seventh["message"]
    assert (seventh["span"]["file"], seventh["span"]["line"]) == ("models/silver/m007.sql", 2)
    assert set(seventh["span"]) == {"file", "line", "col"}
    shown = tidegate("compile").out
    assert shown.count("error[TemplateError]") == 100
    assert "… and 20 errors more" in shown
    assert "121 models, 120 errors in" in shown


def test_a_variable_can_be_given(models: Path, tidegate: Call) -> None:
    (models / "orders.sql").write_text("SELECT {{ var('day') }} AS id\n")
    assert tidegate("compile").code == 1
    assert tidegate("compile", "--var", "day=3").code == 0


def test_a_configuration_with_problems_is_told(project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text("[lak]\n")
    told = tidegate("compile")
    assert told.code == 1
    assert "unknown section [lak]; did you mean [lake]?" in told.err
    assert tidegate("compile", "--json").document["problems"]


def test_compiling_changes_nothing_in_the_project(models: Path, project: Path, tidegate: Call) -> None:
    before = sorted(path for path in project.rglob("*"))
    tidegate("compile")
    assert sorted(path for path in project.rglob("*") if "cache" not in path.parts) == before


def test_a_code_is_explained_also_outside_of_a_project(
    tmp_path: Path, tidegate: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    told = tidegate("compile", "--explain", "CyclicDependency")
    assert told.code == 0
    assert told.out.startswith("error[CyclicDependency]: Models depend on each other in a circle\n")
    assert "fix: " in told.out
    assert tidegate("compile", "--explain", "cyclicdependency").out == told.out
    document = tidegate("compile", "--json", "--explain", "CyclicDependency").document
    assert set(document) == {"version", "command", "code", "severity", "summary", "why", "fix"}


def test_an_unknown_code_is_told_with_the_nearest(project: Path, tidegate: Call) -> None:
    told = tidegate("compile", "--explain", "CyclicDependancy")
    assert told.code == 1
    assert "Did you mean CyclicDependency?" in told.err


@contextmanager
def watching(project: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    call = [sys.executable, "-c", CALL, "compile", "--watch", *args]
    with subprocess.Popen(call, cwd=project, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    assert process.stdout
    text = ""
    for line in process.stdout:
        text += line
        if re.search(pattern, line):
            return text
    raise AssertionError(f"it ended: {text}")


def test_watching_compiles_again_on_every_save_until_it_is_interrupted(models: Path, project: Path) -> None:
    with watching(project) as process:
        assert "1 model, no errors" in read_until(process, rf" in {TOOK}$")
        (models / "orders.sql").write_text("SELECT * FROM silver.nothing\n")
        broken = read_until(process, rf" in {TOOK}$")
        assert "models/silver/orders.sql changed" in broken
        assert "error[UnknownDependency]" in broken
        (project / "tidegate.toml").write_text("[lak]\n")
        assert "unknown section [lak]" in read_until(process, "unknown section")
        (project / "tidegate.toml").write_text("")
        (models / "orders.sql").write_text("SELECT 1 AS id, 2 AS n\n")
        assert "1 model, no errors" in read_until(process, "1 model, no errors")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_watching_for_a_program_gives_one_document_a_line(models: Path, project: Path) -> None:
    with watching(project, "--json") as process:
        assert process.stdout
        assert json.loads(process.stdout.readline())["diagnostics"] == []
        (models / "orders.sql").write_text("SELECT * FROM silver.nothing\n")
        (diagnostic,) = json.loads(process.stdout.readline())["diagnostics"]
        assert diagnostic["code"] == "UnknownDependency"
        (project / "masks").mkdir()
        (project / "masks" / "initials.sql").write_text("value IS NULL OR\n")
        assert len(json.loads(process.stdout.readline())["diagnostics"]) == 2
        (project / "agreed").mkdir()
        (project / "tidegate.toml").write_text("[contracts]\nlocation = 'agreed'\n")
        assert json.loads(process.stdout.readline())["command"] == "compile"
        (project / "agreed" / "orders.odcs.yml").write_text("version: 1\n")
        assert json.loads(process.stdout.readline())["command"] == "compile"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
