"""Each kind of wall alone keeps the secrets: containers and old kernels have only some."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.python_models.sandbox.conftest import own_sandbox, run_script
from tests.python_models.sandbox.effects import effects
from tidegate.errors import SandboxMissingError
from tidegate.python_models.sandbox.privileges import NOBODY
from tidegate.python_models.sandbox.system_calls import libc_call, prctl

NAMESPACES = ["user namespace", "process namespace", "network namespace", "ipc namespace", "mount namespace"]
VARIANTS = {
    "all": ([], {"landlock", "seccomp", "mount namespace", "network namespace", "process namespace"}),
    "no namespaces": (NAMESPACES, {"landlock", "seccomp"}),
    "only namespaces": (["landlock", "seccomp"], {"mount namespace", "network namespace", "process namespace"}),
    "no seccomp": (["seccomp"], {"landlock", "network namespace"}),
    "no landlock": (["landlock"], {"seccomp", "mount namespace"}),
    "no mounts": (["mount namespace"], {"landlock", "process namespace"}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_kind_of_wall_keeps_the_secrets(variant: str, tmp_path: Path) -> None:
    without, expected = VARIANTS[variant]
    found = effects(tmp_path, without)
    assert found["reached"] == []
    assert set(found["walls"]) >= expected
    assert not set(found["walls"]) & set(without)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("variant", VARIANTS)
def test_so_do_those_of_a_user_who_is_not_root(variant: str, nobodys: Path) -> None:
    without, expected = VARIANTS[variant]
    program = [sys.executable, "-m", "tests.python_models.sandbox.effects", str(nobodys), *without]
    done = subprocess.run(program, capture_output=True, text=True, preexec_fn=_become_nobody, cwd=_ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["reached"] == []
    assert set(found["walls"]) >= expected
    assert "user" not in found["walls"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be a root with fewer rights")
@pytest.mark.parametrize("variant", ["all", "no namespaces"])
def test_so_do_those_of_a_container_whose_root_has_no_rights(variant: str, tmp_path: Path) -> None:
    without, expected = VARIANTS[variant]
    program = [sys.executable, "-m", "tests.python_models.sandbox.effects", str(tmp_path), *without]
    done = subprocess.run(program, capture_output=True, text=True, preexec_fn=_drop_rights, cwd=_ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["reached"] == []
    assert set(found["walls"]) >= expected
    assert "user" not in found["walls"]


TOO_FEW = {
    "the files of this machine": ["mount namespace", "landlock"],
    "the network": ["network namespace", "seccomp"],
    "other processes": ["process namespace", "seccomp"],
}


@pytest.mark.parametrize("what", TOO_FEW)
def test_where_too_few_walls_are_there_nothing_runs(what: str, tmp_path: Path) -> None:
    with (
        own_sandbox(tmp_path, TOO_FEW[what]) as sandbox,
        pytest.raises(SandboxMissingError, match=what) as caught,
    ):
        run_script(sandbox, "result = 1")
    assert 'mode = "trusted"' in (caught.value.remedy or "")


def test_a_wall_that_cannot_be_put_up_any_more_ends_the_job(tmp_path: Path) -> None:
    with own_sandbox(tmp_path) as sandbox:
        run_script(sandbox, "result = 1")
        process = sandbox._zygote
        assert process is not None
        shutil.rmtree(process.folder / "root")
        with pytest.raises(SandboxMissingError, match="mount namespace"):
            run_script(sandbox, "result = 1")


_ROOT = Path(__file__).parents[3]


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder that nobody may write."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    with contextlib.suppress(OSError):
        shutil.rmtree(folder)


def _drop_rights() -> None:
    """The program that follows has none but SETFCAP, without which root may not begin a user namespace."""
    for capability in set(range(38)) - {31}:
        prctl(24, capability)


def _become_nobody() -> None:
    """Also where this Python is in a home that no other user may enter: then it is mounted into a copy of the way."""
    private = [folder for folder in _ways() if not folder.stat().st_mode & 0o001]
    if private:
        libc_call("unshare", 0x00020000)
        libc_call("mount", None, b"/", None, 0x44000, None)
        for folder in private:
            _open_way(folder)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _ways() -> list[Path]:
    needed = [Path(os.path.realpath(sys.executable)), Path(sys.prefix), Path(sys.base_prefix), _ROOT]
    return sorted({parent for path in needed for parent in (path, *path.parents) if parent.is_dir()})


def _open_way(folder: Path) -> None:
    """Put a folder in its place that all may enter, with the same folders in it."""
    inside = [child for child in folder.iterdir() if child.is_dir() and not child.is_symlink()]
    handles = [(child.name, os.open(child, os.O_PATH)) for child in inside]
    libc_call("mount", b"tmpfs", str(folder).encode(), b"tmpfs", 0, b"mode=0755")
    for name, handle in handles:
        (folder / name).mkdir()
        libc_call("mount", f"/proc/self/fd/{handle}".encode(), str(folder / name).encode(), None, 4096 | 16384, None)
        os.close(handle)
