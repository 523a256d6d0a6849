"""`tidegate worker status` and `stop`."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.worker.conftest import Workers
from tidegate.cli.main import run_cli


def said(workers: Workers, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert run_cli(["worker", *words, "--project", str(workers.root)]) == 0
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def project(workers: Workers) -> None:
    (workers.root / "tidegate.toml").write_text('[project]\nname = "shop"\n')


@pytest.mark.parametrize("word", ["status", "stop"])
def test_without_a_worker(workers: Workers, capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert said(workers, capsys, word) == "No worker runs for this project.\n"
    assert json.loads(said(workers, capsys, word, "--json"))["workers"] == []


def test_one_that_serves_a_command(workers: Workers, capsys: pytest.CaptureFixture[str]) -> None:
    assert workers.lease() is not None
    text = said(workers, capsys, "status")
    assert f"process {workers.started[0].pid}  busy" in text
    assert f"  serves sql (process {os.getpid()}) since " in text
    assert "  ends after 10m 00s without a command" in text
    state = json.loads(said(workers, capsys, "status", "--json"))["workers"][0]
    assert (state["pid"], state["state"], state["project"]) == (workers.started[0].pid, "busy", str(workers.root))


def test_a_stop_is_at_once_for_one_that_is_idle(workers: Workers, capsys: pytest.CaptureFixture[str]) -> None:
    lease = workers.lease()
    assert lease is not None
    assert "ends with the last of 1 command" in said(workers, capsys, "stop")
    lease.close()
    assert workers.started[0].wait(5) == 0


def test_one_that_answers_nothing(workers: Workers, capsys: pytest.CaptureFixture[str]) -> None:
    assert workers.lease() is not None
    os.kill(workers.started[0].pid, signal.SIGSTOP)
    assert "answers nothing" in said(workers, capsys, "status")
