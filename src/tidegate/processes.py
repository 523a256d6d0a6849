"""Child processes that do not outlive this one, however it ends: each has a guard, which lives in its process group.

The guard reads a pipe whose other end only this process holds. When this process is gone, killed or not, the guard
reads the end of the pipe and ends the group: SIGTERM first, SIGKILL after two seconds. No system call of one platform
is needed, and there is no moment at which a child has started and is not guarded.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

__all__ = ["GRACE_SECONDS", "end", "end_all", "kill", "release", "start"]

GRACE_SECONDS = 2.0
"""How long a process may take to end after SIGTERM."""

_GROUP_VARIABLE = "TIDEGATE_PROCESS_GROUP"
"""In the environment of a process whose whole group is guarded: what it starts stays in that group."""

# `$$` is the number of the outer shell, also inside the parentheses, and of the command that it becomes: the leader of
# the group. A line on the pipe means that the command has ended by itself.
_GUARD = """\
exec 3<&0
(
  trap '' HUP INT QUIT TERM
  read -r line <&3 && exit
  kill -TERM 0
  tries=0
  while [ $tries -lt 20 ] && kill -0 $$; do sleep 0.1; tries=$((tries + 1)); done
  kill -KILL 0
) </dev/null >/dev/null 2>&1 &
input=$1
shift
if [ "$input" = pipe ]; then exec "$@" 3<&-; fi
exec "$@" <"$input" 3<&-
"""

_lock = threading.Lock()
_running: set[subprocess.Popen[bytes]] = set()


def start(
    command: Sequence[str],
    *,
    stdin: Path | None = None,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] = subprocess.STDOUT,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    reads_pipe: bool = False,
    together: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session and group of its own. Its stdin is the file `stdin`, or empty.

    `reads_pipe`: its stdin is the guard's pipe, so that it notices by itself when this process has ended.
    `together`: what it starts by this function stays in its group, and ends with it.
    Raises OSError where the command cannot be started.
    """
    environment = dict(os.environ if env is None else env)
    _require(command[0], cwd, environment)
    grouped = bool(os.environ.get(_GROUP_VARIABLE))
    environment.pop(_GROUP_VARIABLE, None)
    if together or grouped:
        environment[_GROUP_VARIABLE] = "1"
    source = "pipe" if reads_pipe else str(stdin or os.devnull)
    process = subprocess.Popen(
        _in_group(source, command) if grouped else ["/bin/sh", "-c", _GUARD, "tidegate-guard", source, *command],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=environment,
        start_new_session=not grouped,
    )
    with _lock:
        _running.add(process)
    return process


def release(process: subprocess.Popen[bytes]) -> None:
    """For a command that has ended by itself: its guard ends, and what it left running may continue."""
    with contextlib.suppress(OSError, ValueError):
        assert process.stdin is not None
        os.write(process.stdin.fileno(), b"\n")
    _close(process)


def end(process: subprocess.Popen[bytes], grace: float = GRACE_SECONDS) -> None:
    """End the process and all of its group: SIGTERM first, then SIGKILL. Returns when it has ended. Where a signal
    interrupts this, `end_all` ends the rest of the group."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        _close_pipe(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
    if process in _running:  # its guard still holds the group, so that no other one can have its number
        _signal(process, signal.SIGKILL)
    process.wait()
    _close(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all of its group. The process itself may have ended: its guard still holds the group."""
    _signal(process, signal.SIGKILL)
    process.wait()
    _close(process)


def end_all() -> None:
    """End all processes that were started and have not ended."""
    with _lock:
        left = list(_running)
    for process in left:
        end(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    with _lock:
        _running.discard(process)
    _close_pipe(process)


def _close_pipe(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError, ValueError):
        assert process.stdin is not None
        process.stdin.close()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To its group, or to it alone where it shares the group of this process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.environ.get(_GROUP_VARIABLE):
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)


def _in_group(source: str, command: Sequence[str]) -> list[str]:
    if source == "pipe":
        return list(command)
    return ["/bin/sh", "-c", 'input=$1; shift; exec "$@" <"$input"', "sh", source, *command]


def _require(program: str, cwd: Path | None, env: Mapping[str, str]) -> None:
    """The shell in between would report a missing program only by an exit code."""
    path = str(cwd / program) if cwd is not None and os.sep in program else program
    if shutil.which(path, path=env.get("PATH", os.defpath)) is not None:
        return
    number = errno.EACCES if os.sep in program and os.path.exists(path) else errno.ENOENT
    raise OSError(number, os.strerror(number), program)


atexit.register(end_all)
