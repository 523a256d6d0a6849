"""What a measured command took is that of the command and of all its children, and it cannot hang."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest
from benchmarks.usage import Usage, run_measured

BUSY = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def measure(code: str, folder: Path, limit: float = 60) -> Usage:
    return run_measured([sys.executable, "-c", code], folder, os.environ, limit)


def test_the_cpu_of_children_counts(tmp_path: Path) -> None:
    child = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY.format(seconds=0.3)!r}], check=True)"
    assert measure(child, tmp_path).cpu >= 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_the_cpu_of_a_child_that_ends_later_counts(tmp_path: Path) -> None:
    child = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {BUSY.format(seconds=0.3)!r}])"
    assert measure(child, tmp_path).cpu >= 0.3


def test_the_memory_of_a_process_counts(tmp_path: Path) -> None:
    assert measure("x = bytearray(200 * 2**20)", tmp_path).mib >= 200


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs Linux")
def test_the_memory_of_parent_and_child_is_added(tmp_path: Path) -> None:
    hold = f"x = bytearray(100 * 2**20)\n{BUSY.format(seconds=0.5)}"
    both = f"import subprocess, sys\nx = bytearray(100 * 2**20)\nsubprocess.run([sys.executable, '-c', {hold!r}])"
    assert measure(both, tmp_path).mib >= 200


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    endless = ["sh", "-c", "sh -c 'echo $$ > child; while :; do :; done'; true"]
    with pytest.raises(SystemExit, match="took longer than 1 s"):
        run_measured(endless, tmp_path, os.environ, 0.6)
    assert _ends(int((tmp_path / "child").read_text()))


def _ends(process: int) -> bool:
    """Whether a process that was killed is gone within ten seconds; the kernel takes its time."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def test_a_command_that_fails_is_told_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"ended with 3\nno such model"):
        measure("import sys\nprint('no such model')\nsys.exit(3)", tmp_path)
