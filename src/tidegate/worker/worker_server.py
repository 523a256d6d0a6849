"""The worker's side: who has a lease of the JVM, and when the worker ends.

One thread answers commands, so that an answer never waits for Spark; another one, `work`, is the only one that talks to
the JVM: leases are given and ended one after the other, and a new one waits until the former's jobs have ended.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import select
import socket
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, Protocol

from tidegate.worker.worker_limits import WorkerLimits, WorkerUse
from tidegate.worker.worker_messages import MessageStream, WorkerSilentError, peer_process

__all__ = ["SparkHost", "WorkerFacts", "WorkerServer"]

_TICK_SECONDS = 1.0
_WORK_SECONDS = 20.0
"""For giving or ending a lease, both of which take a moment. A JVM that needs longer hangs."""
_START_SECONDS = 300.0
_REST_SECONDS = 2.0
"""Idle for so long, the JVM collects its garbage: a command that follows at once need not wait for that."""


class SparkHost(Protocol):
    """A JVM. Each of these may fail with any exception, and the worker then ends."""

    def start(self) -> None: ...

    def lend(self, lease: str) -> dict[str, Any]:
        """What the command needs to use the JVM."""

    def take_back(self, lease: str) -> str | None:
        """End what the lease left, and wait for that. Why no other command may use the JVM, or None."""

    def connect_server(self) -> dict[str, Any]: ...

    def rest(self) -> None: ...

    def memory(self) -> int: ...

    def exit_code(self) -> int | None:
        """None while it runs."""

    def wait(self) -> None:
        """Until it has ended; from any thread."""

    def end(self) -> None: ...


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    name: str
    project: str
    version: str


@dataclass(slots=True)
class _WorkerLease:
    name: str
    command: str
    process: int | None
    since: float
    lent: bool = False


@dataclass(slots=True)
class _Task:
    begun: float
    most: float
    done: Callable[[Future[Any]], None] = field(repr=False)


class WorkerServer:
    """`vanished`: why what the worker is for is gone, or None. `keep_alive`: seconds, until a command gives another."""

    def __init__(
        self,
        listener: socket.socket,
        host: SparkHost,
        facts: WorkerFacts,
        limits: WorkerLimits,
        keep_alive: float,
        work: Executor,
        vanished: Callable[[], str | None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._host = host
        self._facts = facts
        self._limits = limits
        self._keep_alive = keep_alive
        self._work = work
        self._vanished = vanished
        self._clock = clock
        self._began = self._used = clock()
        self._numbers = itertools.count()
        self._streams: dict[int, MessageStream] = {}
        self._leases: dict[int, _WorkerLease] = {}
        self._closing = 0
        self._count = 0
        self._tasks: dict[Future[Any], _Task] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._woken, self._wake = socket.socketpair()
        self._ready = False
        self._rested = True
        self.retiring: str | None = None
        """Why no lease is given any more."""

        self.ended: str | None = None

    def start(self) -> None:
        self._submit(self._host.start, self._started, most=_START_SECONDS)

    def step(self, seconds: float = _TICK_SECONDS) -> None:
        """Answer what has come, waiting `seconds` at most for something to come."""
        waiting: list[Any] = [self._listener, self._woken, *self._streams.values()]
        readable = select.select(waiting, [], [], seconds)[0]
        if self._woken in readable:
            self._woken.recv(4096)
        if self._listener in readable:
            self._accept()
        for number, stream in list(self._streams.items()):
            if stream in readable:
                self._read(number, stream)
        while not self._done.empty():
            future = self._done.get()
            self._tasks.pop(future).done(future)
        self._look_around()

    def close(self) -> None:
        """Let go of all commands, and wake none again."""
        for stream in self._streams.values():
            stream.close()
        for end in (self._listener, self._woken, self._wake):
            end.close()

    def end(self, reason: str) -> None:
        """Now, whoever uses it."""
        self._end(reason, {"died": None})
        self.notify()

    def notify(self) -> None:
        """End a wait in `step`: from any thread."""
        with contextlib.suppress(OSError):
            self._wake.send(b"\n")

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            connection = self._listener.accept()[0]
            try:
                peer_process(connection)
            except WorkerSilentError:
                connection.close()
                return
            self._streams[next(self._numbers)] = MessageStream(connection)

    def _read(self, number: int, stream: MessageStream) -> None:
        while (message := stream.next()) is not None:
            try:
                self._answer(number, stream, message)
            except WorkerSilentError:
                stream.closed = True
        if stream.closed:
            self._drop(number)

    def _answer(self, number: int, stream: MessageStream, message: dict[str, Any]) -> None:
        match message.get("do"):
            case "lease" if number not in self._leases:
                self._lease(number, stream, message)
            case "connect_server" if number in self._leases:
                self._submit(self._host.connect_server, lambda future: self._answered(number, future))
            case "broken" if number in self._leases:
                self._end(f"a command found the JVM broken: {message.get('because')}", {"died": None})
            case "status":
                stream.send(self.status())
            case "stop":
                self.retiring = self.retiring or "it was told to stop"
                stream.send(self.status())
            case _:
                stream.send({"refused": "this worker does not know that"})

    def status(self) -> dict[str, Any]:
        now = self._clock()
        busy = bool(self._leases or self._closing)
        return {
            "pid": os.getpid(),
            "name": self._facts.name,
            "project": self._facts.project,
            "version": self._facts.version,
            "state": "stopping" if self.retiring else "starting" if not self._ready else "busy" if busy else "idle",
            "age_seconds": round(now - self._began),
            "idle_seconds": 0 if busy else round(now - self._used),
            "keep_alive_seconds": round(self._keep_alive),
            "leases": [
                {"command": lease.command, "pid": lease.process, "seconds": round(now - lease.since)}
                for lease in self._leases.values()
            ],
            "leases_given": self._count,
            "memory_bytes": self._memory(),
        }

    def _lease(self, number: int, stream: MessageStream, message: dict[str, Any]) -> None:
        if self.retiring:
            stream.send({"refused": self.retiring})
            return
        self._count += 1
        keep_alive = message.get("keep_alive")
        if isinstance(keep_alive, int | float):
            self._keep_alive = float(keep_alive)
        process = message.get("pid")
        name = f"{self._count}-of-{self._facts.name}"
        lease = _WorkerLease(
            name, str(message.get("command", "")), process if isinstance(process, int) else None, self._clock()
        )
        self._leases[number] = lease
        stream.send({"state": "ready" if self._ready else "starting", "lease": name})
        self._submit(lambda: self._host.lend(name), lambda future: self._lent(number, lease, future), _START_SECONDS)

    def _started(self, future: Future[Any]) -> None:
        error = future.exception()
        if error is None:
            self._ready, self._used = True, self._clock()
        else:
            self._end(f"Spark did not start: {error}", {"failed": str(error)})

    def _lent(self, number: int, lease: _WorkerLease, future: Future[Any]) -> None:
        lease.lent = True
        if (error := future.exception()) is not None:
            self._end(f"the JVM gave no lease: {error}", {"failed": str(error)})
        elif self._leases.get(number) is lease:
            try:
                self._streams[number].send(future.result())
            except WorkerSilentError:
                self._drop(number)
        else:
            self._take_back(lease)

    def _answered(self, number: int, future: Future[Any]) -> None:
        error = future.exception()
        if number in self._leases:
            with contextlib.suppress(WorkerSilentError):
                self._streams[number].send({"failed": str(error)} if error is not None else future.result())

    def _drop(self, number: int) -> None:
        """The command is gone, or has got its answer."""
        stream, lease = self._streams.pop(number), self._leases.pop(number, None)
        stream.close()
        if lease is None:
            return
        self._closing += 1
        if lease.lent:
            self._take_back(lease)

    def _take_back(self, lease: _WorkerLease) -> None:
        self._submit(lambda: self._host.take_back(lease.name), self._taken_back)

    def _taken_back(self, future: Future[Any]) -> None:
        self._closing -= 1
        self._used, self._rested = self._clock(), False
        if (error := future.exception()) is not None:
            self._end(f"what a command left in the JVM did not end: {error}", {"failed": str(error)})
        elif reason := future.result():
            self.retiring = self.retiring or str(reason)

    def _submit(
        self, call: Callable[[], Any], done: Callable[[Future[Any]], None], most: float = _WORK_SECONDS
    ) -> None:
        future = self._work.submit(call)
        self._tasks[future] = _Task(self._clock(), most, done)
        future.add_done_callback(self._completed)

    def _completed(self, future: Future[Any]) -> None:
        self._done.put(future)
        self.notify()

    def _look_around(self) -> None:
        now = self._clock()
        if self.ended is not None:
            return
        if (code := self._host.exit_code()) is not None:
            self._end(f"the JVM ended with {code}", {"died": code})
        elif any(now - task.begun > task.most for task in self._tasks.values()):
            self._end("the JVM does not answer", {"died": None})
        else:
            self.retiring = self.retiring or self._vanished()
            if not self._leases and not self._closing and self._ready:
                self._look_idle(now)

    def _look_idle(self, now: float) -> None:
        use = WorkerUse(now - self._used, self._keep_alive, now - self._began, self._count, self._memory())
        reason = self.retiring or self._limits.exceeded(use)
        if reason is not None:
            self._end(reason, {"refused": reason})
        elif not self._rested and use.idle >= _REST_SECONDS:
            self._rested = True
            self._submit(self._host.rest, lambda future: None)

    def _memory(self) -> int:
        try:
            return self._host.memory()
        except Exception:  # a figure for people and for one of the limits
            return 0

    def _end(self, reason: str, message: dict[str, Any]) -> None:
        if self.ended is not None:
            return
        self.ended = reason
        for stream in self._streams.values():
            with contextlib.suppress(WorkerSilentError):
                stream.send(message, 0.2)
