"""Child processes end with the process that started them, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import eventually
from tidegate import processes

STUBBORN = "trap '' TERM; echo on > began; while :; do sleep 0.05; done"
NESTED = "sh -c 'echo on > began; sleep 100' & wait"


def marked(mark: Path) -> list[str]:
    """The processes that run in the folder `mark`, of which none is a zombie."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and Path(os.readlink(entry / "cwd")) == mark:
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:60])
        except OSError:
            continue
    return [line for line in found if line]


def test_nothing_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    """Whichever signal ends it, and whatever its children do. All at once: a stubborn child is given two seconds."""
    code = (
        "import sys, time; from pathlib import Path; from tidegate import processes\n"
        "for folder in sys.argv[1:]:\n"
        "    script = Path(folder, 'script').read_text()\n"
        "    processes.start(['/bin/sh', '-c', script], cwd=Path(folder))\n"
        "time.sleep(100)"
    )
    scripts = {"stubborn": STUBBORN, "nested": NESTED, "plain": "echo on > began; sleep 100"}
    numbers = (signal.SIGKILL, signal.SIGTERM, signal.SIGQUIT)
    folders = {number: [tmp_path / number.name / name for name in scripts] for number in numbers}
    every = [folder for each in folders.values() for folder in each]
    for folder in every:
        folder.mkdir(parents=True)
        (folder / "script").write_text(scripts[folder.name])
    parents = {number: subprocess.Popen([sys.executable, "-c", code, *map(str, folders[number])]) for number in numbers}
    try:
        assert eventually(lambda: all((folder / "began").exists() for folder in every), 30)
        for number, parent in parents.items():
            parent.send_signal(number)
        for parent in parents.values():
            parent.wait(5)
    finally:
        for parent in parents.values():
            parent.kill()
    assert eventually(lambda: not any(map(marked, every))), {folder: marked(folder) for folder in every}


@pytest.mark.parametrize("script", [STUBBORN, NESTED], ids=["stubborn", "nested"])
def test_a_process_that_is_ended_leaves_no_other(tmp_path: Path, script: str) -> None:
    process = processes.start(["/bin/sh", "-c", script], cwd=tmp_path)
    assert eventually((tmp_path / "began").exists)
    processes.end(process, grace=0.1)
    assert eventually(lambda: not marked(tmp_path), 1), marked(tmp_path)


def test_what_is_started_together_is_killed_together(tmp_path: Path) -> None:
    """As the JVM of a process that is to die as by a power cut."""
    code = (
        "import sys, time; from pathlib import Path; from tidegate import processes\n"
        "processes.start(['/bin/sh', '-c', 'echo on > began; sleep 100'], cwd=Path(sys.argv[1])); time.sleep(100)"
    )
    parent = processes.start([sys.executable, "-c", code, str(tmp_path)], cwd=tmp_path, together=True)
    assert eventually((tmp_path / "began").exists)
    processes.kill(parent)
    assert eventually(lambda: not marked(tmp_path), 1), marked(tmp_path)


def test_what_a_command_leaves_running_after_its_own_end_goes_on(tmp_path: Path) -> None:
    process = processes.start(["/bin/sh", "-c", "sleep 100 & echo $! > left"], cwd=tmp_path)
    assert process.wait(5) == 0
    processes.release(process)
    left = int((tmp_path / "left").read_text())
    try:
        assert eventually(lambda: len(marked(tmp_path)) == 1), marked(tmp_path)
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_command_reads_its_file_and_gives_its_exit_code(tmp_path: Path) -> None:
    given = tmp_path / "a file"
    given.write_text("one\ntwo\n")
    process = processes.start(["/bin/sh", "-c", "wc -l; exit 3"], stdin=given, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert (process.stdout.read().split(), process.wait(5)) == ([b"2"], 3)
    processes.release(process)
    process.stdout.close()


def test_a_program_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    with pytest.raises(FileNotFoundError):
        processes.start(["no-such-program"])
    with pytest.raises(PermissionError):
        processes.start(["./plain"], cwd=tmp_path)


def test_a_process_whose_end_is_interrupted_is_ended_with_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = processes.start(["/bin/sh", "-c", STUBBORN], cwd=tmp_path)
    assert eventually((tmp_path / "began").exists)

    def interrupted(seconds: float | None = None) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(process, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            processes.end(process)
    assert process.poll() is None
    processes.end_all()
    assert process.poll() == -signal.SIGKILL
