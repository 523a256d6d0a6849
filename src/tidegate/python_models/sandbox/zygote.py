"""The process that jobs are forks of. It has the imports that they need, and never runs code of a project.

It is started without the environment and the open files of Tidegate, and knows no password.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import socket
import sys
from dataclasses import replace
from typing import Any

from tidegate.python_models.sandbox.wall_trial import find_walls, missing_protection
from tidegate.python_models.sandbox.walls import WallPlan
from tidegate.python_models.sandbox.warden import guard_job

__all__ = ["main"]

_LONGEST_MESSAGE = 1 << 17


def main() -> None:
    """Standard input is the control socket. Ends when its other end is closed."""
    control = _take_control()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for Tidegate, which then closes the socket
    settings = json.loads(control.recv(_LONGEST_MESSAGE))
    try:
        for name in settings["preload"]:
            importlib.import_module(name)
        plan = WallPlan.of(settings)
        trial = find_walls(plan, guard_job, settings["without"])
    except Exception as error:
        _send(control, {"error": f"{type(error).__name__}: {error}"})
        return
    plan = replace(plan, walls=trial.active)
    gc.collect()
    gc.freeze()
    walls = [[wall.name, wall.active, wall.detail] for wall in trial.walls]
    _send(control, {"walls": walls, "missing": missing_protection(trial)})
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _serve(control, plan)


def _take_control() -> socket.socket:
    control = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return control


def _serve(control: socket.socket, plan: WallPlan) -> None:
    zygote = os.getpid()
    while True:
        message, files, _, _ = socket.recv_fds(control, _LONGEST_MESSAGE, 2)
        if not message:
            return
        job = json.loads(message)
        end, status = (socket.socket(fileno=each) for each in files)
        with end, status:
            try:
                child = os.fork()
            except OSError as error:
                print(f"a job could not be started: {error}", file=sys.stderr, flush=True)
                continue
            if child == 0:
                control.close()
                guard_job(replace(plan, scratch=job["scratch"]), end, status, zygote)


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    control.send(json.dumps(message).encode())


if sys.platform != "linux":
    raise ImportError("the sandbox needs Linux")
