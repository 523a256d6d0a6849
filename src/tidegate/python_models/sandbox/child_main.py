"""Runs one job behind the walls: reads the JOB frame, and ends with a RESULT or a FAILURE."""

from __future__ import annotations

import random
import socket
import sys
from typing import Any

from tidegate.python_models.child_jobs import JOBS
from tidegate.python_models.sandbox.child_failure import describe_failure, show_source
from tidegate.python_models.sandbox.link import FrameKind, Link
from tidegate.python_models.sandbox.sandbox_job import SandboxJob

__all__ = ["run_job"]

_LONGEST_JOB = 1 << 28


def run_job(end: socket.socket) -> int:
    """The exit status."""
    link = Link(end, _LONGEST_JOB)
    frame = link.receive()
    if frame is None or frame.kind is not FrameKind.JOB:
        return 1
    header: Any = frame.header
    job = SandboxJob(header["kind"], header["file"], frame.body.decode(), header["values"])
    show_source(job)
    _seed()
    try:
        for piece in JOBS[job.kind](job, link):
            link.send(piece.kind, piece.header, piece.body)
    except BaseException as error:
        _make_room()
        link.send(FrameKind.FAILURE, describe_failure(error, job))
    finally:
        _flush()
    return 0


def _seed() -> None:
    """All forks of one process would draw the same numbers."""
    random.seed()
    if numpy := sys.modules.get("numpy.random"):
        numpy.seed()


def _make_room() -> None:
    """A little more memory, to report that there was too little."""
    import resource

    for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
        most = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (most, most))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # the code may have replaced or closed it
            continue
