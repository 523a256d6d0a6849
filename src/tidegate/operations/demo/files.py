"""The demo's project on disk: written anew, and never over anything that a person changed."""

from __future__ import annotations

import shutil
from pathlib import Path

from tidegate.errors import TidegateError

__all__ = ["deliver", "write_demo"]

_PROJECT = Path(__file__).parent / "project"
_LAKE = ".tidegate"


def write_demo(folder: Path) -> None:
    """Write the sample project. A demo that was here before and is as it was written makes room for the new one."""
    try:
        if folder.exists():
            _clear(folder)
        shutil.copytree(_PROJECT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    except OSError as error:
        raise TidegateError(
            f"Cannot write the demo: {error.strerror or error}",
            where=str(error.filename or folder),
            remedy="Name a folder that can be written: tidegate demo DIR",
        ) from error


def deliver(folder: Path, delivery: str) -> tuple[Path, ...]:
    """Copy a delivery's files to the landing zones; gives them, relative to the project."""
    source = folder / "deliveries" / delivery
    arrived = []
    for file in sorted(path for path in source.rglob("*") if path.is_file()):
        target = folder / "landing" / file.relative_to(source)
        shutil.copyfile(file, target)
        arrived.append(target.relative_to(folder))
    return tuple(arrived)


def _clear(folder: Path) -> None:
    strange = _not_ours(folder)
    if strange is not None:
        raise TidegateError(
            f"'{folder}' holds something that the demo did not write: {strange}",
            where=str(folder),
            remedy="Name another folder (tidegate demo DIR), or remove this one if you no longer need it.",
        )
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _not_ours(folder: Path) -> str | None:
    """The first thing in `folder` that is not, byte for byte, a file of the demo, nor the lake of one."""
    if not folder.is_dir() or folder.is_symlink():
        return folder.name
    known = {path.read_bytes() for path in _PROJECT.rglob("*") if path.is_file()}
    is_demo = (folder / "tidegate.toml").is_file() and (folder / "tidegate.toml").read_bytes() in known
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if is_demo and relative.parts[0] == _LAKE:
            continue
        if path.is_symlink() or (path.is_file() and path.read_bytes() not in known):
            return str(relative)
    return None
