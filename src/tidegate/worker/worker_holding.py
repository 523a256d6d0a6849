"""The life of a worker's process: from taking its address to leaving it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidegate.worker.worker_folder import WorkerPlace
from tidegate.worker.worker_limits import WorkerLimits
from tidegate.worker.worker_server import SparkHost, WorkerFacts, WorkerServer
from tidegate.worker.worker_start import WorkerOrder

__all__ = ["hold_jvm"]


def hold_jvm(order: WorkerOrder, start: Callable[[], SparkHost]) -> str | None:
    """Until there is no more use for it. Why it ended; None where another worker holds the place."""
    place = WorkerPlace(Path(order.folder), order.name)
    held = _HeldPlace(place)
    if not held.take():
        return None
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    listener = held.listen()
    host = start()
    work = ThreadPoolExecutor(max_workers=1)
    facts = WorkerFacts(order.name, order.project, order.version)
    limits = WorkerLimits(order.memory)
    server = WorkerServer(listener, host, facts, limits, order.keep_alive, work, lambda: _vanished(order, held))
    signal.signal(signal.SIGTERM, lambda *_: server.end("it was terminated"))
    threading.Thread(target=_watch, args=(host, server), daemon=True).start()
    try:
        server.start()
        while server.ended is None:
            server.step()
            if server.retiring:
                held.leave()
        return server.ended
    finally:
        held.leave()
        host.end()
        server.close()
        work.shutdown(wait=False)


class _HeldPlace:
    """The worker's address, from which no other worker can take it."""

    def __init__(self, place: WorkerPlace) -> None:
        self._place = place
        self._lock = os.open(place.alive, os.O_RDWR | os.O_CREAT, 0o600)
        self._socket: os.stat_result | None = None

    def take(self) -> bool:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        os.ftruncate(self._lock, 0)
        os.write(self._lock, str(os.getpid()).encode())
        return True

    def listen(self) -> socket.socket:
        self._place.address.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(self._place.address))
        listener.listen(64)
        self._socket = self._place.address.lstat()
        return listener

    def is_there(self) -> bool:
        try:
            now = self._place.address.lstat()
        except OSError:
            return False
        return self._socket is not None and now.st_ino == self._socket.st_ino

    def leave(self) -> None:
        """For the next worker. Commands that have a lease keep it."""
        if self._socket is None:
            return
        with contextlib.suppress(OSError):
            if self.is_there():
                self._place.address.unlink()
        self._socket = None
        os.close(self._lock)


def _vanished(order: WorkerOrder, place: _HeldPlace) -> str | None:
    if not Path(order.project).is_dir():
        return "the project's folder is gone"
    return None if place.is_there() else "its socket is gone"


def _watch(host: SparkHost, server: WorkerServer) -> None:
    host.wait()
    server.notify()
