"""The command's side: how it gets a lease of the worker's JVM, and how it notices that the JVM is gone.

The open connection is the lease. However the command ends, the system closes it, and the worker ends what is left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tidegate.worker.worker_folder import WorkerPlace
from tidegate.worker.worker_messages import MessageStream, WorkerSilentError, peer_process

__all__ = ["LeaseRequest", "WorkerLease", "ask_worker", "lease_worker"]

ANSWER_SECONDS = 2.0
"""A worker that answers nothing for so long hangs."""

_LEND_SECONDS = 15.0
"""For a lease of a JVM that runs: it may have to end first what a killed command left."""
_START_SECONDS = 10.0
"""Until a worker that was started listens."""
_DYING_SECONDS = 0.3
"""A process that is killed closes its connections before it gives up its place."""
_ATTEMPTS = 3
_PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class LeaseRequest:
    command: str
    keep_alive: float
    """Seconds."""


class _WorkerRefusedError(Exception):
    """It is about to end."""


class _WorkerFailedError(Exception):
    """Its JVM has ended, or did not start: the command's own says why."""


class WorkerLease:
    """`facts`: what the worker says of its JVM: `port`, `secret`, `process`."""

    def __init__(self, stream: MessageStream, name: str, facts: dict[str, Any], lock: int) -> None:
        self.name = name
        self.facts = facts
        self.exit_code: int | None = None
        """Of the JVM, where it ended first."""

        self._stream = stream
        self._lock = lock
        self._lost = False
        self._reading = threading.Lock()
        os.register_at_fork(after_in_child=self.close)  # a fork would keep the lease when this process is gone

    def lost_within(self, seconds: float) -> bool:
        """Whether the JVM is gone, or will be so soon. From any thread."""
        end = time.monotonic() + seconds
        while not self._lost:
            with self._reading:
                message = self._stream.next()
                self._note(message)
            if message is not None or self._lost:
                continue
            if not select.select([self._stream], [], [], max(0.0, end - time.monotonic()))[0]:
                return False
        return True

    def ask(self, what: str, seconds: float) -> dict[str, Any]:
        """Raises WorkerSilentError."""
        with self._reading:
            self._stream.send({"do": what})
            answer = self._stream.receive(seconds)
            self._note(answer)
        if "failed" in answer or "died" in answer:
            raise WorkerSilentError(str(answer.get("failed") or "the JVM ended"))
        return answer

    def report(self, what: str, because: str) -> None:
        """Something for which the worker has no answer."""
        with contextlib.suppress(WorkerSilentError):
            self._stream.send({"do": what, "because": because})

    def _note(self, message: dict[str, Any] | None) -> None:
        if message is not None and "died" in message:
            self.exit_code, self._lost = message["died"], True
        self._lost = self._lost or self._stream.closed

    def close(self) -> None:
        self._lost = True
        self._stream.close()
        with contextlib.suppress(OSError):
            os.close(self._lock)


def lease_worker(
    place: WorkerPlace,
    request: LeaseRequest,
    start: Callable[[], subprocess.Popen[bytes]],
    starting: Callable[[], None],
) -> WorkerLease | None:
    """A lease, from a worker that is started where none is there; None where there is no way to one.

    `starting` is called where the JVM does not run yet. A worker that hangs is killed, unless other commands use it.
    """
    for _ in range(_ATTEMPTS):
        lock = _shared_lock(place)
        stream: MessageStream | None = None
        try:
            connection = _connected(place) or _started(place, start)
            if connection is None:
                os.close(lock)
                return None
            stream = MessageStream(connection)
            return _asked(stream, request, starting, lock)
        except _WorkerRefusedError:
            _give_up(stream, lock)
            time.sleep(_PAUSE)
        except _WorkerFailedError:
            _give_up(stream, lock)
            return None
        except WorkerSilentError:
            _give_up(stream, lock)
            if not _killed(place):
                return None
        except BaseException:
            _give_up(stream, lock)
            raise
    return None


def ask_worker(place: WorkerPlace, what: str) -> dict[str, Any] | None:
    """The answer of the worker at `place`; None where none listens. Raises WorkerSilentError."""
    connection = _connected(place)
    if connection is None:
        return None
    with contextlib.closing(MessageStream(connection)) as stream:
        peer_process(connection)
        stream.send({"do": what})
        return stream.receive(ANSWER_SECONDS)


def _asked(stream: MessageStream, request: LeaseRequest, starting: Callable[[], None], lock: int) -> WorkerLease:
    process = os.getpid()
    stream.send({"do": "lease", "command": request.command, "keep_alive": request.keep_alive, "pid": process})
    answer = _accepted(stream.receive(ANSWER_SECONDS))
    name = str(answer["lease"])
    runs = answer.get("state") == "ready"
    if not runs:
        starting()
    facts = _accepted(stream.receive(_LEND_SECONDS if runs else None))
    return WorkerLease(stream, name, facts, lock)


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    if "refused" in answer:
        raise _WorkerRefusedError
    if "failed" in answer or "died" in answer:
        raise _WorkerFailedError
    return answer


def _connected(place: WorkerPlace) -> socket.socket | None:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(ANSWER_SECONDS)
        connection.connect(str(place.address))
        peer_process(connection)
    except (FileNotFoundError, ConnectionError):
        connection.close()
        return None
    except OSError as error:
        connection.close()
        raise WorkerSilentError(str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _started(place: WorkerPlace, start: Callable[[], subprocess.Popen[bytes]]) -> socket.socket | None:
    """The connection to the worker that `start` starts, or to that of another command which was quicker."""
    process, end = start(), time.monotonic() + _START_SECONDS
    while (connection := _connected(place)) is None:
        if time.monotonic() > end or (process.poll() is not None and not _is_locked(place)):
            return None
        time.sleep(_PAUSE)
    return connection


def _holder(place: WorkerPlace) -> int | None:
    """The number of the worker that holds the place, as it wrote it there."""
    with contextlib.suppress(OSError, ValueError):
        process = int(place.alive.read_text())
        return process if process > 1 else None
    return None


def _give_up(stream: MessageStream | None, lock: int) -> None:
    if stream is not None:
        stream.close()
    os.close(lock)


def _shared_lock(place: WorkerPlace) -> int:
    file = os.open(place.leased, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(file, fcntl.LOCK_SH)
    return file


@contextlib.contextmanager
def _lock_of(path: Any, kind: int) -> Iterator[bool]:
    """Whether the lock was free; it is held for the block."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(file)


def _is_locked(place: WorkerPlace) -> bool:
    with _lock_of(place.alive, fcntl.LOCK_SH) as free:
        return not free


def _killed(place: WorkerPlace) -> bool:
    """Kill a worker that does not answer, where no command but this one needs it; whether its place is free."""
    seconds = _DYING_SECONDS
    with _lock_of(place.leased, fcntl.LOCK_EX) as unused:
        process = _holder(place)
        if unused and process is not None and _is_locked(place):
            seconds = ANSWER_SECONDS
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    end = time.monotonic() + seconds
    while _is_locked(place) and time.monotonic() < end:
        time.sleep(_PAUSE)
    return not _is_locked(place)
