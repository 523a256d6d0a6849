"""In place of `pyspark.daemon`: the same conversation with the JVM, but each worker is forked behind the walls.

The daemon itself never runs a function of the project. A worker's connection is made before its walls are up, and is
the only one that it ever has. The JVM knows each worker by its warden's number: killing that ends all of it.
"""

from __future__ import annotations

import contextlib
import hmac
import importlib
import os
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from tidegate.python_models.sandbox.link import FrameKind
from tidegate.python_models.sandbox.wall_trial import find_walls, missing_protection
from tidegate.python_models.sandbox.walls import WallPlan
from tidegate.python_models.sandbox.warden import Guarded, guard, guard_job
from tidegate.python_models.sandbox.worker_relay import relay

__all__ = ["main"]

_IDLE_SECONDS = 30.0
"""Spark has one daemon for each Connect session, and starts another one where it is gone."""

_HANDSHAKE_SECONDS = 10.0
_LONGEST_SECRET = 4096
_NUMBER = struct.Struct("!i")
_POLLRDHUP = 0x2000

Worker = Callable[[Any, Any], None]


def main(settings: dict[str, Any], arguments: Sequence[str]) -> None:
    """`arguments`: what the JVM says to Python: `-m pyspark.daemon`, and the module of the worker."""
    if len(arguments) != 3 or arguments[:2] != ["-m", "pyspark.daemon"] or not arguments[2].startswith("pyspark."):
        sys.exit(f"the sandbox runs only Spark's workers, not `{' '.join(arguments)}`")
    secret = os.environ.pop("PYTHON_WORKER_FACTORY_SECRET", "")
    worker: Worker = importlib.import_module(arguments[2]).main
    for name in ("pandas", "pyarrow"):
        importlib.import_module(name)
    plan = WallPlan.of({**settings, "scratch": tempfile.mkdtemp(dir=settings["scratch"])})
    trial = find_walls(plan, guard_job, ())
    if missing := missing_protection(trial):
        sys.exit(f'nothing here keeps functions of the project from {missing}; set [sandbox] udfs = "refuse"')
    _Daemon(replace(plan, walls=trial.active), worker, secret.encode()).serve()


