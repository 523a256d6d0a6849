from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.python_models.sandbox.conftest import FILE, MIB, run_script
from tidegate.errors import FailureKind, PythonCodeError, RunCancelledError
from tidegate.python_models.sandbox.sandbox import Sandbox
from tidegate.python_models.sandbox.sandbox_job import CallRefusedError, SandboxJob

HOSTILE = "import socket, os\nend = link._socket\n"


def failure(sandbox: Sandbox, source: str, **options: object) -> PythonCodeError:
    with pytest.raises(PythonCodeError) as caught:
        run_script(sandbox, source, **options)
    return caught.value


def test_an_exception_has_its_line_and_a_traceback_that_begins_there(sandbox: Sandbox) -> None:
    error = failure(sandbox, "def inner():\n    return {}['x']\n\ninner()\n")
    assert (str(error), error.kind, error.where, error.line) == (
        "KeyError: 'x'",
        FailureKind.QUERY_REJECTED,
        f"{FILE}:2",
        2,
    )
    lines = error.traceback.splitlines()
    assert lines[1] == f'  File "{FILE}", line 4, in <module>'
    assert "    return {}['x']" in lines
    assert "tidegate" not in error.traceback


def test_causes_are_shown_without_lines_of_tidegate(sandbox: Sandbox) -> None:
    source = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('bad') from error\n"
    error = failure(sandbox, source)
    assert error.line == 4
    assert "ZeroDivisionError" in error.traceback
    assert "tidegate" not in error.traceback


def test_a_syntax_error_has_its_line(sandbox: Sandbox) -> None:
    error = failure(sandbox, "x = 1\ny = (\n")
    assert error.reason == "exception"
    assert error.line == 2
    assert str(error).startswith("SyntaxError")


@pytest.mark.parametrize("source", ["raise SystemExit(3)", "raise KeyboardInterrupt", "import sys; sys.exit('x')"])
def test_leaving_python_is_an_exception(sandbox: Sandbox, source: str) -> None:
    assert failure(sandbox, source).line == 1


def test_an_exception_that_cannot_be_shown_is_reported_all_the_same(sandbox: Sandbox) -> None:
    source = """
class Odd(Exception):
    def __str__(self):
        raise SystemExit
raise Odd
"""
    error = failure(sandbox, source)
    assert error.reason == "exception"
    assert "Odd" in str(error)


LIMITS = {
    "memory": "x = []\nwhile True:\n    x.append(bytearray(1 << 20))\n",
    "memory of numpy": "import numpy\nnumpy.ones(1 << 30)\n",
    "memory that is shared": "import mmap\nmaps = [mmap.mmap(-1, 1 << 24) for _ in range(1000)]",
    "cpu_time": "while True:\n    pass\n",
    "cpu_time although it refuses": "import signal\nsignal.signal(signal.SIGXCPU, lambda *_: None)\nwhile True: pass",
    "processes": "import os\nwhile True:\n    os.fork()\n",
    "processes as threads": (
        "import threading\nwait = threading.Event()\n"
        "for _ in range(100):\n    threading.Thread(target=wait.wait, daemon=True).start()\n"
    ),
    "file_size": "open('big', 'wb').write(bytes(5 << 20))\n",
    "file_size of many": "for n in range(9):\n    open(f'f{n}', 'wb').write(bytes(1 << 20))\n",
    "local_rows": "result = bytes(5 << 20)",
    "local_rows without end": (
        "from tidegate.python_models.sandbox.link import FrameKind\n"
        "while True:\n    link.send(FrameKind.DATA, body=bytes(1 << 19))\n"
    ),
    "exit": "import os\nos._exit(7)\n",
    "signal": "import ctypes\nctypes.string_at(0)\n",
    "output": "import os\nline = b'x' * 65535 + b'\\n'\nwhile True:\n    os.write(1, line)\n",
}


