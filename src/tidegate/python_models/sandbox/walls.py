"""Which walls a job gets, and where in its life each is put up. A wall that cannot be put up ends the job."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidegate.python_models.sandbox import privileges
from tidegate.python_models.sandbox.landlock import apply_landlock
from tidegate.python_models.sandbox.minimal_root import DEVICES, SCRATCH, build_minimal_root
from tidegate.python_models.sandbox.readable_paths import mapped_libraries
from tidegate.python_models.sandbox.resource_limits import JobLimits, apply_limits, memory_in_use
from tidegate.python_models.sandbox.seccomp_filter import apply_seccomp

__all__ = ["NEEDS_USER_NAMESPACE", "WALLS", "WallError", "WallPlan"]

WALLS = {
    "user namespace": "it has no rights of the user who started it",
    "process namespace": "it sees and signals no other process, and all of it ends together",
    "network namespace": "it has no network",
    "ipc namespace": "it has no shared memory or queues with others",
    "mount namespace": "it sees Python, its packages, shared libraries, and an empty folder of its own",
    "user": "it runs as a user who owns nothing",
    "capabilities": "it has no privileges of root",
    "no new privileges": "it cannot gain any",
    "limits": "CPU time, memory, processes, open files and the size of files are limited",
    "landlock": "the kernel lets it open only Python, its packages, shared libraries, and its own folder",
    "seccomp": "it can call only what Python needs: no sockets, programs, processes, mounts or tracing",
}
"""In the order in which they are put up."""

NEEDS_USER_NAMESPACE = ("process namespace", "network namespace", "ipc namespace", "mount namespace")


class WallError(Exception):
    def __init__(self, wall: str, why: str) -> None:
        super().__init__(f"{wall}: {why}")
        self.wall = wall
        self.why = why


@dataclass
class WallPlan:
    walls: frozenset[str]
    limits: JobLimits
    readable: Sequence[str]
    root: str
    """An empty folder, on which the minimal root is mounted."""

    scratch: str
    """The job's own folder where it cannot have a file system of its own."""

    canary: str
    """A file that no job may read."""

    _user: int | None = None
    _in_use: tuple[int, int] = (0, 0)
    _proc: int | None = None

    @staticmethod
    def of(settings: Mapping[str, Any]) -> WallPlan:
        """`settings`: of `wall_settings`. Called when all is imported, whose libraries a job may read."""
        return WallPlan(
            walls=frozenset(),
            limits=JobLimits(**settings["limits"]),
            readable=[*settings["readable"], *mapped_libraries()],
            root=settings["root"],
            scratch=settings["scratch"],
            canary=settings["canary"],
        )

    def enter_warden(self, zygote: int) -> None:
        """Raises WallError."""
        privileges.die_with_parent()
        if os.getppid() != zygote:
            os._exit(1)
        os.umask(0o022)
        self._in_use = memory_in_use()
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        if "process namespace" not in self.walls:
            privileges.reap_orphans()
            self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        if "user" in self.walls:
            self._user = privileges.unused_user()
        self._raise("user namespace", privileges.enter_user_namespace)
        for name in ("process", "network", "ipc", "mount"):
            self._raise(f"{name} namespace", partial(privileges.enter_namespace, name))
        self._raise("ipc namespace", self._hide_host_name)
        self._raise("mount namespace", self._change_root)
        if "mount namespace" not in self.walls and os.getuid() == 0:
            owner = self._user or 0
            os.chown(self.scratch, owner, owner)
        os.chdir(self.own_folder)
        privileges.die_with_parent()

    @property
    def own_folder(self) -> str:
        return SCRATCH if "mount namespace" in self.walls else self.scratch

    def enter_init(self) -> None:
        """Raises WallError."""
        self._drop_user()
        privileges.clear_dumpable()
        privileges.die_with_parent()
        self._raise("no new privileges", privileges.forbid_new_privileges)

    def enter_job(self, init: int, keep: Sequence[int]) -> None:
        """`keep`: open files besides the first three. Raises WallError."""
        privileges.die_with_parent()
        if os.getppid() != init:
            os._exit(1)
        _close_all_but(keep)
        self._raise("capabilities", privileges.drop_capabilities)
        privileges.clear_dumpable()
        privileges.die_with_parent()
        folder = self.own_folder
        self._raise("landlock", lambda: apply_landlock(self.readable, [folder], DEVICES))
        self._raise("limits", lambda: apply_limits(self.limits, self._in_use, self._processes()))
        self._raise("seccomp", lambda: apply_seccomp(os.getpid()))
        _name_own_folder(folder)

    def enter_relay(self, warden: int, keep: Sequence[int]) -> None:
        """For a process that reads what a job sends, and runs nothing of it. Raises WallError."""
        _close_all_but(keep)
        if "user" in self.walls:
            self._raise("user", lambda: privileges.become(privileges.unused_user()))
        privileges.die_with_parent()
        if os.getppid() != warden:
            os._exit(1)
        self._raise("capabilities", privileges.drop_capabilities)
        privileges.clear_dumpable()
        self._raise("landlock", lambda: apply_landlock(self.readable, [], DEVICES))
        self._raise("limits", lambda: apply_limits(self.limits, memory_in_use(), None))
        self._raise("seccomp", lambda: apply_seccomp(os.getpid()))

    def kill_rest(self) -> None:
        """What a job without a process namespace left behind, after its init has ended."""
        if self._proc is None:
            return
        with contextlib.suppress(ChildProcessError):
            while True:
                for child in _children(self._proc):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                os.waitpid(-1, 0)

    def _raise(self, wall: str, put_up: Callable[[], object]) -> None:
        if wall not in self.walls:
            return
        try:
            put_up()
        except OSError as error:
            raise WallError(wall, error.strerror or str(error)) from None

    def _hide_host_name(self) -> None:
        import socket

        privileges.enter_namespace("uts")
        socket.sethostname("sandbox")

    def _change_root(self) -> None:
        build_minimal_root(self.root, self.readable, self.limits.file_size, self._user)

    def _drop_user(self) -> None:
        if self._user is not None:
            user = self._user
            self._raise("user", lambda: privileges.become(user))

    def _processes(self) -> int | None:
        """With the processes that stand before the job."""
        if "user namespace" in self.walls:
            return self.limits.processes + 2
        return self.limits.processes + 1 if os.getuid() == self._user else None


def _close_all_but(keep: Sequence[int]) -> None:
    first = 3
    for descriptor in sorted(keep):
        os.closerange(first, descriptor)
        first = max(first, descriptor + 1)
    os.closerange(first, 1 << 20)


def _name_own_folder(folder: str) -> None:
    for name in ("HOME", "TMPDIR", "PWD"):
        os.environ[name] = folder


def _children(proc: int) -> Iterator[int]:
    own = str(os.getpid())
    for name in os.listdir(proc):
        if name.isdecimal():
            with contextlib.suppress(OSError):
                status = os.open(f"{name}/stat", os.O_RDONLY, dir_fd=proc)
                try:
                    text = os.read(status, 4096)
                finally:
                    os.close(status)
                if text.rpartition(b")")[2].split()[1].decode() == own:
                    yield int(name)
