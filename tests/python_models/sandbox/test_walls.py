from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.python_models.sandbox.conftest import run_script
from tidegate.python_models.sandbox.sandbox import Sandbox

ATTEMPT = """\
import ctypes, os, socket, signal, struct, mmap, sys
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    ctypes.set_errno(0)
    done = libc.syscall(number, *arguments)
    return "allowed" if done >= 0 else os.strerror(ctypes.get_errno())

def attempt(function):
    try:
        return "allowed: " + repr(function())[:80]
    except BaseException as error:
        return type(error).__name__
"""

READS = {
    "a planted file": "lambda: open(values['secret']).read()",
    "its folder": "lambda: os.listdir(values['folder'])",
    "passwords of the system": "lambda: open('/etc/shadow').read()",
    "users of the system": "lambda: open('/etc/passwd').read()",
    "the environment of another process": "lambda: open('/proc/1/environ', 'rb').read()",
    "its own process": "lambda: open('/proc/self/environ', 'rb').read()",
    "the environment of Tidegate": "lambda: open(f\"/proc/{values['parent']}/environ\", 'rb').read()",
    "the home": "lambda: os.listdir(values['home'])",
    "the project": "lambda: open(values['project']).read()",
    "kernel settings": "lambda: os.listdir('/sys')",
    "a link that leads out": "lambda: (os.symlink(values['secret'], 'x'), open('x').read())",
    "a path with dots": "lambda: open('/tmp/../..' + values['secret']).read()",
    "the memory of a process": "lambda: open('/proc/self/mem', 'rb')",
    "the root": "lambda: open('/etc/newfile', 'w')",
    "python itself, for writing": "lambda: open(os.__file__, 'a')",
    "inherited files": "lambda: [os.readlink(f'/proc/self/fd/{n}') for n in range(50)]",
}
SOCKETS = {
    "tcp": "lambda: socket.socket()",
    "udp": "lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "tcp6": "lambda: socket.socket(socket.AF_INET6)",
    "unix": "lambda: socket.socket(socket.AF_UNIX)",
    "netlink": "lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "packets": "lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "a pair": "lambda: socket.socketpair()",
    "names": "lambda: socket.getaddrinfo('localhost', 80)",
    "a connection by address": "lambda: socket.create_connection(('127.0.0.1', values['port']))",
}
PROCESSES = {
    "fork": "lambda: os.fork()",
    "exec": "lambda: os.execv('/bin/sh', ['sh'])",
    "a command": "lambda: os.system('true') and 1/0",
    "a program": "lambda: __import__('subprocess').run(['/bin/true'])",
    "a signal to Tidegate": "lambda: os.kill(values['parent'], 0)",
    "a signal to the init": "lambda: os.kill(1, signal.SIGKILL)",
    "a signal to all": "lambda: os.kill(-1, signal.SIGKILL)",
    "root": "lambda: os.setuid(0)",
    "another group": "lambda: os.setgroups([0])",
    "chroot": "lambda: os.chroot('/tmp')",
    "the host's name": "lambda: socket.sethostname('x')",
    "a device": "lambda: os.mknod('disk', 0o60600, os.makedev(8, 0))",
    "nice": "lambda: os.setpriority(os.PRIO_PROCESS, 0, -5)",
    "a higher limit": "lambda: __import__('resource').setrlimit(7, (100000, 100000))",
    "memory without a limit": "lambda: os.memfd_create('x')",
    "another's limits": "lambda: __import__('resource').prlimit(values['parent'], 7)",
    "a file of another": "lambda: os.pidfd_open(values['parent'])",
}
CALLS = {  # on x86_64
    "ptrace": "call(101, 16, 1, 0, 0)",
    "process_vm_readv": "call(310, 1, 0, 0, 0, 0, 0)",
    "bpf": "call(321, 0, 0, 0)",
    "keyctl": "call(250, 0, -3, 0)",
    "add_key": "call(248, b'user', b'x', b'y', 1, -3)",
    "mount": "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "umount": "call(166, b'/tmp', 2)",
    "pivot_root": "call(155, b'/tmp', b'/tmp')",
    "unshare": "call(272, 0x10000000)",
    "setns": "call(308, 0, 0)",
    "clone of a namespace": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "clone3": "call(435, 0, 0)",
    "io_uring": "call(425, 8, b'x' * 120)",
    "userfaultfd": "call(323, 1)",
    "perf_event_open": "call(298, b'x' * 128, 0, -1, -1, 0)",
    "kexec": "call(246, 0, 0, 0, 0)",
    "open_by_handle_at": "call(304, 0, b'x' * 16, 0)",
    "name_to_handle_at": "call(303, -100, b'/', b'x' * 16, b'x' * 8, 0)",
    "pidfd_getfd": "call(438, 0, 0, 0)",
    "modify_ldt": "call(154, 0, 0, 0)",
    "init_module": "call(175, 0, 0, 0)",
    "shmget": "call(29, 0, 4096, 0o1600)",
    "msgget": "call(68, 0, 0o1600)",
    "personality": "call(135, 0)",
    "seccomp": "call(317, 0, 0, 0)",
    "splice": "call(275, 0, 0, 1, 0, 10, 0)",
    "tiocsti": "call(16, 0, 0x5412, b'x')",
    "a signal as another": "call(129, 1, 9, b'x' * 128)",
    "no longer ended with its parent": "call(157, 1, 0, 0, 0, 0)",
    "a new system call": "call(463, 0, 0, 0)",
}


