"""Landlock: what sandboxed code may read and write, without any privilege. Also no TCP, and no signals outwards."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

from tidegate.python_models.sandbox.privileges import forbid_new_privileges
from tidegate.python_models.sandbox.system_calls import system_call

__all__ = ["apply_landlock", "landlock_version"]

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ALL_OF_FIRST = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_MAKE_DEVICES = (1 << 6) | (1 << 11)
_TCP = 3
_SCOPES = 3
"""Abstract Unix sockets and signals."""

_RULE_PATH_BENEATH = 1
_GET_VERSION = 1


def landlock_version() -> int:
    """Raises OSError where the kernel does not have it, or it is switched off."""
    return system_call("landlock_create_ruleset", None, 0, _GET_VERSION)


def apply_landlock(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """To this thread. Paths that are missing are left out. Raises OSError."""
    version = landlock_version()
    handled = _ALL_OF_FIRST
    handled |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0) | (_IOCTL if version >= 5 else 0)
    fields = [handled]
    if version >= 4:
        fields.append(_TCP)
    if version >= 6:
        fields.append(_SCOPES)
    attributes = ctypes.create_string_buffer(struct.pack(f"={len(fields)}Q", *fields))
    rules = system_call("landlock_create_ruleset", ctypes.byref(attributes), 8 * len(fields), 0)
    try:
        for path in readable:
            _allow(rules, path, _READ_FILE | _READ_DIR)
        for path in writable:
            _allow(rules, path, handled & ~(_EXECUTE | _MAKE_DEVICES | _IOCTL))
        for path in devices:
            _allow(rules, path, _READ_FILE | _WRITE_FILE | (handled & _TRUNCATE))
        forbid_new_privileges()
        system_call("landlock_restrict_self", rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            access &= _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
        rule = ctypes.create_string_buffer(struct.pack("=Qi", access, place))
        system_call("landlock_add_rule", rules, _RULE_PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(place)
