"""What the Tab key offers: the real function of bash, and what it asks the program for."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.calling import Call
from tidegate.cli import completion_candidates
from tidegate.cli.completion_candidates import WORDS_FILE, read_words
from tidegate.cli.main import COMMANDS
from tidegate.cli.reference import collect_words, words_json
from tidegate.cli.shell_completion import SCRIPTS, answer_shell
from tidegate.config import load_settings
from tidegate.planner import selection
from tidegate.state import RunRecord, open_state

RUNS = ["run-20261115-000002-000", "run-20261115-000001-000", "run-20261115-000000-000"]
DRIVE = """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_tidegate_completion tidegate
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def shop(project: Path) -> Path:
    files = {
        "models/silver/orders.sql": "-- @tags: daily\nSELECT 1 AS a\n",
        "models/silver/order_items.sql": "-- @tags: hourly\nSELECT 1 AS a\n",
        "models/gold/orders.sql": "SELECT 1 AS a\n",
        "models/gold/revenue/pipeline.sql": "SELECT 1 AS a\n",
        "other.toml": "",
    }
    for name, text in files.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    with open_state(load_settings(project).state.url) as store:
        for number, run in enumerate(reversed(RUNS)):
            at = datetime(2026, 11, 15, tzinfo=UTC) + timedelta(seconds=number)
            store.start_run(RunRecord(run, "shop", "run", run, "run", at))
    return project


def tab(*words: str, cwd: Path) -> list[str]:
    """The words of a line as bash has them, the last one under the cursor → COMPREPLY."""
    program = cwd / "bin" / "tidegate"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m tidegate "$@"\n')
    program.chmod(0o755)
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "--norc", "-c", SCRIPTS["bash"] + DRIVE, "bash", *words],
        cwd=cwd,
        env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1] if done.stdout.strip() else []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("tidegate pl", ["plan"]),
        ("tidegate run --full", ["--full-refresh"]),
        ("tidegate run silver.", ["silver.order_items", "silver.orders"]),
        ("tidegate plan -s gold.r", ["gold.revenue"]),
        ("tidegate run tag : d", ["daily"]),
        ("tidegate logs run-", RUNS),
        ("tidegate run --resume = run-20261115-000001", [RUNS[1]]),
        ("tidegate run -c oth", ["other.toml"]),
        ("tidegate show nothing", []),
    ],
)
def test_bash_completes(line: str, offered: list[str], shop: Path) -> None:
    assert tab(*line.split(" "), cwd=shop) == offered


def ask(line: str, shell: str = "bash") -> list[str]:
    """The lines of the program's answer; the last word of the line is the one under the cursor."""
    words = line.split(" ")[1:]
    return answer_shell(words, {"_TIDEGATE_COMPLETE": shell, "_TIDEGATE_WORD": str(len(words))})


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("tidegate ", ["words", *COMMANDS]),
        ("tidegate -q ru", ["words", "run"]),
        ("tidegate --project", ["words", "--project"]),
        ("tidegate --vers", ["words", "--version"]),
        ("tidegate run --res", ["words", "--resume", "--resume-latest"]),
        ("tidegate run --no", ["words", "--no-publish", "--no-ingest", "--no-worker", "--no-color"]),
        ("tidegate run --publish ", ["words", "run", "wave", "model", "all"]),
        ("tidegate run --publish = w", ["words", "wave"]),
        ("tidegate run rev", ["words", "revenue"]),
        ("tidegate run +rev", ["words", "+revenue"]),
        ("tidegate run 2+gold.r", ["words", "2+gold.revenue"]),
        ("tidegate run @rev", ["words", "@revenue"]),
        ("tidegate run @ rev", ["words", "@revenue"]),
        ("tidegate run ord", ["words", "order_items"]),  # two models are called orders
        ("tidegate run tag", ["open", "tag:"]),
        ("tidegate run tag : ", ["words", "daily", "hourly"]),
        ("tidegate run state : m", ["words", "modified"]),
        ("tidegate run path : models/g", ["words", "models/gold", "models/gold/revenue"]),
        ("tidegate run tag : daily,gold.o", ["words", "daily,gold.orders"]),
        ("tidegate run silver.orders gold.r", ["words", "gold.revenue"]),
        ("tidegate run --full-refresh gold.r", ["words", "gold.revenue"]),
        ("tidegate run --concurrency 3 gold.r", ["words", "gold.revenue"]),
        ("tidegate run --exclude gold.r", ["words", "gold.revenue"]),
        ("tidegate run -- --gold.r", ["words"]),
        ("tidegate run 'gold.r", ["words", "gold.revenue"]),
        ("tidegate show gold.revenue ", ["words"]),
        ("tidegate diff ", ["words", *RUNS]),
        ("tidegate diff latest gold.r", ["words", "gold.revenue"]),
        ("tidegate lineage gold.r", ["words", "gold.revenue"]),
        ("tidegate cancel run-20261115-000002", ["words", RUNS[0]]),
        ("tidegate hooks ", ["words", "test"]),
        ("tidegate hooks test budget", ["words", "budget_breach"]),
        ("tidegate compile --explain UnusedC", ["words", "UnusedCte"]),
        ("tidegate completion ", ["words", "bash", "zsh", "fish"]),
        ("tidegate -c ", ["files"]),
        ("tidegate ls --project ", ["folders"]),
        ("tidegate nothing ", ["words"]),
    ],
)
def test_answers(line: str, answer: list[str], shop: Path) -> None:
    assert ask(line) == answer


