"""The conversation of Spark's JVM with the daemon of walled workers, without a JVM."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.python_models.sandbox.conftest import SMALL
from tests.python_models.sandbox.test_nothing_is_left import all_end, processes_of
from tidegate.python_models.sandbox.worker_launcher import worker_python

NUMBER = struct.Struct("!i")
ARGUMENTS = ["-m", "pyspark.daemon", "pyspark.worker"]


class Daemon:
    def __init__(self, launcher: Path, **environment: str) -> None:
        self.process = subprocess.Popen(
            [str(launcher), *ARGUMENTS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PASSWORD": "the-secret", "PYTHONPATH": "/nowhere", "PATH": os.environ["PATH"], **environment},
            start_new_session=True,
        )

    def number(self) -> int:
        assert self.process.stdout is not None
        return int(NUMBER.unpack(self.process.stdout.read(4))[0])

    def text(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.read(self.number()).decode()

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self.process.wait(10)


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worker_python(SMALL, tmp_path_factory.mktemp("it's a folder"))


@pytest.fixture(scope="module")
def daemon(launcher: Path) -> Iterator[tuple[Daemon, int]]:
    daemon = Daemon(launcher, PYTHON_WORKER_FACTORY_SECRET="shared")
    yield daemon, daemon.number()
    daemon.end()


@pytest.fixture
def short() -> Iterator[Path]:
    """The path of a Unix socket may have 107 letters."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def greet(port: int, secret: bytes = b"shared") -> tuple[socket.socket, int, bytes]:
    connection = socket.create_connection(("127.0.0.1", port), 10)
    pid = int(NUMBER.unpack(connection.recv(4, socket.MSG_WAITALL))[0])
    connection.sendall(NUMBER.pack(len(secret)) + secret)
    length = NUMBER.unpack(connection.recv(4, socket.MSG_WAITALL))[0]
    return connection, pid, connection.recv(length, socket.MSG_WAITALL)


def test_a_worker_has_the_number_of_a_process_that_the_jvm_can_see(daemon: tuple[Daemon, int]) -> None:
    connection, pid, answer = greet(daemon[1])
    assert answer == b"ok"
    with all_end([pid]):
        connection.close()


def test_a_wrong_secret_ends_the_worker(daemon: tuple[Daemon, int]) -> None:
    connection, _, answer = greet(daemon[1], b"wrong")
    assert answer == b"err"
    assert connection.recv(1) == b""
    connection.close()


def test_the_jvm_ends_a_worker_by_its_number(daemon: tuple[Daemon, int]) -> None:
    connection, pid, _ = greet(daemon[1])
    with all_end([pid]):
        daemon[0].send(NUMBER.pack(pid))
    assert connection.recv(1) == b""
    connection.close()


def test_numbers_of_other_processes_are_not_killed(daemon: tuple[Daemon, int]) -> None:
    other = subprocess.Popen(["sleep", "1000"])
    daemon[0].send(NUMBER.pack(other.pid))
    connection, _, answer = greet(daemon[1])
    connection.close()
    assert answer == b"ok"
    assert other.poll() is None
    other.kill()
    other.wait()


def test_the_daemon_takes_no_environment_of_the_jvm(daemon: tuple[Daemon, int]) -> None:
    environment = Path(f"/proc/{daemon[0].process.pid}/environ").read_bytes()
    assert b"the-secret" not in environment
    assert b"PYTHONPATH" not in environment


@pytest.mark.parametrize("how", ["closes", "killed"])
def test_when_the_jvm_is_gone_or_the_daemon_is_killed_nothing_is_left(launcher: Path, short: Path, how: str) -> None:
    daemon = Daemon(launcher, PYTHON_UNIX_DOMAIN_ENABLED="True", PYTHON_WORKER_FACTORY_SOCK_DIR=str(short))
    path = daemon.text()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        pid = NUMBER.unpack(connection.recv(4, socket.MSG_WAITALL))[0]
        connection.sendall(NUMBER.pack(0))  # the first number of a task: the worker reads on
        pids = processes_of(daemon.process.pid)
        assert pid in pids
        with all_end(pids):
            if how == "closes":
                assert daemon.process.stdin is not None
                daemon.process.stdin.close()
            else:
                daemon.process.send_signal(signal.SIGKILL)
    daemon.end()
    assert how == "killed" or list(short.iterdir()) == []


def test_the_launcher_runs_nothing_else(launcher: Path) -> None:
    done = subprocess.run([str(launcher), "-c", "print(1)"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "runs only Spark's workers" in done.stderr
