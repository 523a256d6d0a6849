"""The filter, run by a few lines of Python: also for the machine that the tests do not run on."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pytest

from tidegate.python_models.sandbox import seccomp_filter, system_calls
from tidegate.python_models.sandbox.seccomp_filter import seccomp_program

ALLOW, KILL, EPERM, EAGAIN, ENOSYS = 0x7FFF0000, 0x80000000, 0x50001, 0x5000B, 0x50026
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PID = 77

CASES = {
    ("read",): ALLOW,
    ("mmap",): ALLOW,
    ("openat",): ALLOW,
    ("socket", 2): EPERM,
    ("socketpair", 1): EPERM,
    ("connect",): EPERM,
    ("bind",): EPERM,
    ("accept4",): EPERM,
    ("execve",): EPERM,
    ("execveat",): EPERM,
    ("ptrace",): EPERM,
    ("bpf",): EPERM,
    ("unshare",): EPERM,
    ("setns",): EPERM,
    ("seccomp",): EPERM,
    ("clone3",): ENOSYS,
    ("openat2",): ENOSYS,
    ("clone", 0x3D0F00): ALLOW,  # a thread
    ("clone", 17): EAGAIN,
    ("clone", 0x10000000 | 17): EPERM,
    ("clone", 0x3D0F00 | 0x20000000): EPERM,
    ("kill", PID): ALLOW,
    ("kill", 0): EPERM,
    ("kill", 1): EPERM,
    ("kill", 0xFFFFFFFF): EPERM,
    ("tgkill", PID): ALLOW,
    ("tgkill", 1): EPERM,
    ("prlimit64", 0): ALLOW,
    ("prlimit64", 1): EPERM,
    ("prctl", 15): ALLOW,
    ("prctl", 1): EPERM,  # to live on when its parent ends
    ("prctl", 4): EPERM,
    ("ioctl", 0, 0x5421): ALLOW,
    ("ioctl", 0, 0x5412): EPERM,
    ("fcntl", 0, 3): ALLOW,
    ("fcntl", 0, 8): EPERM,  # signals to whom it likes
    ("fcntl", 0, 1031): EPERM,
}


def decide(program: list[tuple[int, int, int, int]], number: int, architecture: int, *arguments: int) -> int:
    words = {0: number, 4: architecture}
    for place in range(6):
        value = arguments[place] if place < len(arguments) else 0
        words[16 + 8 * place], words[20 + 8 * place] = value & 0xFFFFFFFF, value >> 32
    at, register = 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            register = words[value]
        else:
            holds = {0x15: register == value, 0x35: register >= value, 0x45: bool(register & value)}[code]
            at += yes if holds else no


@pytest.fixture(params=ARCHITECTURES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(platform, "machine", lambda: request.param)
    system_calls._numbers.cache_clear()
    yield str(request.param)
    system_calls._numbers.cache_clear()


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(map(str, case)))
def test_each_call_is_decided_on_every_machine(case: tuple[str, int], machine: str) -> None:
    name, *arguments = case
    number = system_calls.number_of(name)
    assert number is not None
    program = seccomp_program(PID)
    assert decide(program, number, ARCHITECTURES[machine], *arguments) == CASES[case]


def test_numbers_of_other_machines_end_the_process(machine: str) -> None:
    program = seccomp_program(PID)
    other = next(each for name, each in ARCHITECTURES.items() if name != machine)
    assert decide(program, 0, other) == KILL
    assert decide(program, 0x40000000, ARCHITECTURES[machine]) == KILL
    assert decide(program, 5000, ARCHITECTURES[machine]) == ENOSYS
    assert len(program) < 4096
    assert all(yes < 256 and no < 256 for _, yes, no, _ in program)


def test_on_a_machine_whose_calls_are_not_known_there_is_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="riscv64"):
        seccomp_filter.seccomp_program(PID)
