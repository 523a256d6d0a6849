"""Finds out which walls this system has, by putting them up around a job that does nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.python_models.sandbox import privileges
from tidegate.python_models.sandbox.link import FrameKind, Link
from tidegate.python_models.sandbox.sandbox_job import Wall
from tidegate.python_models.sandbox.walls import NEEDS_USER_NAMESPACE, WALLS, WallError, WallPlan

__all__ = ["TrialResult", "find_walls", "missing_protection", "try_walls"]

_FILES, _NETWORK = "files", "network"


@dataclass(frozen=True, slots=True)
class TrialResult:
    walls: tuple[Wall, ...]
    leaks: tuple[str, ...]

    @property
    def active(self) -> frozenset[str]:
        return frozenset(wall.name for wall in self.walls if wall.active)


def try_walls(plan: WallPlan) -> list[str]:
    """Inside the walls: what the job can reach all the same. Raises WallError where Python itself is out of reach."""
    try:
        with open(os.__file__, "rb"):
            pass
        for path in plan.readable:
            if path in sys.path:
                os.listdir(path)
        with open(os.path.join(plan.own_folder, "trial"), "x") as file:
            file.write("x")
        os.unlink(file.name)
    except OSError as error:
        wall = next((name for name in ("user", "landlock", "mount namespace") if name in plan.walls), "user")
        raise WallError(wall, f"with it Python cannot open {error.filename}: {error.strerror}") from None
    leaks = []
    with contextlib.suppress(OSError), open(plan.canary, "rb"):
        leaks.append(_FILES)
    if "network namespace" not in plan.walls:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_STREAM):
            leaks.append(_NETWORK)
    return leaks


def find_walls(
    plan: WallPlan, guard: Callable[[WallPlan, None, socket.socket, int], Any], without: Sequence[str]
) -> TrialResult:
    """`guard`: what a fork does, see `guard_job`. The plan's own walls are ignored."""
    absent = _not_for_this_user() | dict.fromkeys(without, "left out")
    tried: list[str] = []
    while True:
        candidates = frozenset(WALLS) - absent.keys()
        outcome = _trial(replace(plan, walls=candidates), guard)
        wall = outcome.get("wall")
        if wall is None:
            leaks = tuple(outcome.get("leaks", (_FILES, _NETWORK)))
            return TrialResult(tuple(_walls(absent)), leaks)
        if wall not in candidates:
            absent.update(dict.fromkeys(candidates, outcome["why"]))
            return TrialResult(tuple(_walls(absent)), (_FILES, _NETWORK))
        why = outcome["why"]
        if wall in NEEDS_USER_NAMESPACE and "user namespace" in absent.keys() - {*without, *tried}:
            # A container's root may have fewer rights than the name says; then it is as any other user.
            absent.pop("user namespace")
            tried.append("user namespace")
            absent["user"] = "a user namespace is in its place"
            continue
        absent[wall] = why
        if wall == "user namespace":
            absent.update(dict.fromkeys(NEEDS_USER_NAMESPACE, f"needs a user namespace ({why})"))
            if absent.get("user") == "a user namespace is in its place":
                absent.pop("user")


def missing_protection(result: TrialResult) -> str | None:
    """What the walls that are there leave open; None where they are enough."""
    active = result.active
    open_ways = []
    if _FILES in result.leaks or not active & {"mount namespace", "landlock"}:
        open_ways.append("the files of this machine")
    if _NETWORK in result.leaks or not active & {"network namespace", "seccomp"}:
        open_ways.append("the network")
    if not active & {"process namespace", "seccomp"}:
        open_ways.append("other processes")
    return " and ".join(open_ways) or None


def _not_for_this_user() -> dict[str, str]:
    absent = {}
    root = os.geteuid() == 0
    if root and privileges.has_capability(privileges.SYS_ADMIN):
        absent["user namespace"] = "root needs none for the other namespaces"
    if not (root and privileges.has_capability(privileges.SETUID)):
        absent["user"] = "only root can change the user"
    elif "user namespace" not in absent:
        absent["user"] = "a user namespace is in its place"
    return absent


def _trial(plan: WallPlan, guard: Callable[[WallPlan, None, socket.socket, int], Any]) -> dict[str, Any]:
    here, there = socket.socketpair()
    zygote = os.getpid()
    pid = os.fork()
    if pid == 0:
        here.close()
        guard(plan, None, there, zygote)
        os._exit(1)
    there.close()
    outcome: dict[str, Any] = {"wall": "", "why": "the trial ended without a result"}
    try:
        link = Link(here, 1 << 20)
        while (frame := link.receive()) is not None:
            if frame.kind is FrameKind.FAILURE:
                return dict(frame.header)
            if frame.kind is FrameKind.RESULT:
                if frame.header.get("code") == 0:
                    return dict(frame.header)
                outcome["why"] = f"the trial ended with {frame.header}"
        return outcome
    finally:
        here.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _walls(absent: dict[str, str]) -> list[Wall]:
    return [Wall(name, name not in absent, absent.get(name, detail)) for name, detail in WALLS.items()]
