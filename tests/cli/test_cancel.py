"""What `tidegate cancel` says, without a JVM."""

from __future__ import annotations

import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from tests.cli.calling import Call
from tidegate.state import RunRecord, open_state

NOON = datetime(2024, 6, 1, 12, 0, 0, tzinfo=UTC)
RUN = "run-20240601-120000-001"


def begin(project: Path, pid: int, host: str, beat: datetime = NOON, status: str = "running") -> None:
    with open_state(f"sqlite:///{project}/.tidegate/state.db") as store:
        run = RunRecord(RUN, "shop", "run", RUN, "run", NOON, "running", heartbeat_at=beat, pid=pid, host=host)
        store.start_run(run)
        if status != "running":
            store.finish_run(RUN, status, finished_at=NOON, duration_ms=5)


def gone() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_a_run_whose_process_is_gone_is_cancelled(project: Path, tidegate: Call) -> None:
    pid = gone()
    begin(project, pid, socket.gethostname())
    told = tidegate("cancel", RUN)
    where = f"process {pid} on {socket.gethostname()}"
    assert (told.code, told.out) == (0, f"{RUN} is cancelled after 0ms: Cancelled when {where} was gone\n")
    again = tidegate("cancel", RUN)
    assert again.code == 0
    assert again.out.startswith(f"{RUN} had ended already: cancelled, at 20")
    assert tidegate("history").out.splitlines()[2].split()[:2] == [RUN, "cancelled"]


def test_a_run_that_had_ended_is_told_with_its_end(project: Path, tidegate: Call) -> None:
    begin(project, 1, "elsewhere", status="success")
    told = tidegate("cancel", RUN)
    assert (told.code, told.out) == (1, f"{RUN} had ended already: success, at 2024-06-01 12:00:00 UTC\n")


def test_a_silent_run_elsewhere_is_told_with_what_to_do(project: Path, tidegate: Call) -> None:
    begin(project, 7, "elsewhere")
    told = tidegate("cancel", RUN, "--wait", "0")
    assert told.code == 1
    assert f"{RUN} was asked to end and has not yet (process 7 on elsewhere)" in told.out
    assert "no heartbeat since 2024-06-01 12:00:00 UTC" in told.out
    assert "`tidegate reap` fails the run 30 minutes after its last heartbeat" in told.out
    document = tidegate("cancel", RUN, "--wait", "0", "--json").document
    assert (document["run_id"], document["status"], document["ended"]) == (RUN, "running", False)


def test_a_live_run_that_takes_its_time_is_told_apart(project: Path, tidegate: Call) -> None:
    begin(project, 7, "elsewhere", beat=datetime.now(UTC))
    told = tidegate("cancel", RUN, "--wait", "0")
    assert told.code == 1
    assert "It is alive, and ends when it can" in told.out


def test_an_unknown_run_is_told_with_the_nearest(project: Path, tidegate: Call) -> None:
    begin(project, 7, "elsewhere")
    told = tidegate("cancel", "run-20240601-120000-002")
    assert told.code == 1
    assert f"Did you mean {RUN}?" in told.err
