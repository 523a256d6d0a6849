"""One process loads a table at a time; a process that is gone holds nothing back."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import pytest

from tidegate.chunks.table_lease import LEASE, TableLease, leased
from tidegate.errors import StorageError
from tidegate.state.liveness import process_identity
from tidegate.storage import Storage, open_storage

FOLDER = "silver/orders/.load"


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(tmp_path)


def holder(storage: Storage, name: str, **facts: object) -> str:
    path = f"{FOLDER}/{name}.json"
    own = {"host": socket.gethostname(), "pid": os.getpid(), "process": process_identity(os.getpid())}
    storage.write(path, json.dumps(own | facts).encode())
    return path


def files(storage: Storage) -> list[str]:
    return [file.path for file in storage.list(FOLDER)]


def test_the_table_is_free_again_afterwards(storage: Storage) -> None:
    for _ in range(2):
        with leased(storage, FOLDER) as lease:
            assert lease is not None
            lease.require()
            assert files(storage) == [lease.path]
    assert files(storage) == []


def test_second_process_gets_nothing_and_leaves_nothing(storage: Storage) -> None:
    path = holder(storage, "first")
    pauses: list[float] = []
    with leased(storage, FOLDER, pauses.append, lambda: 0.5) as lease:
        assert lease is None
    assert files(storage) == [path]
    assert len(pauses) == 2


def test_process_that_has_ended_is_replaced_at_once(storage: Storage) -> None:
    place = (process_identity(os.getpid()) or "").rpartition(" ")[0]
    holder(storage, "killed", process=f"{place} 1")
    with leased(storage, FOLDER) as lease:
        assert lease is not None
        assert files(storage) == [lease.path]


def test_process_of_another_machine_is_replaced_when_it_is_silent_for_long(storage: Storage, tmp_path: Path) -> None:
    path = holder(storage, "far", host="elsewhere")
    with leased(storage, FOLDER, lambda pause: None) as lease:
        assert lease is None
    old = (tmp_path / path).stat().st_mtime - LEASE.total_seconds() - 1
    os.utime(tmp_path / path, (old, old))
    with leased(storage, FOLDER) as lease:
        assert lease is not None


def test_what_another_version_wrote_is_not_taken_for_dead(storage: Storage) -> None:
    holder(storage, "newer", more=1)
    with leased(storage, FOLDER, lambda pause: None) as lease:
        assert lease is None


def test_process_that_was_taken_for_dead_is_told(storage: Storage) -> None:
    with leased(storage, FOLDER) as lease:
        assert lease is not None
        storage.delete(lease.path)
        with pytest.raises(StorageError, match="was silent for so long"):
            lease.require()


def test_process_of_this_machine_is_waited_for_while_it_lives(storage: Storage, tmp_path: Path) -> None:
    path = holder(storage, "asleep")
    old = (tmp_path / path).stat().st_mtime - LEASE.total_seconds() - 1
    os.utime(tmp_path / path, (old, old))
    with leased(storage, FOLDER, lambda pause: None) as lease:
        assert lease is None


def test_process_that_was_asleep_gives_up_by_itself(storage: Storage) -> None:
    now = 0.0
    lease = TableLease(storage, FOLDER, monotonic=lambda: now)
    assert lease.take() is None
    now = LEASE.total_seconds()
    lease.require()
    now += 1
    with pytest.raises(StorageError, match="was silent for so long"):
        lease.require()


def test_of_many_that_come_at_once_never_two_have_it(storage: Storage) -> None:
    holding, most, lock = 0, 0, threading.Lock()
    start = threading.Barrier(6)

    def load() -> None:
        nonlocal holding, most
        start.wait()
        lease = TableLease(storage, FOLDER)
        if lease.take() is None:
            with lock:
                holding += 1
                most = max(most, holding)
            lease.require()
            with lock:
                holding -= 1
            lease.release()

    for _ in range(20):
        threads = [threading.Thread(target=load) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most <= 1
    assert files(storage) == []
