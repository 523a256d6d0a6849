"""A file system of its own, which has only what Python needs to run, for this process and those that it starts."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Sequence

from tidegate.python_models.sandbox.system_calls import libc_call, system_call

__all__ = ["DEVICES", "SCRATCH", "build_minimal_root"]

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")

SCRATCH = "/job-folder"
"""The job's own folder in the new root: not /tmp, below which packages may be installed."""

_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = (
    1,
    2,
    4,
    8,
    32,
    4096,
    16384,
    1 << 18,
)
_DETACH = 2
_AT_RECURSIVE = 0x8000
_MOST_FILES = 4096


def build_minimal_root(place: str, readable: Sequence[str], scratch_bytes: int, owner: int | None) -> None:
    """Make `place`, a folder, the new root. Needs a mount namespace of its own. Raises OSError."""
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", place, "tmpfs", _NO_SUID, "size=1m,mode=0755")
    for path in _outermost(readable):
        _show(place, path)
    for device in DEVICES:
        if os.path.exists(device):
            _bind(device, place + device, _NO_SUID | _NO_EXEC)
    scratch = place + SCRATCH
    os.mkdir(scratch, 0o755)
    _mount("tmpfs", scratch, "tmpfs", _NO_SUID | _NO_DEVICES | _NO_EXEC, _limits(scratch_bytes))
    if owner is not None:
        os.chown(scratch, owner, owner)
    _mount(None, place, None, _REMOUNT | _BIND | _READ_ONLY | _NO_SUID)
    os.chdir(place)
    system_call("pivot_root", b".", b".")
    libc_call("umount2", b".", _DETACH)
    os.chdir("/")


def _limits(scratch_bytes: int) -> str:
    return f"size={max(scratch_bytes, 1 << 16)},nr_inodes={_MOST_FILES},mode=0700"


def _outermost(paths: Sequence[str]) -> list[str]:
    """Those that are below no other one, shortest first: what a path is a link to comes with it."""
    chosen: list[str] = []
    for path in sorted({os.path.normpath(each) for each in paths if os.path.lexists(each)}, key=len):
        if not any(path.startswith(each + "/") and os.path.realpath(each) == each for each in chosen):
            chosen.append(path)
    return chosen


def _show(place: str, path: str) -> None:
    real = os.path.realpath(path)
    if not os.path.lexists(place + real):
        _bind(real, place + real, _READ_ONLY | _NO_SUID | _NO_DEVICES)
    if path != real and not os.path.lexists(place + path):
        os.makedirs(os.path.dirname(place + path), 0o755, exist_ok=True)
        os.symlink(os.path.relpath(real, os.path.dirname(path)), place + path)


def _bind(source: str, target: str, flags: int) -> None:
    if stat.S_ISDIR(os.stat(source).st_mode):
        os.makedirs(target, 0o755, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), 0o755, exist_ok=True)
        with open(target, "x"):
            pass
    _mount(source, target, None, _BIND | _RECURSIVE)
    try:  # with what is mounted below it
        attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
        system_call("mount_setattr", -100, target.encode(), _AT_RECURSIVE, attributes, len(attributes))
    except OSError:
        # A user namespace must leave on what was on.
        inherited = os.statvfs(source).f_flag & (_READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC)
        _mount(None, target, None, _REMOUNT | _BIND | flags | inherited)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    def text(value: str | None) -> bytes | None:
        return None if value is None else value.encode()

    try:
        libc_call("mount", text(source), text(target), text(kind), ctypes.c_ulong(flags), text(data))
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} while mounting {target}") from None
