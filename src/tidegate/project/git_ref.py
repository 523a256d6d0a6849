"""A project as it was at a git ref, in a temporary folder."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tidegate.config import FILE_NAME, Settings, load_settings
from tidegate.errors import SelectionError, SetupError
from tidegate.names import nearest
from tidegate.problems import did_you_mean
from tidegate.project.model_files import PROJECT_ENDINGS

__all__ = ["at_git_ref", "settings_of_past"]

_REGULAR, _LINK = ("100644", "100755"), "120000"
# Set inside hooks, where they would lead from the project's folder to no repository or to another one.
_OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


@contextmanager
def at_git_ref(root: Path, ref: str) -> Iterator[Path]:
    """The files that compiling needs, as committed: no filter or attribute of git's changes them, no data is copied.

    The folder has the project's own name, because that may be the project's name. Raises SelectionError where there is
    no such state, SetupError where there is no git.
    """
    root = root.resolve()
    commit = _commit(root, ref)
    prefix = _git(root, "rev-parse", "--show-prefix").decode(errors="surrogateescape").rstrip("\n")
    tree = f"{commit}:{prefix}"
    blobs = _blobs(root, ref, tree)
    with tempfile.TemporaryDirectory(prefix="tidegate-") as temporary:
        folder = Path(temporary) / (root.name or "project")
        folder.mkdir()
        _write(root, folder, blobs)
        yield folder


def settings_of_past(folder: Path, now: Settings) -> Settings:
    """The settings written there, over the lake, the landing zones and the sources of today: no commit holds those."""
    inside = now.file.relative_to(now.root) if now.file.is_relative_to(now.root) else None
    written = folder / inside if inside and (folder / inside).is_file() else None
    past = load_settings(folder, written)
    landing = replace(past.landing, root=now.landing.root)
    return replace(past, lake=now.lake, state=now.state, spark=now.spark, landing=landing, sources=now.sources)


def _commit(root: Path, ref: str) -> str:
    _git(root, "rev-parse", "--is-inside-work-tree")
    try:
        output = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    except SelectionError:
        names = _git(root, "for-each-ref", "--format=%(refname:short)").decode().split()
        remedy = did_you_mean(nearest(ref, names)) or "name a branch, a tag or a commit; fetch it if it is not here yet"
        raise SelectionError(f"git knows no '{ref}'", where=str(root), remedy=remedy) from None
    return output.decode().strip()


def _blobs(root: Path, ref: str, tree: str) -> dict[str, tuple[str, str]]:
    """Path within the project → mode and id."""
    try:
        listing = _git(root, "ls-tree", "-r", "-z", "--full-tree", tree)
    except SelectionError:
        listing = b""
    blobs = {}
    for entry in listing.split(b"\0"):
        facts, _, path = entry.partition(b"\t")
        name = path.decode(errors="surrogateescape")
        if name.lower().endswith(PROJECT_ENDINGS):
            mode, _, blob = facts.decode().split()
            blobs[name] = (mode, blob)
    if FILE_NAME not in blobs:
        message = f"there was no {FILE_NAME} in this folder at '{ref}'"
        remedy = "name a ref that has the project, in the folder where it is now"
        raise SelectionError(message, where=str(root), remedy=remedy)
    return blobs


def _write(root: Path, folder: Path, blobs: dict[str, tuple[str, str]]) -> None:
    files = {name: (mode, blob) for name, (mode, blob) in blobs.items() if mode in (*_REGULAR, _LINK)}
    answer = _git(root, "cat-file", "--batch", stdin="\n".join(blob for _, blob in files.values()).encode() + b"\n")
    at = 0
    for name, (mode, _) in files.items():
        end = answer.index(b"\n", at)
        size = int(answer[at:end].split()[2])
        content = answer[end + 1 : end + 1 + size]
        at = end + size + 2
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if mode == _LINK:
            path.symlink_to(os.fsdecode(content))
        else:
            path.write_bytes(content)


def _git(root: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    env = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    try:
        process = subprocess.run(
            ["git", "-C", str(root), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env={**env, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise SetupError("git is not installed", remedy="install git, or compare with 'published'") from None
    if process.returncode == 0:
        return process.stdout
    lines = process.stderr.decode(errors="replace").strip().splitlines()
    reason = lines[0].removeprefix("fatal: ") if lines else "git refused"
    if "not a git repository" in reason:
        remedy = "compare with 'published', or put the project under git"
        raise SelectionError(f"{root} is not in a git repository", where=str(root), remedy=remedy)
    raise SelectionError(f"git cannot look at {root}: {reason}", where=str(root))
