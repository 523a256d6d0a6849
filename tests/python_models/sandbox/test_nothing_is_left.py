"""However it ends, no process of a job stays behind. All of a sandbox are in the session of its zygote."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.python_models.sandbox.conftest import own_sandbox, run_script
from tidegate.errors import PythonCodeError, SandboxDiedError
from tidegate.python_models.sandbox.sandbox import Sandbox

ENDLESS = "import time\nprint('on')\ntime.sleep(1000)\n"
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print('on', flush=True)
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(1000)
"""


def processes_of(session: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    found.append(int(folder.name))
    return sorted(found)


@contextlib.contextmanager
def all_end(pids: list[int]) -> Iterator[None]:
    """Within the block each of these ends, or within seconds after it."""
    handles = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            handles.append(os.pidfd_open(pid))
    try:
        yield
        for handle in handles:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            assert poll.poll(10_000), "a process is still there"
    finally:
        for handle in handles:
            os.close(handle)


@contextlib.contextmanager
def running(sandbox: Sandbox, source: str = ENDLESS) -> Iterator[Callable[[], BaseException | None]]:
    """A job, in a thread; gives a function that waits for its error."""
    on = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            run_script(sandbox, source, on_log=lambda line: on.set())
        except BaseException as error:
            errors.append(error)
            on.set()

    def ended() -> BaseException | None:
        thread.join(10)
        assert not thread.is_alive()
        return errors[0] if errors else None

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert on.wait(10)
    yield ended


def zygote_of(sandbox: Sandbox) -> int:
    process = sandbox._zygote
    assert process is not None
    return process.pid


def test_closing_the_sandbox_ends_its_jobs(tmp_path: Path) -> None:
    with own_sandbox(tmp_path) as sandbox, running(sandbox) as ended:
        pids = processes_of(zygote_of(sandbox))
        assert len(pids) == 4
        with all_end(pids):
            sandbox.close()
        assert isinstance(ended(), SandboxDiedError | PythonCodeError)
    assert list(tmp_path.iterdir()) == []


def test_when_tidegate_is_killed_nothing_is_left(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from tests.python_models.sandbox.conftest import own_sandbox, run_script
with own_sandbox(Path({str(tmp_path)!r})) as sandbox:
    run_script(sandbox, {ENDLESS!r}, on_log=lambda line: print(sandbox._zygote.pid, flush=True))
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    assert parent.stdout is not None
    pids = processes_of(int(parent.stdout.readline()))
    assert len(pids) == 4
    with all_end(pids):
        parent.kill()
        parent.wait()
    parent.stdout.close()


def test_when_the_zygote_is_killed_nothing_is_left_and_the_next_job_has_a_new_one(tmp_path: Path) -> None:
    with own_sandbox(tmp_path) as sandbox, running(sandbox) as ended:
        zygote = zygote_of(sandbox)
        with all_end(processes_of(zygote)):
            os.kill(zygote, signal.SIGKILL)
        assert isinstance(ended(), SandboxDiedError | PythonCodeError)
        assert run_script(sandbox, "result = 1") == 1
        assert zygote_of(sandbox) != zygote


@pytest.mark.parametrize("place", [1, 2, 3])
def test_when_a_process_of_a_job_is_killed_the_others_end(tmp_path: Path, place: int) -> None:
    """The warden, the init and the job itself."""
    with own_sandbox(tmp_path) as sandbox, running(sandbox) as ended:
        zygote, *pids = processes_of(zygote_of(sandbox))
        with all_end(pids):
            os.kill(pids[place - 1], signal.SIGKILL)
        assert isinstance(ended(), SandboxDiedError | PythonCodeError)
        assert processes_of(zygote) == [zygote]
        assert run_script(sandbox, "result = 1") == 1


def test_a_daemon_ends_with_its_job(tmp_path: Path) -> None:
    """Without seccomp, which refuses to start processes: the process namespace alone."""
    cancel = threading.Event()
    with own_sandbox(tmp_path, without=["seccomp"]) as sandbox:
        before: list[int] = []

        def on_log(line: str) -> None:
            before.extend(_inside(zygote_of(sandbox)))
            cancel.set()

        with pytest.raises(Exception, match="cancelled"):
            run_script(sandbox, DAEMON, on_log=on_log, cancelled=cancel.is_set)
        assert len(before) >= 4
        warden, *others = before
        assert not [pid for pid in others if Path(f"/proc/{pid}").exists()]
        with all_end([warden]):
            pass


def test_a_fork_bomb_ends_with_its_job(tmp_path: Path) -> None:
    with own_sandbox(tmp_path, without=["seccomp"]) as sandbox:
        source = "import os\nwhile True:\n    os.fork()\n"
        with pytest.raises(PythonCodeError) as caught:
            run_script(sandbox, source)
        assert caught.value.reason in ("processes", "cpu_time")
        with all_end(_inside(zygote_of(sandbox))[:1]):  # the warden, which may just be ending
            assert len(_inside(zygote_of(sandbox))) <= 1


def test_no_folder_of_a_job_is_left(sandbox: Sandbox, tmp_path: Path) -> None:
    with own_sandbox(tmp_path) as own:
        run_script(own, "open('x', 'w').write('x')")
        folder = own._zygote.folder  # type: ignore[union-attr]
        assert sorted(path.name for path in folder.iterdir()) == ["canary", "messages.log", "root", "scratch"]


def _inside(zygote: int) -> list[int]:
    """The descendants of the zygote, also those with a session of their own."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = {zygote}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {zygote})
