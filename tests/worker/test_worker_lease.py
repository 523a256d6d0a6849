"""How commands get leases from workers that are processes: started, shared, replaced, and gone."""

from __future__ import annotations

import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from tests.waiting import eventually
from tests.worker.conftest import Workers
from tidegate.errors import SetupError
from tidegate.worker import worker_lease
from tidegate.worker.worker_folder import private_folder, project_folder, worker_places
from tidegate.worker.worker_lease import ask_worker
from tidegate.worker.worker_messages import WorkerSilentError


def test_the_first_command_starts_a_worker_and_the_next_one_shares_it(workers: Workers) -> None:
    first, second = workers.lease(), workers.lease()
    assert first is not None
    assert second is not None
    assert first.facts["port"] == 4711
    assert len(workers.started) == 1
    assert [place.name for place in worker_places(workers.root)] == ["a" * 16]


def test_a_command_that_ends_in_any_way_ends_its_lease(workers: Workers) -> None:
    lease = workers.lease()
    assert lease is not None
    lease.close()
    assert eventually(lambda: workers.called("take_back 1-of-"))


def test_a_worker_of_another_configuration_is_another_worker(workers: Workers) -> None:
    assert workers.lease() is not None
    assert workers.lease(name="b" * 16) is not None
    assert len(workers.started) == 2


def test_two_commands_that_start_one_at_once_get_the_same(workers: Workers) -> None:
    threads = [threading.Thread(target=workers.lease) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(workers.leases) == 3
    assert eventually(lambda: sum(process.poll() is None for process in workers.started) == 1)


def test_one_that_was_killed_is_replaced(workers: Workers) -> None:
    lease = workers.lease()
    assert lease is not None
    os.kill(workers.started[0].pid, signal.SIGKILL)
    assert lease.lost_within(5)
    assert workers.lease() is not None
    assert len(workers.started) == 2


def test_one_that_answers_nothing_is_killed_and_replaced(workers: Workers) -> None:
    lease = workers.lease()
    assert lease is not None
    lease.close()
    assert eventually(lambda: workers.called("take_back"))
    os.kill(workers.started[0].pid, signal.SIGSTOP)
    assert workers.lease() is not None
    assert workers.started[0].wait(5) == -signal.SIGKILL


def test_one_that_answers_nothing_but_is_in_use_is_left_alone(workers: Workers) -> None:
    assert workers.lease() is not None
    os.kill(workers.started[0].pid, signal.SIGSTOP)
    assert workers.lease() is None
    assert workers.started[0].poll() is None


def test_one_whose_jvm_hangs_is_killed_and_replaced(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_lease, "_LEND_SECONDS", 0.3)
    lease = workers.lease({"take_back": "hang"})
    assert lease is not None
    lease.close()
    assert eventually(lambda: workers.called("take_back"))
    assert workers.lease() is not None
    assert workers.started[0].wait(5) == -signal.SIGKILL


def test_without_a_worker_that_starts_there_is_no_lease(workers: Workers) -> None:
    assert workers.lease({"start": "fail: no memory"}) is None
    assert len(workers.started) == 1
    assert eventually(lambda: workers.called("end"))


def test_one_that_is_about_to_end_makes_room_for_the_next(workers: Workers) -> None:
    """It goes on for the command that has it."""
    first = workers.lease()
    assert first is not None
    ask_worker(workers.place(), "stop")
    second = workers.lease()
    assert second is not None
    assert len(workers.started) == 2
    assert not first.lost_within(0)
    first.close()
    assert workers.started[0].wait(5) == 0


def test_one_whose_socket_is_removed_ends(workers: Workers) -> None:
    lease = workers.lease()
    assert lease is not None
    workers.place().address.unlink()
    lease.close()
    assert workers.started[0].wait(10) == 0
    assert eventually(lambda: workers.called("ended: its socket is gone"))


def test_one_whose_project_is_removed_ends(workers: Workers, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    other = Workers(project)
    other.log = workers.log
    lease = other.lease()
    workers.started += other.started
    assert lease is not None
    project.rmdir()
    lease.close()
    assert other.started[0].wait(10) == 0
    assert workers.called("ended: the project's folder is gone")


def test_an_interrupt_at_the_terminal_is_not_for_the_worker(workers: Workers) -> None:
    assert workers.lease() is not None
    assert os.getsid(workers.started[0].pid) == workers.started[0].pid != os.getsid(0)
    os.kill(workers.started[0].pid, signal.SIGINT)
    status = workers.status()
    assert status is not None
    assert status["state"] == "busy"


def test_the_lease_of_a_process_is_not_held_by_its_forks(workers: Workers) -> None:
    lease = workers.lease()
    assert lease is not None
    child = os.fork()
    if child == 0:
        threading.Event().wait(30)
        os._exit(0)
    try:
        lease.close()
        assert eventually(lambda: workers.called("take_back"))
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_where_none_listens_there_is_no_answer(workers: Workers) -> None:
    assert workers.status() is None
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(workers.place().address))
    assert workers.status() is None


@pytest.mark.parametrize("rights", [0o755, 0o770, 0o701])
def test_a_folder_that_others_can_open_is_not_used(tmp_path: Path, rights: int) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(rights)
    with pytest.raises(SetupError, match="not this user's alone"):
        private_folder(folder)


def test_a_link_is_not_used_as_the_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(SetupError, match="not this user's alone"):
        private_folder(tmp_path / "link")


def test_a_path_that_is_too_long_for_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 80)
    deep.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    with pytest.raises(SetupError, match="bytes"):
        project_folder(tmp_path)


def test_a_worker_of_another_user_is_none(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    assert workers.lease() is not None
    monkeypatch.setattr("tidegate.worker.worker_messages.os.getuid", lambda: os.geteuid() + 1)
    with pytest.raises((WorkerSilentError, SetupError)):
        workers.status()