class _Daemon:
    def __init__(self, plan: WallPlan, worker: Worker, secret: bytes) -> None:
        self._plan = plan
        self._worker = worker
        self._secret = secret
        self._wardens: dict[int, str] = {}
        """Their numbers, and each worker's folder."""

        self._path: str | None = None
        self._last_used = time.monotonic()

    def serve(self) -> None:
        """Until the JVM closes standard input, or for long asked for nothing."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        listener = self._listen()
        try:
            while self._wardens or time.monotonic() - self._last_used < _IDLE_SECONDS:
                ready = select.select([0, listener.fileno()], [], [], 1)[0]
                self._reap()
                if 0 in ready and not self._kill_one():
                    break
                if listener.fileno() in ready:
                    self._start(listener)
        finally:
            if self._path is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
            for warden in self._wardens:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(warden, signal.SIGKILL)
            for warden in list(self._wardens):
                os.waitpid(warden, 0)
                self._forget(warden)
            shutil.rmtree(self._plan.scratch, ignore_errors=True)

    def _listen(self) -> socket.socket:
        if os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED", "").lower() == "true":
            self._path = os.path.join(os.environ["PYTHON_WORKER_FACTORY_SOCK_DIR"], f".{uuid.uuid4()}.sock")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(self._path)
            address = self._path.encode()
            report = _NUMBER.pack(len(address)) + address
        else:
            six = os.environ.get("SPARK_PREFER_IPV6", "").lower() == "true"
            listener = socket.socket(socket.AF_INET6 if six else socket.AF_INET)
            listener.bind(("::1" if six else "127.0.0.1", 0))
            report = _NUMBER.pack(listener.getsockname()[1])
        listener.listen(1024)
        os.write(1, report)
        return listener

    def _kill_one(self) -> bool:
        """False where the JVM is gone."""
        number = os.read(0, _NUMBER.size)
        if len(number) < _NUMBER.size:
            return False
        warden = _NUMBER.unpack(number)[0]
        if warden in self._wardens:
            with contextlib.suppress(ProcessLookupError):
                os.kill(warden, signal.SIGKILL)
        return True

    def _start(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        scratch = tempfile.mkdtemp(dir=self._plan.scratch)
        daemon = os.getpid()
        with connection:
            try:
                warden = os.fork()
            except OSError as error:
                connection.sendall(_NUMBER.pack(-(error.errno or 1)))
                shutil.rmtree(scratch, ignore_errors=True)
                return
            if warden == 0:
                listener.close()
                self._be_warden(connection, scratch, daemon)
            self._wardens[warden] = scratch
            self._last_used = time.monotonic()

    def _be_warden(self, connection: socket.socket, scratch: str, daemon: int) -> NoReturn:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)
            os.dup2(2, 1)
            os.close(nothing)
            if self._greet(connection):
                guarded = Guarded(self._relayed(connection), self._work, connection, _POLLRDHUP, _report)
                guard(replace(self._plan, scratch=scratch), guarded, daemon)
        finally:
            os._exit(1)

    def _relayed(self, connection: socket.socket) -> socket.socket:
        """The worker's end of a link whose other end is a process that reads what it sends."""
        ours, theirs = socket.socketpair()
        warden = os.getpid()
        if os.fork() == 0:
            theirs.close()
            try:
                self._plan.enter_relay(warden, keep=[ours.fileno(), connection.fileno()])
                relay(connection, ours)
            finally:
                os._exit(1)
        ours.close()
        return theirs

    def _greet(self, connection: socket.socket) -> bool:
        """Before any wall and any function: the JVM learns the number, and shows that it knows the secret."""
        connection.settimeout(_HANDSHAKE_SECONDS)
        connection.sendall(_NUMBER.pack(os.getpid()))
        if self._path is None:
            length = _NUMBER.unpack(_exactly(connection, _NUMBER.size))[0]
            if not 0 <= length <= _LONGEST_SECRET:
                return False
            right = hmac.compare_digest(_exactly(connection, length), self._secret)
            answer = b"ok" if right else b"err"
            connection.sendall(_NUMBER.pack(len(answer)) + answer)
            if not right:
                return False
        self._secret = b""
        connection.settimeout(None)
        return True

    def _work(self, connection: socket.socket) -> int:
        size = int(os.environ.get("SPARK_BUFFER_SIZE", 65536))
        incoming = os.fdopen(os.dup(connection.fileno()), "rb", size)
        outgoing = os.fdopen(os.dup(connection.fileno()), "wb", size)
        os.environ["SPARK_LOCAL_DIRS"] = os.environ["TMPDIR"]
        code = 0
        try:
            self._worker(incoming, outgoing)
        except SystemExit as exit_request:
            code = exit_request.code if isinstance(exit_request.code, int) else 1
        with contextlib.suppress(OSError):
            outgoing.flush()
            while connection.recv(1024):  # the JVM closes it
                pass
        return code

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._forget(ended)

    def _forget(self, warden: int) -> None:
        if (scratch := self._wardens.pop(warden, None)) is not None:
            shutil.rmtree(scratch, ignore_errors=True)
            self._last_used = time.monotonic()


def _exactly(connection: socket.socket, length: int) -> bytes:
    pieces = b""
    while len(pieces) < length:
        piece = connection.recv(length - len(pieces))
        if not piece:
            raise OSError("the JVM closed the connection")
        pieces += piece
    return pieces


def _report(kind: FrameKind, header: dict[str, Any]) -> None:
    """Into Spark's log."""
    if kind is FrameKind.LOG:
        line = header["message"]
    elif kind is FrameKind.FAILURE:
        line = f"a wall of the sandbox could not be put up: {header['wall']}: {header['why']}"
    elif header.get("signal") not in (None, signal.SIGKILL):
        line = f"a function of the project was killed by {signal.Signals(header['signal']).name}"
    else:
        return
    with contextlib.suppress(OSError):
        os.write(2, f"{line}\n".encode())
