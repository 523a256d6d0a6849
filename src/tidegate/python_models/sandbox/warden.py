"""The two processes that stand between the sandbox's parent process and one job.

    zygote ── warden ── init ── job

The warden is outside the walls. It ends the job when Tidegate closes the status socket or is gone, forwards what
the job prints, and reports how it ended. The init is the first process of the job's process namespace: when it ends,
the kernel kills everything in there. Each is killed by the kernel when the one before it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from tidegate.python_models.sandbox.link import FrameKind, Link
from tidegate.python_models.sandbox.wall_trial import try_walls
from tidegate.python_models.sandbox.walls import WallError, WallPlan

__all__ = ["Guarded", "guard", "guard_job"]

_LONGEST_LINE = 4096
_MOST_OUTPUT = 64 * 1024
"""Bytes of what a job prints that are forwarded."""

_TOO_MUCH_OUTPUT = 64 << 20
"""Bytes beyond that, at which the job is ended."""


@dataclass(frozen=True, slots=True)
class Guarded:
    end: socket.socket | None
    """The job's own; None only tries the walls."""

    work: Callable[[socket.socket], int]
    """What it does with that; its exit status."""

    watched: socket.socket
    """The job is ended when it has `events`."""

    events: int
    report: Callable[[FrameKind, dict[str, Any]], None]


def guard_job(plan: WallPlan, end: socket.socket | None, status: socket.socket, zygote: int) -> NoReturn:
    """Called in a fork of the zygote."""
    guard(plan, Guarded(end, _run_job, status, select.POLLIN, Link(status, 1 << 20).send), zygote)


def guard(plan: WallPlan, guarded: Guarded, parent: int) -> NoReturn:
    """Called in a fork of `parent`."""
    code = 1
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        try:
            plan.enter_warden(parent)
            _Warden(plan, guarded).run()
            code = 0
        except WallError as error:
            guarded.report(FrameKind.FAILURE, {"wall": error.wall, "why": error.why})
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"sandbox: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)


class _Warden:
    def __init__(self, plan: WallPlan, guarded: Guarded) -> None:
        self._plan = plan
        self._guarded = guarded
        self._report = guarded.report
        self._line = b""
        self._forwarded = 0
        self._dropped = 0
        self._ended: dict[str, Any] = {}

    def run(self) -> None:
        news, news_end = os.pipe()
        output, output_end = os.pipe()
        init = os.fork()
        if init == 0:
            os.close(news)
            os.close(output)
            self._guarded.watched.close()
            _be_init(self._plan, self._guarded, news_end, output_end)
        os.close(news_end)
        os.close(output_end)
        if self._guarded.end is not None:
            self._guarded.end.close()
        try:
            self._watch(news, output)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(init, signal.SIGKILL)
            os.waitpid(init, 0)
            self._plan.kill_rest()
        self._read_rest(output)
        self._report(FrameKind.RESULT, self._ended)

    def _watch(self, news: int, output: int) -> None:
        """Until the init has ended, or Tidegate wants the job to."""
        poll = select.poll()
        for descriptor in (news, output):
            poll.register(descriptor, select.POLLIN)
        poll.register(self._guarded.watched, self._guarded.events)
        rest = b""
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == output:
                    if not self._forward(os.read(output, 1 << 16)):
                        poll.unregister(output)
                    if self._dropped > _TOO_MUCH_OUTPUT:
                        self._ended["output"] = True
                        return
                elif descriptor == news:
                    piece = os.read(news, 1 << 16)
                    rest += piece
                    *lines, rest = rest.split(b"\n")
                    for line in lines:
                        self._take(json.loads(line))
                    if not piece:
                        return
                else:
                    return

    def _take(self, message: dict[str, Any]) -> None:
        if "wall" in message:
            self._report(FrameKind.FAILURE, message)
        else:
            self._ended |= message

    def _forward(self, piece: bytes) -> bool:
        *lines, self._line = (self._line + piece).split(b"\n")
        for line in lines:
            self._log(line)
        if len(self._line) > _LONGEST_LINE:
            self._log(self._line)
            self._line = b""
        return bool(piece)

    def _log(self, line: bytes) -> None:
        if self._forwarded + len(line) > _MOST_OUTPUT:
            self._dropped += len(line) + 1
            return
        self._forwarded += len(line) + 1
        if len(line) > _LONGEST_LINE:
            self._dropped += len(line) - _LONGEST_LINE
        self._report(FrameKind.LOG, {"message": line[:_LONGEST_LINE].decode(errors="replace")})

    def _read_rest(self, output: int) -> None:
        """What is in the pipe; nothing writes to it any more."""
        os.set_blocking(output, False)
        with contextlib.suppress(BlockingIOError):
            while self._forward(os.read(output, 1 << 16)):
                pass
        if self._line:
            self._log(self._line)
        if self._dropped:
            self._ended["dropped"] = self._dropped


def _be_init(plan: WallPlan, guarded: Guarded, news: int, output: int) -> NoReturn:
    try:
        plan.enter_init()
        os.write(news, b"{}\n")  # fails where the warden has ended already
        init = os.getpid()
        job = os.fork()
        if job == 0:
            _be_job(plan, guarded, news, output, init)
        os.close(output)
        if guarded.end is not None:
            guarded.end.close()
        status, usage = _wait(job)
        ended = {
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "cpu": usage.ru_utime + usage.ru_stime,
            "memory": usage.ru_maxrss * 1024,
        }
        _send(news, ended)
    except WallError as error:
        _send(news, {"wall": error.wall, "why": error.why})
    finally:
        os._exit(0)


def _wait(job: int) -> tuple[int, Any]:
    while True:
        pid, status, usage = os.wait4(-1, 0)
        if pid == job:
            return status, usage


def _be_job(plan: WallPlan, guarded: Guarded, news: int, output: int, init: int) -> NoReturn:
    code, end = 1, guarded.end
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)
        plan.enter_job(init, keep=[news] if end is None else [news, end.fileno()])
        if end is None:
            _send(news, {"leaks": try_walls(plan)})
            code = 0
        else:
            os.close(news)
            code = guarded.work(end)
    except WallError as error:
        _send(news, {"wall": error.wall, "why": error.why})
    finally:
        os._exit(code)


def _run_job(end: socket.socket) -> int:
    from tidegate.python_models.sandbox.child_main import run_job

    return run_job(end)


def _send(news: int, message: dict[str, Any]) -> None:
    os.write(news, json.dumps(message).encode() + b"\n")
