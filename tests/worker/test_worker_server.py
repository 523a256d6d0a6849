"""Leases, limits and endings of a worker, with a clock that the tests move and a JVM that is none."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from tests.worker.fake_host import MUCH, FakeHost
from tidegate.worker.worker_limits import WorkerLimits
from tidegate.worker.worker_messages import MessageStream
from tidegate.worker.worker_server import WorkerFacts, WorkerServer


class AtOnce(Executor):
    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Never(Executor):
    """Of a JVM that hangs."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


class Bench:
    """`tick`: time passes, and the server looks at what has come."""

    def __init__(self, folder: Path) -> None:
        self.address = folder / "s"
        self.now = 1000.0
        self.gone: str | None = None
        self.host = FakeHost()
        self.servers: list[WorkerServer] = []
        self.streams: list[MessageStream] = []

    def server(self, limits: WorkerLimits = MUCH, keep_alive: float = 600, work: Executor | None = None) -> Bench:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self.address))
        listener.listen()
        facts = WorkerFacts("w", "/shop", "1.0")
        server = WorkerServer(
            listener, self.host, facts, limits, keep_alive, work or AtOnce(), lambda: self.gone, lambda: self.now
        )
        self.servers.append(server)
        server.start()
        self.tick()
        return self

    def tick(self, seconds: float = 0) -> None:
        self.now += seconds
        for _ in range(4):
            self.servers[-1].step(0)

    @property
    def ended(self) -> str | None:
        return self.servers[-1].ended

    def say(self, stream: MessageStream | None = None, **message: Any) -> tuple[MessageStream, list[dict[str, Any]]]:
        if stream is None:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(self.address))
            stream = MessageStream(connection)
            self.streams.append(stream)
        stream.send(message)
        self.tick()
        return stream, heard(stream)

    def lease(self, **more: Any) -> MessageStream:
        stream, answers = self.say(do="lease", command="sql", **more)
        assert answers[-1]["port"] == 4711, answers
        return stream

    def leave(self, stream: MessageStream) -> None:
        stream.close()
        self.tick()


def heard(stream: MessageStream) -> list[dict[str, Any]]:
    answers = []
    while (message := stream.next()) is not None:
        answers.append(message)
    return answers


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for each in (*bench.streams, *bench.servers):
        each.close()


def test_a_closed_connection_ends_its_lease(bench: Bench) -> None:
    bench.server()
    first, second = bench.lease(), bench.lease()
    bench.leave(first)
    assert bench.host.calls == ["start", "lend 1-of-w", "lend 2-of-w", "take_back 1-of-w"]
    assert bench.say(do="status")[1][0]["state"] == "busy"
    bench.leave(second)
    assert bench.say(do="status")[1][0]["state"] == "idle"


def test_the_status_names_who_uses_it(bench: Bench) -> None:
    bench.server()
    bench.lease(pid=12)
    bench.tick(5)
    status = bench.say(do="status")[1][0]
    assert status["leases"] == [{"command": "sql", "pid": 12, "seconds": 5}]
    assert (status["pid"], status["age_seconds"], status["idle_seconds"]) == (os.getpid(), 5, 0)


def test_it_ends_after_idle_time_that_the_last_command_set(bench: Bench) -> None:
    bench.server(keep_alive=5)
    lease = bench.lease(keep_alive=60)
    bench.tick(1000)
    assert bench.ended is None
    bench.leave(lease)
    bench.tick(59)
    assert bench.ended is None
    bench.tick(1)
    assert bench.ended == "no command used it for 60 s"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (WorkerLimits(memory=10 << 20), "it holds 20 MiB, more than 10 MiB"),
        (WorkerLimits(memory=1 << 40, leases=1), "it has served 1 commands"),
        (WorkerLimits(memory=1 << 40, age=3600), "it is 1 hours old"),
    ],
)
def test_each_limit_ends_it_between_two_commands(bench: Bench, limits: WorkerLimits, reason: str) -> None:
    bench.server(limits, keep_alive=1e9)
    lease = bench.lease()
    bench.host.held = 20 << 20
    bench.tick(3600)
    assert bench.ended is None
    bench.leave(lease)
    assert bench.ended == reason


