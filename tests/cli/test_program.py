"""The program itself: help, options, and what becomes of errors."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.cli.calling import Call
from tidegate.cli import main as program
from tidegate.cli.main import COMMANDS, cli
from tidegate.errors import ConfigError, RunCancelledError, TidegateError

FailWith = Callable[[BaseException], None]
HEAVY = ("pyspark", "pyiceberg", "sqlalchemy", "sqlglot", "jinja2", "rich", "tidegate.cli.commands")


@pytest.fixture
def fail_with(monkeypatch: pytest.MonkeyPatch) -> FailWith:
    """Makes `tidegate fail` a command that raises."""

    def prepare(error: BaseException) -> None:
        @click.command()
        @program.common_options
        def fail() -> None:
            raise error

        monkeypatch.setattr(program.LazyGroup, "get_command", lambda self, ctx, name: fail)

    return prepare


def test_help_imports_no_command_and_nothing_heavy() -> None:
    check = (
        "import sys; from tidegate.cli.main import run_cli; assert run_cli(['--help']) == 0; "
        f"print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert all(name in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_the_line_of_the_list_and_an_example(name: str, tidegate: Call) -> None:
    entry = COMMANDS[name]
    command = getattr(importlib.import_module(f"tidegate.cli.{entry.module}"), entry.attribute)
    assert command.name == name
    assert command.help.split("\n\n")[0] == entry.help
    shown = tidegate(name, "--help")
    assert shown.code == 0
    assert f"Example:\n    tidegate {name}" in shown.out
    assert all(option in shown.out for option in ("--project", "--config", "--json", "--debug"))


def test_commands_that_only_look_import_no_pyspark() -> None:
    modules = {
        COMMANDS[name].module
        for name in ("ls", "show", "compile", "plan", "lineage", "history", "logs", "branches", "init", "doctor")
    }
    names = ", ".join(f"tidegate.cli.{module}" for module in sorted(modules))
    check = f"import sys, {names}; print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_run_imports_what_builds_tables_only_to_build_one() -> None:
    heavy = ("tidegate.transform", "tidegate.write", "tidegate.ingest", "tidegate.operations.publish")
    check = f"import sys, tidegate.cli.commands.run; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("command", "needed"),
    [("", ["sqlalchemy"]), ("branches", []), ("reap", ["sqlalchemy"])],
    ids=["overview", "branches", "reap"],
)
def test_light_commands_import_only_what_they_need(project: Path, command: str, needed: list[str]) -> None:
    heavy = ("pyspark", "pyiceberg", "sqlalchemy", "sqlglot", "jinja2", "rich", "tidegate.compiler", "tidegate.sources")
    check = (
        f"import sys; from tidegate.cli.main import run_cli; assert run_cli({command.split()}) == 0; "
        f"print([m for m in {heavy} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=project, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == str(needed)


def test_common_options_work_before_and_after_the_command(tidegate: Call, tmp_path: Path) -> None:
    (tmp_path / "tidegate.toml").write_text("")
    before = tidegate("--project", str(tmp_path), "--json", "history")
    after = tidegate("history", "--json", "--project", str(tmp_path))
    assert before.document == after.document
    assert before.document["command"] == "history"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("hooks",)])
def test_config_is_short_for_c_on_every_command(command: str, tidegate: Call) -> None:
    assert "-c, --config FILE" in tidegate(command, "--help").out


def test_the_file_of_c_is_the_one_that_counts(tidegate: Call, project: Path) -> None:
    (project / "other.toml").write_text('[project]\nname = "other"\n[run]\npublsh = 1\n')
    for call in (("run", "-c", "other.toml"), ("-c", "other.toml", "run"), ("run", "-cother.toml")):
        assert "other.toml:4" in tidegate(*call).err


def test_version_is_told(tidegate: Call) -> None:
    assert tidegate("--version").out.startswith("tidegate 0.")


def test_an_unknown_command_or_option_is_told_with_the_nearest_and_exits_1(tidegate: Call) -> None:
    unknown = tidegate("histroy")
    assert (unknown.code, unknown.out) == (1, "")
    assert "There is no command 'histroy'. Did you mean history?" in unknown.err
    option = tidegate("history", "--limt", "3", "--json")
    assert option.code == 1
    assert "--limt" in option.document["error"]


def test_an_error_is_one_message_with_place_and_remedy(fail_with: FailWith, tidegate: Call) -> None:
    fail_with(TidegateError("The well is dry", where="well.toml:3", remedy="Dig deeper."))
    told = tidegate("fail")
    assert (told.code, told.out) == (1, "")
    assert told.err == "error: The well is dry\n  where: well.toml:3\n  fix: Dig deeper.\n"
    assert tidegate("fail", "--json").document == {
        "version": "0.1.0",
        "command": "fail",
        "status": "error",
        "error": "The well is dry",
        "where": "well.toml:3",
        "remedy": "Dig deeper.",
        "failure_kind": "Unknown",
    }


def test_a_config_error_lists_every_problem(fail_with: FailWith, tidegate: Call) -> None:
    fail_with(ConfigError("tidegate.toml has 2 problems", problems=("tidegate.toml:1: a", "tidegate.toml:2: b")))
    assert tidegate("fail").err == (
        "error: tidegate.toml has 2 problems\n  - tidegate.toml:1: a\n  - tidegate.toml:2: b\n"
    )
    assert tidegate("--json", "fail").document["problems"] == ["tidegate.toml:1: a", "tidegate.toml:2: b"]


def test_an_unexpected_error_has_no_traceback_unless_asked_for(fail_with: FailWith, tidegate: Call) -> None:
    fail_with(ZeroDivisionError("by zero\nsecond line"))
    told = tidegate("fail")
    assert told.code == 1
    assert "error: unexpected error: ZeroDivisionError: by zero\n" in told.err
    assert "--debug" in told.err
    assert "Traceback" not in told.err
    assert "Traceback" in tidegate("fail", "--debug").err
    assert "Traceback" in tidegate("--debug", "fail").err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RunCancelledError("Cancelled")])
def test_an_interrupt_exits_130(error: BaseException, fail_with: FailWith, tidegate: Call) -> None:
    fail_with(error)
    assert tidegate("fail").code == 130


def test_a_reader_that_goes_away_makes_no_noise() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    call = [sys.executable, "-c", "from tidegate.cli.main import main; main()", "--help"]
    done = subprocess.run(call, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_list_of_commands_is_the_programs_own() -> None:
    assert cli.list_commands(click.Context(cli)) == list(COMMANDS)


_GIVEN_UP = """
import sys, threading, types
from tidegate.cli import main
sys.modules["pyspark"] = types.ModuleType("pyspark")
threading.Thread(target=threading.Event().wait, args=(600,)).start()
main.run_cli = lambda args: 1
main.main()
"""


def test_a_thread_that_was_given_up_does_not_keep_the_program_from_ending() -> None:
    """As after a time-out of the run, where one waits for a source that does not answer."""
    assert subprocess.run([sys.executable, "-c", _GIVEN_UP], timeout=60).returncode == 1


@pytest.mark.parametrize(("option", "shown"), [("--json", False), ("--debug", True)])
def test_what_libraries_log_reaches_the_screen_only_with_debug(option: str, shown: bool) -> None:
    """Py4J does so with a traceback whenever the JVM is gone."""
    program = (
        "import logging, sys, tidegate.cli.main as program\n"
        f"sys.argv = ['tidegate', 'ls', '{option}']\n"
        "program.run_cli = lambda args: logging.error('Exception while sending command.') or 0\n"
        "program.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ("Exception while sending command." in done.stderr) == shown
