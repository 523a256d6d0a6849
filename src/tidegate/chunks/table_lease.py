"""Who loads a table: one process at a time, on every machine that shares the storage.

Each process that wants the table writes a file of its own beside it, then lists the others: of two that come together
at least one sees the other, and a process that sees a living one withdraws. No clock of a machine counts: the age of a
file is measured against the one just written, on the storage's own clock.
"""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta

from tidegate.errors import FailureKind, StorageError
from tidegate.state.liveness import process_identity, process_is_alive
from tidegate.storage import Storage, StoredFile

__all__ = ["LEASE", "TableLease", "leased"]

LEASE = timedelta(minutes=2)
"""A process that has not renewed its file for so long is taken for dead."""

_RENEWALS_PER_LEASE = 4
_TRIES = 3


@dataclass(frozen=True, slots=True)
class _Holder:
    host: str
    pid: int
    process: str | None


@dataclass(slots=True)
class TableLease:
    storage: Storage
    folder: str
    holder: str = field(default_factory=lambda: uuid.uuid4().hex)
    monotonic: Callable[[], float] = time.monotonic
    _renewed: float = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.holder}.json"

    def take(self) -> StoredFile | None:
        """None: this process has the table now. Else the file of the process that has it."""
        self.renew()
        files = {file.path: file for file in self.storage.list(self.folder)}
        own = files.pop(self.path, None)
        for file in files.values():
            if own is None or not self._is_abandoned(file, own):
                self.release()
                return file
        for path in files:
            self.storage.delete(path)
        return None

    def renew(self) -> None:
        holder = _Holder(socket.gethostname(), os.getpid(), process_identity(os.getpid()))
        began = self.monotonic()
        self.storage.write(self.path, json.dumps(asdict(holder)).encode())
        self._renewed = began

    def require(self) -> None:
        """Raises StorageError where another process has taken this one for dead, or may have."""
        if self._is_over() or not self.storage.exists(self.path):
            raise StorageError(
                "this process was silent for so long that another one may load the table now",
                where=f"{self.storage.location}/{self.folder}",
                remedy="look at its result with `tidegate chunks status`; what is left is loaded by the next load",
                kind=FailureKind.CONFLICT,
            )

    def keep(self) -> None:
        """Renew until it is released; for a thread."""
        while not self._ended.wait(LEASE.total_seconds() / _RENEWALS_PER_LEASE):
            with suppress(StorageError, FileNotFoundError):
                if self._is_over() or not self.storage.exists(self.path):
                    return
                self.renew()

    def release(self) -> None:
        self._ended.set()
        self.storage.delete(self.path)

    def _is_over(self) -> bool:
        """It was asleep, or the storage could not be reached."""
        return self.monotonic() - self._renewed > LEASE.total_seconds()

    def _is_abandoned(self, file: StoredFile, own: StoredFile) -> bool:
        alive = None
        try:
            alive = process_is_alive(_Holder(**json.loads(self.storage.read(file.path))))
        except FileNotFoundError:
            return True
        except (ValueError, TypeError):  # another version wrote it
            pass
        # A process of this machine that is alive wakes up where it stood; of any other only the silence is known.
        return own.modified - file.modified > LEASE if alive is None else not alive


@contextmanager
def leased(
    storage: Storage,
    folder: str,
    sleep: Callable[[float], None] = time.sleep,
    chance: Callable[[], float] = random.random,
) -> Iterator[TableLease | None]:
    """None: another process has it. Two that came together, and both withdrew, try again after different pauses."""
    lease = TableLease(storage, folder)
    for attempt in range(1, _TRIES + 1):
        if lease.take() is None:
            break
        if attempt == _TRIES:
            yield None
            return
        sleep(0.05 + 0.2 * chance())
        lease = TableLease(storage, folder)
    keeper = threading.Thread(target=lease.keep, name="table-lease", daemon=True)
    keeper.start()
    try:
        yield lease
    finally:
        lease.release()
        keeper.join()