@pytest.mark.parametrize("name", LIMITS)
def test_each_limit_ends_the_job_alone_with_advice(sandbox: Sandbox, name: str) -> None:
    error = failure(sandbox, LIMITS[name])
    reason = name.split()[0]
    assert (error.reason, error.message.split()[0] == FILE or FILE in error.message) == (reason, True)
    assert error.remedy
    assert error.kind is (FailureKind.TIMEOUT if reason == "cpu_time" else FailureKind.QUERY_REJECTED)
    if reason not in ("exit", "signal", "output"):
        assert f"[sandbox] {reason}" in error.remedy
    assert run_script(sandbox, "result = 1") == 1


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("open('/etc/passwd')", 'trusted = ["models/silver/x.py"]'),
        ("import socket\nsocket.gethostbyname('example.com')", "no network"),
        ("import no_such_package", "Install the package"),
        ("raise ValueError('a cast would result in out of bounds timestamp: 1')", "toArrow()"),
        ("import pandas\npandas.to_datetime(['1500-01-01'], unit='ns')", "toArrow()"),
    ],
)
def test_what_is_outside_is_named(sandbox: Sandbox, source: str, advice: str) -> None:
    error = failure(sandbox, source)
    assert (error.reason, advice in (error.remedy or "")) == ("exception", True)


def test_the_clock_ends_a_job_that_only_waits(sandbox: Sandbox) -> None:
    error = failure(sandbox, "import time\ntime.sleep(1000)", timeout=timedelta(seconds=0.2))
    assert (error.reason, error.kind) == ("timeout", FailureKind.TIMEOUT)


def test_a_cancelled_job_ends(sandbox: Sandbox) -> None:
    started = threading.Event()
    with pytest.raises(RunCancelledError):
        run_script(
            sandbox,
            "print('on')\nimport time\ntime.sleep(1000)",
            on_log=lambda line: started.set(),
            cancelled=started.is_set,
        )


class _Waiting:
    """Calls that are answered only when they are interrupted."""

    def __init__(self) -> None:
        self.interrupted = threading.Event()
        self.waiting = threading.Event()

    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        self.waiting.set()
        self.interrupted.wait(30)
        raise CallRefusedError("CANCELLED", "interrupted")

    def interrupt(self) -> None:
        self.interrupted.set()


CALL = "from tidegate.python_models.sandbox.link import FrameKind\nlink.send(FrameKind.CALL, {'method': 'X'}, b'ask')\n"


def test_a_call_is_interrupted_when_the_job_is_cancelled(sandbox: Sandbox) -> None:
    calls = _Waiting()
    with pytest.raises(RunCancelledError):
        run_script(sandbox, CALL + "link.receive()", calls=calls, cancelled=calls.waiting.is_set)
    assert calls.interrupted.is_set()


def test_a_call_is_interrupted_when_the_job_dies(sandbox: Sandbox) -> None:
    calls = _Waiting()
    assert failure(sandbox, CALL + "import os\nos._exit(1)", calls=calls).reason == "exit"
    assert calls.interrupted.is_set()


class _Broken:
    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        raise ConnectionResetError("Spark is gone")

    def interrupt(self) -> None:
        pass


def test_an_error_of_who_answers_calls_ends_the_job(sandbox: Sandbox) -> None:
    with pytest.raises(ConnectionResetError, match="Spark is gone"):
        run_script(sandbox, CALL + "import time\ntime.sleep(1000)", calls=_Broken())


class _Echo:
    def call(self, method: str, request: bytes) -> Iterator[bytes]:
        yield request
        yield request * 2
        raise CallRefusedError("PERMISSION_DENIED", "no more", b"status")

    def interrupt(self) -> None:
        pass


def test_calls_are_answered_piece_by_piece(sandbox: Sandbox) -> None:
    source = (
        CALL + "f = [link.receive() for _ in range(3)]\nresult = [[x.kind.name, x.body.decode(), x.header] for x in f]"
    )
    assert run_script(sandbox, source, calls=_Echo()) == [
        ["REPLY", "ask", {}],
        ["REPLY", "askask", {}],
        ["REPLY_ERROR", "status", {"code": "PERMISSION_DENIED", "details": "no more"}],
    ]


NONSENSE = {
    "a frame of an unknown kind": "end.sendall(b'\\xff' + bytes(12))",
    "a header that is no json": "end.sendall(b'\\x06\\0\\0\\0\\x01' + bytes(8) + b'{')",
    "a header that is no object": "end.sendall(b'\\x06\\0\\0\\0\\x02' + bytes(8) + b'[]')",
    "a header that is nested": "end.sendall(b'\\x06' + (200000).to_bytes(4, 'big') + bytes(8) + b'[' * 200000)",
    "a header that is too long": "end.sendall(b'\\x06\\xff\\xff\\xff\\xff' + bytes(8))",
    "a body that is too long": "end.sendall(b'\\x07\\0\\0\\0\\x02' + b'\\xff' * 8 + b'{}')",
    "a frame of the parent": "end.sendall(b'\\x01\\0\\0\\0\\x02' + bytes(8) + b'{}')",
    "a result of no kind": "end.sendall(b'\\x08\\0\\0\\0\\x02' + bytes(8) + b'{}')",
    "a result without its rows": (
        "import json\nt = json.dumps({'kind': 'arrow'}).encode()\n"
        "end.sendall(b'\\x08' + len(t).to_bytes(4, 'big') + bytes(8) + t)"
    ),
    "a call without a method": "end.sendall(b'\\x02\\0\\0\\0\\x02' + bytes(8) + b'{}')",
    "text that is not utf-8": "end.sendall(b'\\x06\\0\\0\\0\\x02' + bytes(8) + b'\\xff\\xff')",
}


