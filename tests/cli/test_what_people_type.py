"""Words that people bring along, and the options that stand before or after any command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tests.cli.test_plan import publish
from tidegate.cli.dbt_hints import COMMANDS_ELSEWHERE
from tidegate.cli.main import COMMANDS

PROGRAM = [sys.executable, "-c", "from tidegate.cli.main import main; main()"]


@pytest.fixture
def shop(project: Path) -> Path:
    models = project / "models" / "silver"
    models.mkdir(parents=True)
    (models / "orders.sql").write_text("SELECT 1 AS amount\n")
    publish(project, "run-1", {"silver.orders": (1,)})
    return project


def on_a_terminal(*args: str, **env: str) -> str:
    """What the program writes where stdout is a terminal."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen([*PROGRAM, *args], stdout=theirs, env={**environment, "TERM": "xterm", **env})
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 4096):
            written += part
    except OSError:  # how Linux reports that the other end was closed
        pass
    os.close(ours)
    process.wait()
    return written.decode()


def test_without_a_command_it_says_where_you_are(shop: Path, tidegate: Call) -> None:
    shown = tidegate()
    assert (shown.code, shown.err) == (0, "")
    assert f"project shop in {shop}" in shown.out
    assert "1 model (silver 1)" in shown.out
    assert "none yet" in shown.out
    assert tidegate("run").code == 0
    assert ", skipped, " in tidegate().out
    assert tidegate("--json").document["last_run"]["status"] == "skipped"


def test_without_a_command_and_a_project_it_says_how_to_begin(
    tidegate: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = tidegate()
    assert (shown.code, shown.err) == (0, "")
    assert f"There is no project in {tmp_path}" in shown.out
    assert all(command in shown.out for command in ("tidegate demo", "tidegate init", "tidegate --help"))
    assert tidegate("--json").document["project"] is None


def test_without_a_command_a_broken_project_is_not_hidden(project: Path, tidegate: Call) -> None:
    (project / "tidegate.toml").write_text("[run]\npublsh = 1\n")
    assert "did you mean 'publish'?" in tidegate().out


@pytest.mark.parametrize("word", COMMANDS_ELSEWHERE)
def test_commands_of_others_are_answered_with_ours(word: str, tidegate: Call) -> None:
    told = tidegate(word)
    assert (told.code, told.out) == (1, "")
    assert told.err.splitlines()[0] == f"error: There is no command '{word}': {COMMANDS_ELSEWHERE[word]}."
    assert word not in COMMANDS


@pytest.mark.parametrize(
    ("args", "way"),
    [
        (("run", "--models", "a"), "Use --select SELECT (or -s)."),
        (("run", "-m", "a"), "Use --select SELECT (or -s)."),
        (("run", "--target", "prod"), "Use -c FILE"),
        (("run", "-t", "prod"), "Use -c FILE"),
        (("--profiles-dir", "x", "run"), "Use -c FILE"),
        (("test", "--vars", "{a: 1}"), "Use --var name=value"),
        (("run", "--threads", "4"), "Use --concurrency N."),
        (("ls", "--output", "json"), "Use --json."),
        (("plan", "--state", "target"), "state:modified"),
    ],
)
def test_options_of_dbt_are_answered_with_ours(args: tuple[str, ...], way: str, tidegate: Call) -> None:
    told = tidegate(*args)
    assert told.code == 1
    assert way in told.err
    assert way in tidegate(*args, "--json").document["remedy"]


def test_an_option_that_nobody_has_is_told_with_the_nearest(tidegate: Call) -> None:
    assert "--exclude" in tidegate("plan", "--exclud", "a").err


@pytest.mark.parametrize("name", ["-V", "--version"])
def test_version(name: str, tidegate: Call) -> None:
    assert tidegate(name).out.startswith("tidegate 0.")


@pytest.mark.parametrize("order", [("-q", "run"), ("run", "-q"), ("--quiet", "run"), ("run", "--quiet")])
def test_quiet_leaves_the_summary(order: tuple[str, ...], shop: Path, tidegate: Call) -> None:
    told = tidegate(*order)
    (line,) = told.out.splitlines()
    assert line.startswith("Nothing to publish. 1 succeeded in")
    assert (told.code, told.err) == (0, "")


def test_quiet_keeps_failures_of_commands_that_look(shop: Path, tidegate: Call) -> None:
    (shop / "models/silver/more.sql").write_text("WITH u AS (SELECT 1 AS a) SELECT amount FROM silver.orders\n")
    assert tidegate("plan", "-q").out == "1 of 2 models would run\n"
    assert tidegate("ls", "-q").out == "silver.more\nsilver.orders\n"
    assert "warning[" in tidegate("compile").out
    assert tidegate("compile", "-q").out.startswith("2 models, 1 warning in")
    (shop / "models/silver/bad.sql").write_text("SELECT nothing FROM silver.orders\n")
    told = tidegate("compile", "-q")
    assert "error[UnknownColumn]" in told.out
    assert "warning[" not in told.out


@pytest.mark.parametrize("order", [("-v", "run"), ("run", "--verbose")])
def test_verbose_is_taken_before_and_after_the_command(order: tuple[str, ...], shop: Path, tidegate: Call) -> None:
    assert "1 succeeded" in tidegate(*order).out


def test_quiet_and_verbose_exclude_each_other(shop: Path, tidegate: Call) -> None:
    for args in (("-q", "run", "-v"), ("run", "-qv")):
        assert "give one of them" in tidegate(*args).err


def test_colors_are_for_terminals_and_can_be_left_out(shop: Path) -> None:
    (shop / "models/silver/bad.sql").write_text("SELECT nothing FROM silver.orders\n")
    assert "\x1b[" in on_a_terminal("compile")
    assert "\x1b[" not in on_a_terminal("compile", "--no-color")
    assert "\x1b[" not in on_a_terminal("--no-color", "compile")
    assert "\x1b[" not in on_a_terminal("compile", NO_COLOR="1")
    piped = subprocess.run([*PROGRAM, "compile"], capture_output=True, text=True)
    assert "\x1b[" not in piped.stdout


def test_a_run_on_a_terminal_has_no_colors_where_none_are_wanted(shop: Path) -> None:
    assert "\x1b[32m[OK]" in on_a_terminal("run")
    assert "\x1b[32m" not in on_a_terminal("run", "--no-color")
    assert "[OK]" not in on_a_terminal("run", "-q")


def test_quiet_documents_are_whole(shop: Path, tidegate: Call) -> None:
    loud, quiet = tidegate("ls", "--json"), tidegate("ls", "--json", "-q")
    assert json.loads(loud.out) == json.loads(quiet.out)
