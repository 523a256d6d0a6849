"""What a worker of Spark sends to the JVM, read before the JVM reads it.

The JVM believes its workers: it takes memory for every length that they name, and reads texts of Arrow batches wherever
their offsets lead, in all of its memory. So between the two stands a process that runs no code of the project. It keeps
Spark's settings from the worker, and passes on what PySpark's worker would send, with each batch checked and
rewritten; anything else ends the worker.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from typing import Any, NoReturn

from tidegate.python_models.sandbox.printable_text import printable
from tidegate.python_models.untrusted_arrow import CheckedStream

__all__ = ["relay"]

_NUMBER, _LONG = struct.Struct("!i"), struct.Struct("!q")
_END_OF_DATA, _EXCEPTION, _TIMING, _END_OF_STREAM, _ARROW = -1, -2, -3, -4, -6
_TIMES = 5 * _LONG.size
"""Behind _TIMING: three moments, and bytes that were spilled to memory and disk."""

_TASK = 4 * _NUMBER.size + _LONG.size
"""Stage, partition, attempt, the task's number (a long) and its processors."""

_LONGEST_PIECE = 256 << 20
_LONGEST_MESSAGE = 16 << 20
_MOST_ACCUMULATORS = 1000
_PART = 1 << 20


class _NoAnswerOfAWorkerError(Exception):
    pass


def relay(jvm: socket.socket, worker: socket.socket) -> NoReturn:
    """Until one of them is gone. Ends this process."""
    try:
        threading.Thread(target=_forward, args=(jvm, worker), daemon=True).start()
        _Answers(worker, jvm).pass_on()
    except OSError:
        pass
    except Exception as error:
        line = f"a function of the project sent nonsense to Spark, and was ended: {printable(str(error), 500)}\n"
        with contextlib.suppress(OSError):
            os.write(2, line.encode())
    finally:
        with contextlib.suppress(OSError):
            jvm.shutdown(socket.SHUT_RDWR)
        os._exit(0)


def _forward(jvm: socket.socket, worker: socket.socket) -> None:
    """What the JVM sends, but for the settings of Spark at its beginning: they hold passwords."""
    with contextlib.suppress(OSError):
        questions: Any = os.fdopen(os.dup(jvm.fileno()), "rb", 1 << 16)
        worker.sendall(_Beginning(questions).without_settings())
        while piece := questions.read1(_PART):
            worker.sendall(piece)
    with contextlib.suppress(OSError):
        worker.shutdown(socket.SHUT_WR)


class _Beginning:
    """Of what the JVM tells a worker of its task, up to the local properties, among which are all of Spark's settings.

    As `main` of pyspark.worker reads it.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._kept: list[bytes] = []

    def without_settings(self) -> bytes:
        self._number()  # the partition
        self._text()  # the version of Python
        if self._take(1) != b"\0":  # a barrier: a port or -1, and its secret or path
            self._number()
            self._text()
        self._take(_TASK)
        for _ in range(self._number()):  # resources
            self._text()
            self._text()
            for _ in range(self._number()):
                self._text()
        beginning = b"".join(self._kept)
        for _ in range(2 * self._number()):
            self._text()
        return beginning + _NUMBER.pack(0)

    def _number(self) -> int:
        return int(_NUMBER.unpack(self._take(_NUMBER.size))[0])

    def _text(self) -> None:
        self._take(self._number())

    def _take(self, length: int) -> bytes:
        data: bytes = self._source.read(length)
        if len(data) < length:
            raise OSError("the JVM closed the connection")
        self._kept.append(data)
        return data


class _Answers:
    """From the worker to the JVM."""

    closed = False  # for PyArrow, to which it is a file

    def __init__(self, worker: socket.socket, jvm: socket.socket) -> None:
        self._worker = worker
        self._jvm = jvm
        self._held = b""
        """Read and not taken yet."""

        self._waiting: list[bytes] = []
        """Written and not sent yet."""

    def pass_on(self) -> None:
        while True:
            number = self._number()
            if number >= 0:
                self._bytes(number, _LONGEST_PIECE)
            elif number == _ARROW:
                self._arrow()
            elif number == _TIMING:
                self._bytes(_TIMES, _TIMES)
            elif number == _EXCEPTION:
                self._bytes(self._number(), _LONGEST_MESSAGE)
            elif number == _END_OF_DATA:
                self._accumulators()
            elif number != _END_OF_STREAM:
                raise _NoAnswerOfAWorkerError(f"{number} is no length")

    def _accumulators(self) -> None:
        count = self._number()
        if not 0 <= count <= _MOST_ACCUMULATORS:
            raise _NoAnswerOfAWorkerError(f"{count} accumulators")
        for _ in range(count):
            self._bytes(self._number(), _LONGEST_MESSAGE)

    def _arrow(self) -> None:
        import pyarrow as pa

        stream = CheckedStream(pa.PythonFile(self, mode="r"))
        with pa.ipc.new_stream(pa.PythonFile(self, mode="w"), stream.schema) as writer:
            for batch in stream:
                writer.write_batch(batch)

    def _number(self) -> int:
        data = self._exactly(_NUMBER.size)
        self.write(data)
        return int(_NUMBER.unpack(data)[0])

    def _bytes(self, length: int, longest: int) -> None:
        if not 0 <= length <= longest:
            raise _NoAnswerOfAWorkerError(f"a length of {length}")
        while length:
            piece = self._exactly(min(length, _PART))
            self.write(piece)
            length -= len(piece)

    def _exactly(self, length: int) -> bytes:
        data = self.read(length)
        if len(data) < length:
            raise OSError("the worker ended")
        return data

    # As a file

    def read(self, length: int) -> bytes:
        if not 0 <= length <= _LONGEST_PIECE:
            raise _NoAnswerOfAWorkerError(f"a length of {length}")
        if len(self._held) < length:
            pieces, missing = [self._held], length - len(self._held)
            while missing > 0:
                self._send()
                piece = self._worker.recv(max(missing, 1 << 16) if missing < _PART else _PART)
                if not piece:
                    break
                pieces.append(piece)
                missing -= len(piece)
            self._held = b"".join(pieces)
        taken, self._held = self._held[:length], self._held[length:]
        return taken

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._waiting.append(piece)
        if len(piece) > _PART:
            self._send()
        return len(piece)

    def _send(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._jvm.sendall(b"".join(waiting))

    def flush(self) -> None:
        pass

    def close(self) -> None:
        """The sockets stay open."""
