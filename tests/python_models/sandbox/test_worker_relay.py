"""What passes from a worker to the JVM, with sockets in place of both."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable

import pyarrow as pa
import pytest

from tidegate.python_models.sandbox.worker_relay import relay

_ROWS = pa.table({"a": ["x", None, "z"], "b": [[1], [], None]})
_END = struct.pack("!i5q", -3, 1, 2, 3, 4, 5) + struct.pack("!ii", -1, 1) + struct.pack("!i", 3) + b"abc"


def _stream(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _relayed(sent: bytes) -> bytes:
    jvm, relays_jvm = socket.socketpair()
    worker, relays_worker = socket.socketpair()
    with jvm, worker:
        child = os.fork()
        if child == 0:
            jvm.close()
            worker.close()
            relay(relays_jvm, relays_worker)
        relays_jvm.close()
        relays_worker.close()
        sender = threading.Thread(target=_send, args=(worker, sent))
        sender.start()
        received = b""
        while piece := jvm.recv(1 << 16):
            received += piece
        os.waitpid(child, 0)
        sender.join()
    return received


def _send(worker: socket.socket, sent: bytes) -> None:
    with contextlib.suppress(OSError):  # it is refused before all of it is sent
        worker.sendall(sent)
        worker.shutdown(socket.SHUT_WR)


def test_what_a_worker_sends_passes() -> None:
    arrow = struct.pack("!i", -6) + _stream(_ROWS)
    for sent in (
        struct.pack("!i", 5) + b"12345" + struct.pack("!i", 0) + _END + struct.pack("!i", -4),
        arrow + _END + struct.pack("!i", -4),
        arrow + struct.pack("!i", -2) + struct.pack("!i", 4) + b"oops",
        struct.pack("!i", 3 << 20) + b"y" * (3 << 20) + _END + struct.pack("!i", -4),
    ):
        assert _relayed(sent) == sent


REFUSED: dict[str, Callable[[], bytes]] = {
    "a length": lambda: struct.pack("!i", 2_000_000_000),
    "an unknown number": lambda: struct.pack("!i", -7),
    "a long message": lambda: struct.pack("!ii", -2, 2_000_000_000),
    "a message of less than nothing": lambda: struct.pack("!ii", -2, -1),
    "many accumulators": lambda: struct.pack("!ii", -1, 1 << 30),
    "compressed": lambda: struct.pack("!i", -6) + _stream(_ROWS, compression="zstd"),
    "a dictionary": lambda: struct.pack("!i", -6) + _stream(pa.table({"a": pa.array(["x"]).dictionary_encode()})),
    "offsets that lead out": lambda: (
        struct.pack("!i", -6)
        + _stream(pa.table({"a": ["one", "two"]})).replace(struct.pack("<iii", 0, 3, 6), struct.pack("<iii", 0, 999, 6))
    ),
    "no Arrow data": lambda: struct.pack("!i", -6) + b"nonsense, and more of it",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_worker_would_send_ends_it(name: str) -> None:
    sent = REFUSED[name]()
    received = _relayed(sent + _END + struct.pack("!i", -4))
    assert len(received) < len(sent)
    assert struct.pack("<iii", 0, 999, 6) not in received


def _text(value: str) -> bytes:
    return struct.pack("!i", len(value)) + value.encode()


@pytest.mark.parametrize("barrier", [b"\0", b"\1" + struct.pack("!i", 4040) + _text("secret")])
def test_a_worker_is_told_its_task_without_the_settings_of_spark(barrier: bytes) -> None:
    task = struct.pack("!iiiqi", 1, 2, 3, 4, 5)
    resources = struct.pack("!i", 1) + _text("gpu") + _text("gpu") + struct.pack("!i", 2) + _text("0") + _text("1")
    beginning = struct.pack("!i", 7) + _text("3.11") + barrier + task + resources
    settings = _text("spark.hadoop.fs.s3a.secret.key") + _text("password") + _text("spark.app.name") + _text("x")
    rest = b"\0" * 100_000 + b"the end"
    jvm, relays_jvm = socket.socketpair()
    worker, relays_worker = socket.socketpair()
    with jvm, worker:
        child = os.fork()
        if child == 0:
            jvm.close()
            worker.close()
            relay(relays_jvm, relays_worker)
        relays_jvm.close()
        relays_worker.close()
        sender = threading.Thread(target=_send, args=(jvm, beginning + struct.pack("!i", 2) + settings + rest))
        sender.start()
        told = b""
        while piece := worker.recv(1 << 16):
            told += piece
        worker.close()
        os.waitpid(child, 0)
        sender.join()
    assert told == beginning + struct.pack("!i", 0) + rest
