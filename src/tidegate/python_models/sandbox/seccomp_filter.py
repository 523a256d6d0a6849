"""A seccomp filter that allows what sandboxed code needs, assembled by hand: libseccomp is not everywhere.

No new sockets, processes, programs, namespaces, mounts, keys, shared memory, tracing, io_uring, BPF; no signal to
another process; no change of who the process is.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator

from tidegate.python_models.sandbox.allowed_calls import ALLOWED_CALLS
from tidegate.python_models.sandbox.privileges import forbid_new_privileges
from tidegate.python_models.sandbox.system_calls import MACHINES, number_of, prctl

__all__ = ["apply_seccomp", "seccomp_program"]

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NUMBER_AT, _ARCH_AT = 0, 4
_ARCHITECTURES = dict(zip(MACHINES, (0xC000003E, 0xC00000B7), strict=True))
_NEWEST_KNOWN = 462
_X32 = 0x40000000

_CLONE_THREAD = 0x10000
_CLONE_NEW = 0x7E020000
_IOCTLS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX."""

_FCNTLS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034)
"""Duplicate, flags, locks, the size of a pipe, seals; no owner of signals and no leases."""

_PRCTLS = (2, 3, 15, 16, 21, 23, 39, 0x53564D41)
"""Reading, names of threads and of memory."""

_SET_SECCOMP, _FILTER = 22, 2

Instruction = tuple[int, int, int, int]


def apply_seccomp(pid: int) -> None:
    """To this thread. `pid`: its own, the only process that it may signal."""
    program = b"".join(struct.pack("<HBBI", *each) for each in seccomp_program(pid))
    code = ctypes.create_string_buffer(program, len(program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    forbid_new_privileges()
    prctl(_SET_SECCOMP, _FILTER, ctypes.addressof(header))


def seccomp_program(pid: int) -> list[Instruction]:
    """Raises OSError where the numbers of this machine's system calls are not known."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"the system calls of {machine} are not known")
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_GREATER, 0, 1, _X32),
        (_RETURN, 0, 0, _KILL),
    ]
    for name in ALLOWED_CALLS:
        program += _when(name, [(_RETURN, 0, 0, _ALLOW)])
    for name, value in (("ioctl", _IOCTLS), ("fcntl", _FCNTLS)):
        program += _when(name, [*_only(1, value), (_RETURN, 0, 0, _ERRNO | errno.EPERM)])
    program += _when("prctl", [*_only(0, _PRCTLS), (_RETURN, 0, 0, _ERRNO | errno.EPERM)])
    for name in ("kill", "tgkill"):
        program += _when(name, [*_only(0, (pid,)), (_RETURN, 0, 0, _ERRNO | errno.EPERM)])
    program += _when("prlimit64", [*_only(0, (0, pid)), (_RETURN, 0, 0, _ERRNO | errno.EPERM)])
    program += _when("clone", list(_clone()))
    # libc takes ENOSYS for an old kernel, and falls back on calls whose arguments a filter can see.
    for name in ("clone3", "openat2"):
        program += _when(name, [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)])
    for name in ("fork", "vfork"):
        program += _when(name, [(_RETURN, 0, 0, _ERRNO | errno.EAGAIN)])
    program += [
        (_GREATER, 0, 1, _NEWEST_KNOWN + 1),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    return program


def _when(name: str, then: list[Instruction]) -> Iterator[Instruction]:
    """`then` ends with a return."""
    number = number_of(name)
    if number is not None:
        yield (_EQUAL, 0, len(then), number)
        yield from then


def _only(argument: int, values: tuple[int, ...]) -> Iterator[Instruction]:
    """Allow these values of the low half of an argument, which is an int; otherwise go on."""
    yield (_LOAD, 0, 0, 16 + 8 * argument)
    for value in values:
        yield (_EQUAL, 0, 1, value & 0xFFFFFFFF)
        yield (_RETURN, 0, 0, _ALLOW)


def _clone() -> Iterator[Instruction]:
    """Threads alone. EAGAIN is what a limit of processes gives."""
    yield (_LOAD, 0, 0, 16)
    yield (_ANY_BIT, 0, 1, _CLONE_NEW)
    yield (_RETURN, 0, 0, _ERRNO | errno.EPERM)
    yield (_ANY_BIT, 1, 0, _CLONE_THREAD)
    yield (_RETURN, 0, 0, _ERRNO | errno.EAGAIN)
    yield (_RETURN, 0, 0, _ALLOW)