def test_the_project_may_be_named_on_the_line(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ask("tidegate show gold.") == ["words"]
    assert ask("tidegate --project shop show gold.r") == ["words", "gold.revenue"]
    assert ask("tidegate show --project = shop gold.r") == ["words", "gold.revenue"]


def test_a_project_that_cannot_be_read_offers_nothing(shop: Path) -> None:
    (shop / "tidegate.toml").write_text("[project\n")
    assert ask("tidegate run gold.") == ["words"]
    assert ask("tidegate logs ") == ["words"]


def test_zsh_and_fish_get_descriptions(shop: Path) -> None:
    assert ask("tidegate pla", "zsh") == ["words", f"plan:{COMMANDS['plan'].help}"]
    assert ask("tidegate run tag:d", "zsh") == ["words", "tag\\:daily"]
    assert ask("tidegate pla", "fish") == ["words", f"plan\t{COMMANDS['plan'].help}"]
    assert ask("tidegate run tag:d", "fish") == ["words", "tag:daily"]


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_printed(shell: str, tidegate: Call) -> None:
    assert tidegate("completion", shell).out == SCRIPTS[shell]
    assert tidegate("completion", shell, "--json").document["script"] == SCRIPTS[shell]


def test_the_words_of_selectors_are_those_of_the_planner() -> None:
    assert completion_candidates.METHODS is selection.METHODS
    assert completion_candidates.STATES is selection.STATES


def test_nothing_slow_is_imported_to_complete(shop: Path) -> None:
    ours = ("tidegate.cli.commands", "tidegate.runs", "tidegate.compiler")
    heavy = ("pyspark", "sqlalchemy", "sqlglot", "jinja2", "rich", *ours)
    check = (
        "import sys; from tidegate.cli.shell_completion import answer_shell; "
        f"print([len(answer_shell(['run', 'gold.'])), len(answer_shell(['logs', '']))], "
        f"[name for name in {heavy} if name in sys.modules])"
    )
    env = {**os.environ, "_TIDEGATE_COMPLETE": "bash", "_TIDEGATE_WORD": "2"}
    done = subprocess.run([sys.executable, "-c", check], cwd=shop, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[3, 4] []"


def test_a_broken_completion_leaves_the_prompt_clean(tmp_path: Path) -> None:
    env = {**os.environ, "_TIDEGATE_COMPLETE": "bash", "_TIDEGATE_WORD": "²"}
    call = [sys.executable, "-m", "tidegate", "run", "x"]
    done = subprocess.run(call, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_words_are_those_of_the_commands() -> None:
    words = collect_words()
    assert words_json(words) == WORDS_FILE.read_text("utf-8"), "run `make docs`"
    assert read_words() == words