@pytest.mark.parametrize("name", NONSENSE)
def test_what_is_no_frame_ends_the_job(sandbox: Sandbox, name: str) -> None:
    assert failure(sandbox, HOSTILE + NONSENSE[name] + "\nimport time\ntime.sleep(1000)").reason == "protocol"


def test_half_a_frame_does_not_outlast_the_clock(sandbox: Sandbox) -> None:
    source = HOSTILE + "end.sendall(b'\\x06\\0\\0')\nimport time\ntime.sleep(1000)"
    assert failure(sandbox, source, timeout=timedelta(seconds=0.2)).reason == "timeout"


def test_a_failure_that_was_made_up_is_text_and_no_more(sandbox: Sandbox) -> None:
    source = (
        "from tidegate.python_models.sandbox.link import FrameKind\n"
        "link.send(FrameKind.FAILURE, {'kind': [], 'message': '\\x1b[2J' + 'x' * 9000, 'line': 'x', 'traceback': 3})\n"
        "import time\ntime.sleep(1000)"
    )
    error = failure(sandbox, source)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 5000
    assert error.line is None


def test_files_that_are_sent_along_are_not_taken(sandbox: Sandbox) -> None:
    source = HOSTILE + "socket.send_fds(end, [b'\\x06\\0\\0\\0\\x02' + bytes(8) + b'{}'], [1])\nresult = 1"
    assert run_script(sandbox, source) == 1


def test_prints_are_log_lines_and_the_rest_is_counted(sandbox: Sandbox) -> None:
    lines: list[str] = []
    source = """
import os, sys
print('one')
print('two', file=sys.stderr)
os.write(1, b'three\\n')
for n in range(99999):
    print(n)
"""
    run_script(sandbox, source, on_log=lines.append)
    assert lines[:3] == ["one", "two", "three"]
    assert len(lines) < 2100
    assert lines[-2].endswith("KiB more that are not shown: it printed too much")
    assert lines[-1].endswith("more lines that are not shown: it logged too much")


def test_what_is_logged_cannot_control_a_terminal(sandbox: Sandbox) -> None:
    lines: list[str] = []
    run_script(sandbox, "print('\\x1b[2Jhidden')", on_log=lines.append)
    assert lines == ["?[2Jhidden"]


def test_a_job_does_not_outlive_an_error_of_who_receives_its_log(sandbox: Sandbox) -> None:
    def fail(line: str) -> None:
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError, match="the disk is full"):
        run_script(sandbox, "print('x')\nimport time\ntime.sleep(1000)", on_log=fail)


def test_a_flood_of_log_frames_is_bounded(sandbox: Sandbox) -> None:
    lines: list[str] = []
    source = (
        "from tidegate.python_models.sandbox.link import FrameKind\n"
        "for n in range(5000):\n    link.send(FrameKind.LOG, {'message': 'x' * 100})\n"
    )
    run_script(sandbox, source, on_log=lines.append)
    assert len(lines) == 1001
    assert lines[-1].startswith("… and 4000 more lines")


def test_rows_are_written_to_a_file(sandbox: Sandbox) -> None:
    result = sandbox.run(SandboxJob("script", FILE, "result = b'rows' * 1000"), _Echo())
    assert result.kind == "arrow"
    assert result.arrow is not None
    assert result.arrow.read_bytes() == b"rows" * 1000
    result.arrow.unlink()


def test_a_value_that_is_too_long_is_refused(sandbox: Sandbox) -> None:
    error = failure(sandbox, f"result = 'x' * {2 * MIB}")
    assert error.reason == "exception"
    assert "too large" in str(error)


def test_jobs_run_at_the_same_time(sandbox: Sandbox) -> None:
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(run_script(sandbox, f"result = {n}"))) for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(6))
