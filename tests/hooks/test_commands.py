from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from tests.hooks.told import command, event
from tidegate.config import Secret
from tidegate.errors import FailureKind
from tidegate.hooks.commands import Commands
from tidegate.hooks.payload import payload_of

PAYLOAD = payload_of(event("model_error", "silver.orders", error="no\0 such column"), "shop", "run")
FOREVER = "sleep 600"


def test_a_program_gets_the_payload_on_stdin_and_in_its_environment(tmp_path: Path) -> None:
    script = "import json, os, sys; json.dump([json.load(sys.stdin), dict(os.environ), os.getcwd()], open('got', 'w'))"
    hook = command((sys.executable, "-c", script), env={"CHANNEL": Secret("#data")}, name="notify")
    answer = Commands(tmp_path).run(hook, PAYLOAD)
    assert (answer.ok, answer.message) == (True, "exit code 0")
    payload, environment, folder = json.loads((tmp_path / "got").read_text())
    assert payload == {**PAYLOAD, "error": "no\0 such column"}
    assert environment["TIDEGATE_EVENT"] == "model_error"
    assert environment["TIDEGATE_MODEL"] == "silver.orders"
    assert environment["TIDEGATE_ERROR"] == "no such column"
    assert environment["TIDEGATE_ROWS_WRITTEN"] == ""
    assert environment["TIDEGATE_HOOK"] == "notify"
    assert environment["CHANNEL"] == "#data"
    assert environment["PATH"] == os.environ["PATH"]
    assert Path(folder) == tmp_path


def test_a_text_is_for_the_shell_and_its_last_line_is_the_answer(tmp_path: Path) -> None:
    answer = Commands(tmp_path).run(command('echo first; echo "$TIDEGATE_MODEL is broken"'), PAYLOAD)
    assert (answer.ok, answer.message) == (True, "silver.orders is broken")


def test_nothing_of_the_payload_is_run_by_the_shell(tmp_path: Path) -> None:
    nasty = payload_of(event("model_error", "silver.a", error="$(touch owned); `touch owned`"), "shop", "run")
    answer = Commands(tmp_path).run(command('echo "$TIDEGATE_ERROR"'), nasty)
    assert answer.message == "$(touch owned); `touch owned`"
    assert not (tmp_path / "owned").exists()


def test_a_program_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    answer = Commands(tmp_path).run(command("echo 'no freeze today' >&2; exit 3"), PAYLOAD)
    assert (answer.kind, answer.message) == (FailureKind.UNKNOWN, "exit code 3: no freeze today")
    assert Commands(tmp_path).run(command("kill -9 $$"), PAYLOAD).message == "ended by signal 9"


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    answer = Commands(tmp_path).run(command(("./notify.sh", "x")), PAYLOAD)
    assert (answer.kind, answer.message) == (
        FailureKind.NOT_FOUND,
        "./notify.sh cannot be started: No such file or directory",
    )


def test_a_program_that_may_not_be_run_is_told(tmp_path: Path) -> None:
    (tmp_path / "notify.sh").write_text("#!/bin/sh\n")
    answer = Commands(tmp_path).run(command(("./notify.sh",)), PAYLOAD)
    assert (answer.kind, answer.message) == (
        FailureKind.AUTH_FAILED,
        "./notify.sh cannot be started: Permission denied",
    )


def test_a_program_need_not_read_what_it_is_given(tmp_path: Path) -> None:
    large = {**PAYLOAD, "data": {"text": "x" * 5_000_000}}
    assert Commands(tmp_path).run(command("exit 0"), large).ok


def test_much_output_neither_fills_the_memory_nor_stops_the_program(tmp_path: Path) -> None:
    answer = Commands(tmp_path).run(command("head -c 3000000 /dev/zero | tr '\\0' 'x'; echo; echo done"), PAYLOAD)
    assert answer.message == "done"


def test_what_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    inner = f"trap '' TERM; echo $$ > inner; {FOREVER}"
    hook = command(f'sh -c "{inner.replace("$", chr(92) + "$")}" & {FOREVER}', timeout=timedelta(milliseconds=300))
    answer = Commands(tmp_path).run(hook, PAYLOAD)
    assert (answer.kind, answer.message) == (FailureKind.TIMEOUT, "not done after 300ms, so it was ended")
    pid = (tmp_path / "inner").read_text().strip()
    assert ended(int(pid), 30)


def ended(pid: int, seconds: float) -> bool:
    """Within so many seconds."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


def test_a_program_may_leave_something_behind_that_goes_on(tmp_path: Path) -> None:
    answer = Commands(tmp_path).run(command(f"({FOREVER}) & echo $!"), PAYLOAD)
    assert answer.ok
    left = int(answer.message)
    assert not ended(left, 0)
    os.kill(left, signal.SIGKILL)


def test_secrets_of_its_environment_are_not_repeated(tmp_path: Path) -> None:
    hook = command('echo "token is $TOKEN"; exit 1', env={"TOKEN": Secret("t0ken-of-mine")})
    assert Commands(tmp_path).run(hook, PAYLOAD).message == "exit code 1: token is ***"


def test_what_is_running_at_the_end_of_a_run_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    commands = Commands(tmp_path)
    answers = []
    hook = command(f"echo yes > started; {FOREVER}")
    thread = threading.Thread(target=lambda: answers.append(commands.run(hook, PAYLOAD)))
    thread.start()
    assert (tmp_path / "started").read_text() == "yes\n"
    commands.end_all()
    thread.join(10)
    assert answers[0].message == "ended by signal 15"


def test_an_interrupted_run_takes_its_command_along(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    pids: list[int] = []

    def interrupt() -> None:
        pids.append(int((tmp_path / "started").read_text()))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        Commands(tmp_path).run(command(f"echo $$ > started; {FOREVER}"), PAYLOAD)
    thread.join()
    assert ended(pids[0], 30)