def test_one_that_was_told_to_stop_serves_its_commands_to_their_end(bench: Bench) -> None:
    bench.server()
    lease = bench.lease()
    assert bench.say(do="stop")[1][0]["state"] == "stopping"
    assert bench.say(do="lease")[1] == [{"refused": "it was told to stop"}]
    assert bench.ended is None
    bench.leave(lease)
    assert bench.ended == "it was told to stop"


def test_it_ends_when_its_project_is_gone(bench: Bench) -> None:
    bench.server()
    bench.gone = "the project's folder is gone"
    bench.tick()
    assert bench.ended == "the project's folder is gone"


def test_what_cannot_be_undone_in_the_jvm_ends_it(bench: Bench) -> None:
    bench.server()
    lease, other = bench.lease(), bench.lease()
    bench.host.plan["take_back"] = "a command changed settings that all share"
    bench.leave(lease)
    assert bench.ended is None
    bench.leave(other)
    assert bench.ended == "a command changed settings that all share"


def test_work_of_a_killed_command_that_does_not_end_takes_the_jvm_with_it(bench: Bench) -> None:
    """Or it could write to a branch that another command works on by then."""
    bench.server()
    lease, other = bench.lease(), bench.lease()
    bench.host.plan["take_back"] = "fail: still there"
    bench.leave(lease)
    assert bench.ended == "what a command left in the JVM did not end: fail: still there"
    assert heard(other) == [{"failed": "fail: still there"}]


def test_a_jvm_that_dies_is_reported_to_its_commands(bench: Bench) -> None:
    bench.server()
    lease = bench.lease()
    bench.host.code = 52
    bench.tick()
    assert heard(lease) == [{"died": 52}]
    assert bench.ended == "the JVM ended with 52"


def test_a_jvm_that_a_command_found_broken_is_ended(bench: Bench) -> None:
    bench.server()
    lease, other = bench.lease(), bench.lease()
    bench.say(lease, do="broken", because="it lost its thread")
    assert heard(other) == [{"died": None}]
    assert bench.ended == "a command found the JVM broken: it lost its thread"


def test_a_spark_that_does_not_start_is_reported(bench: Bench) -> None:
    bench.host.plan["start"] = "fail: no memory"
    bench.server()
    assert bench.ended == "Spark did not start: fail: no memory"


def test_a_jvm_that_hangs_ends_it_while_it_answers_commands(bench: Bench) -> None:
    bench.server(work=Never())
    stream, answers = bench.say(do="lease")
    assert [answer["state"] for answer in answers] == ["starting"]
    assert bench.say(do="status")[1][0]["state"] == "starting"
    bench.tick(301)
    assert heard(stream) == [{"died": None}]
    assert bench.ended == "the JVM does not answer"


def test_it_collects_garbage_when_no_command_followed_at_once(bench: Bench) -> None:
    bench.server()
    bench.leave(bench.lease())
    bench.leave(bench.lease())
    assert "rest" not in bench.host.calls
    bench.tick(3)
    bench.tick(3)
    assert bench.host.calls.count("rest") == 1


def test_the_connect_server_is_for_commands_with_a_lease(bench: Bench) -> None:
    bench.server()
    assert bench.say(do="connect_server")[1] == [{"refused": "this worker does not know that"}]
    assert bench.say(bench.lease(), do="connect_server")[1] == [{"address": "127.0.0.1:1", "token": "t"}]


@pytest.mark.parametrize("line", [b"{}\n", b"[1]\n", b"no json\n", b'{"do": 7}\n', b"x" * (1 << 20), b""])
def test_nonsense_ends_only_its_own_connection(bench: Bench, line: bytes) -> None:
    bench.server()
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(str(bench.address))
    connection.setblocking(False)
    while line:
        try:
            line = line[connection.send(line) :]
        except BlockingIOError:
            bench.tick()
        except BrokenPipeError:
            break
    connection.close()
    bench.tick()
    assert bench.ended is None
    bench.lease()