@pytest.fixture(scope="module")
def outcomes(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    secret.write_text("the-secret")
    secret.chmod(0o644)
    values = {
        "secret": str(secret),
        "folder": str(secret.parent),
        "parent": os.getpid(),
        "home": str(Path.home()),
        "project": str(Path(__file__).parents[3] / "pyproject.toml"),
        "port": 9,
    }
    attempts = READS | SOCKETS | PROCESSES
    lines = [f"    {name!r}: attempt({function})," for name, function in attempts.items()]
    calls = (
        [f"    {name!r}: {expression}," for name, expression in CALLS.items()] if os.uname().machine == "x86_64" else []
    )
    source = "\n".join([ATTEMPT, "result = {", *lines, *calls, "}"])
    found = run_script(sandbox, source, values=values)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", [*READS, *SOCKETS, *PROCESSES])
def test_what_code_must_not_do_is_refused(outcomes: dict[str, str], name: str) -> None:
    assert not outcomes[name].startswith("allowed"), outcomes[name]


@pytest.mark.parametrize("name", CALLS)
def test_system_calls_beyond_what_python_needs_are_refused(outcomes: dict[str, str], name: str) -> None:
    if os.uname().machine == "x86_64":
        expected = "Function not implemented" if name in ("clone3", "a new system call") else "Operation not permitted"
        assert outcomes[name] == expected


def test_nothing_is_inherited(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "the-secret")
    source = "import os, sys\nresult = [dict(os.environ), os.listdir('.'), sys.argv, sys.path, os.getcwd()]"
    environment, files, arguments, path, folder = run_script(sandbox, source)
    assert "the-secret" not in json.dumps(environment)
    assert "PASSWORD" not in environment
    assert files == []
    assert "" not in path
    assert os.getcwd() not in path
    assert environment["HOME"] == environment["TMPDIR"] == folder
    assert not any("secret" in argument for argument in arguments)


def test_only_the_link_and_the_first_three_files_are_open(sandbox: Sandbox) -> None:
    source = """
import os
result = []
for number in range(256):
    try:
        os.fstat(number)
        result.append(number)
    except OSError:
        pass
"""
    assert len(run_script(sandbox, source)) == 4


def test_python_works_behind_the_walls(sandbox: Sandbox) -> None:
    source = """
import datetime, decimal, json, sqlite3, tempfile, threading, zoneinfo
import numpy, pandas, pyarrow
with tempfile.TemporaryFile() as file:
    file.write(b"x")
answers = []
thread = threading.Thread(target=lambda: answers.append(1))
thread.start()
thread.join()
frame = pandas.DataFrame({"x": [1, 2]}).assign(y=lambda frame: frame.x * 2)
at = datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Zurich"))
result = [int(frame.y.sum()), answers, pyarrow.table(frame).num_rows, at.utcoffset().seconds]
"""
    assert run_script(sandbox, source) == [6, [1], 2, 3600]


def test_jobs_draw_different_numbers(sandbox: Sandbox) -> None:
    source = "import random\nresult = random.random()"
    assert run_script(sandbox, source) != run_script(sandbox, source)


def test_a_job_finds_nothing_of_the_one_before(sandbox: Sandbox) -> None:
    run_script(sandbox, "import os\nopen('left', 'w').write('x')\nos.environ['LEFT'] = 'x'\nimport json\njson.left = 1")
    source = "import json, os\nresult = [os.path.exists('left'), 'LEFT' in os.environ, hasattr(json, 'left')]"
    assert run_script(sandbox, source) == [False, False, False]


def test_each_wall_says_whether_it_is_active(sandbox: Sandbox) -> None:
    walls = sandbox.walls()
    assert {wall.name for wall in walls if wall.active} >= {"limits", "no new privileges", "capabilities"}
    assert all(wall.detail for wall in walls)
