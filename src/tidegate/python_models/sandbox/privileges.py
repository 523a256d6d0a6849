"""Who a job is: namespaces, user, capabilities."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import struct

from tidegate.python_models.sandbox.system_calls import libc_call, prctl, system_call

__all__ = [
    "become",
    "clear_dumpable",
    "die_with_parent",
    "drop_capabilities",
    "enter_namespace",
    "enter_user_namespace",
    "forbid_new_privileges",
    "has_capability",
    "reap_orphans",
    "unused_user",
]

NAMESPACES = {
    "mount": 0x00020000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "process": 0x20000000,
    "network": 0x40000000,
}

NOBODY = 65534
SYS_ADMIN, SETUID = 21, 7

_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP = 1, 4, 24
_SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 36, 38, 47
_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x20080522
_FIRST_USER = 0x7F000000
"""Beyond what systems and containers give to users."""


def enter_namespace(name: str) -> None:
    libc_call("unshare", NAMESPACES[name])


def enter_user_namespace() -> None:
    """As nobody in there, which outside is still the same user."""
    user, group = os.geteuid(), os.getegid()
    enter_namespace("user")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{NOBODY} {user} 1"), ("gid_map", f"{NOBODY} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def has_capability(number: int) -> bool:
    with open("/proc/self/status") as file:
        line = next((line for line in file if line.startswith("CapEff:")), "CapEff: 0")
    return bool(int(line.split()[1], 16) >> number & 1)


def unused_user() -> int:
    """A user id for one job alone, so that its processes are counted apart from all others."""
    return _FIRST_USER + os.getpid() % 0x100000


def become(user: int) -> None:
    """For good. Needs CAP_SETUID and CAP_SETGID."""
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    except OSError as error:
        if error.errno != errno.EINVAL or user == NOBODY:
            raise
        become(NOBODY)  # a container that has only a range of users


def drop_capabilities() -> None:
    for number in range(64):
        try:
            prctl(_CAPBSET_DROP, number)
        except OSError as error:
            if error.errno == errno.EINVAL:
                break  # past the last one
            if error.errno != errno.EPERM:  # without CAP_SETPCAP; no_new_privs makes the bounding set meaningless
                raise
    try:
        prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))
    system_call("capset", ctypes.byref(header), ctypes.byref(ctypes.create_string_buffer(24)))


def die_with_parent() -> None:
    """Repeat after each change of privileges, which clears it."""
    prctl(_SET_PDEATHSIG, signal.SIGKILL)


def forbid_new_privileges() -> None:
    """Landlock and seccomp ask for it."""
    prctl(_SET_NO_NEW_PRIVS, 1)


def clear_dumpable() -> None:
    prctl(_SET_DUMPABLE, 0)


def reap_orphans() -> None:
    """Descendants whose parent ends become children of this process."""
    prctl(_SET_CHILD_SUBREAPER, 1)
