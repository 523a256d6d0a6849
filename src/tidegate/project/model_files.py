"""Which files of a project are models, tests and settings, by where they lie. Nothing is opened here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidegate.names import TableName, is_plain_name, nearest, why_not_a_name
from tidegate.problems import Place, Problem, did_you_mean
from tidegate.project.model import Severity

__all__ = [
    "MACROS_FOLDER",
    "MODEL_FOLDERS",
    "PROJECT_ENDINGS",
    "Discovered",
    "ModelFiles",
    "contract_files",
    "discover",
]

MODEL_FOLDERS = ("models", "pipelines")
MACROS_FOLDER = "macros"
_SETTINGS = (".toml", ".yaml", ".yml")
_FORMS = {".sql": "pipeline", ".py": "pipeline", **dict.fromkeys(_SETTINGS, "config")}
"""The kinds of files that belong to a model, and what such a file is called in the model's own folder."""

PROJECT_ENDINGS = tuple(_FORMS)
"""Of all files of a project except data."""
_CONTRACTS = (".contract.toml", ".odcs.yml", ".odcs.yaml")
_STANDARD = (".odcs.yml", ".odcs.yaml")
_FOLDER_CONTRACTS = ("contract.toml", "contract.odcs.yml", "contract.odcs.yaml")
_LAYOUT = (
    "a model is models/<layer>/<name>.sql, models/<namespace>/<layer>/<name>.sql or …/<name>/pipeline.sql"
    " (.py for Python)"
)

Home = tuple[str, ...]
"""Where a model lives: the root and the parts of its name, as in ("models", "silver", "orders")."""


class ModelFiles(NamedTuple):
    """The files of one model, relative to the project. `sources` has two where both forms are used."""

    table: TableName
    sources: tuple[str, ...]
    sidecars: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()


@dataclass(slots=True)
class Discovered:
    models: list[ModelFiles] = field(default_factory=list)
    defaults: list[str] = field(default_factory=list)
    macros: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class _Files:
    sql: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    sidecars: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    contracts: tuple[str, ...] = ()


def discover(root: Path, namespace: str) -> Discovered:
    project_files = Discovered()
    homes: dict[Home, _Files] = {}
    for name in MODEL_FOLDERS:
        for folder, names in _walk(root, name, project_files.problems):
            _place(folder, names, homes, project_files)
    for folder, names in _walk(root, MACROS_FOLDER, project_files.problems):
        project_files.macros += [f"{folder}/{name}" for name in names if name.lower().endswith(".sql")]
    for home, files in sorted(homes.items(), key=lambda item: item[0]):
        _settle(home, files, namespace, homes, project_files)
    return project_files


def _walk(root: Path, top: str, problems: list[Problem]) -> Iterator[tuple[str, list[str]]]:
    """Each folder, relative to the project, with the names of its files."""
    outside = os.path.join(root, "")

    def report(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            place = Place(error.filename.removeprefix(outside))
            problems.append(Problem("UnreadableFile", f"the folder cannot be read: {error.strerror}", place))

    # Links are followed, each folder once: two that point at each other would loop.
    visited: set[str] = set()
    for parent, folders, files in os.walk(outside + top, onerror=report, followlinks=True):
        real = os.path.realpath(parent)
        if real in visited:
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        inside = parent.removeprefix(outside)
        names = sorted(name for name in files if not name.startswith((".", "__")))
        for name in [name for name in names if not _is_text(name)]:
            names.remove(name)
            place = Place(f"{inside}/{name}".encode(errors="replace").decode())
            problems.append(Problem("UnreadableFile", "the file's name is not UTF-8", place))
        yield inside, names


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(folder: str, names: list[str], homes: dict[Home, _Files], project_files: Discovered) -> None:
    """Assign each file of the folder to the model whose home it is in."""
    parts = tuple(folder.split("/"))
    at = parts.index("tests", 1) if "tests" in parts[1:] else 0
    for name in names:
        path = f"{folder}/{name}"
        stem, _, ending = name.rpartition(".")
        kind = f".{ending.lower()}"
        if name == "_defaults.toml":
            project_files.defaults.append(path)
        elif at:
            if kind == ".sql" and parts[at:] == ("tests", "quality") and 3 <= at <= 4:
                homes.setdefault(parts[:at], _Files()).tests += (path,)
            elif kind == ".sql":
                message = "no model owns this test: quality tests are in tests/quality/ inside the model's own folder"
                project_files.problems.append(Problem("MisplacedFile", message, Place(path)))
            elif kind in _SETTINGS:
                message = (
                    "no test is read from here: unit tests are in the project's tests/ or the model's settings file"
                )
                project_files.problems.append(Problem("MisplacedFile", message, Place(path)))
        elif kind == ".py" and name.startswith("_"):
            continue
        elif kind in _FORMS:
            of_contract = _contract_home(parts, name) if kind in _SETTINGS else None
            is_folder_form = stem == _FORMS[kind] and len(parts) >= 3
            home = of_contract or (parts if is_folder_form else (*parts, stem))
            if not 3 <= len(home) <= 4:
                project_files.problems.append(Problem("MisplacedFile", _LAYOUT, Place(path)))
                continue
            files = homes.setdefault(home, _Files())
            if kind == ".sql":
                files.sql += (path,)
            elif kind == ".py":
                files.python += (path,)
            elif of_contract:
                files.contracts += (path,)
            else:
                files.sidecars += (path,)


def _contract_home(folder: Home, name: str) -> Home | None:
    """The model whose contract the file is; None if it is not a contract."""
    if name.lower() in _FOLDER_CONTRACTS and len(folder) >= 3:
        return folder
    ending = next((ending for ending in _CONTRACTS if name.lower().endswith(ending)), None)
    return (*folder, name[: -len(ending)]) if ending else None


def _settle(home: Home, files: _Files, namespace: str, homes: dict[Home, _Files], project_files: Discovered) -> None:
    table = TableName(namespace, *home[1:]) if len(home) == 3 else TableName(*home[1:])
    short = table.short(namespace)
    sources = files.sql or files.python
    if not sources:
        others = [_short(other) for other, its in homes.items() if its.sql or its.python]
        project_files.problems += _without_source(files, short, others)
        return
    for path in files.python if files.sql else ():
        used, other = os.path.basename(files.sql[0]), os.path.basename(path)
        message = f"{used} is used and {other} is ignored: a model has one source"
        project_files.problems.append(Problem("IgnoredFile", message, Place(path), Severity.WARN, model=short))
    if len(files.sidecars) > 1:
        message = f"the model has two settings files: {' and '.join(files.sidecars)}"
        place = Place(files.sidecars[1])
        project_files.problems.append(Problem("AmbiguousSettings", message, place, suggestion="keep one", model=short))
    if len(files.contracts) > 1:
        message = f"the model has two contracts: {' and '.join(files.contracts)}"
        place = Place(files.contracts[1])
        project_files.problems.append(Problem("AmbiguousContract", message, place, suggestion="keep one", model=short))
    for what, name in (("namespace", table.namespace), ("layer", table.layer)):
        if reason := why_not_a_name(name):
            message = f"'{name}' cannot be a {what}: {reason}"
            project_files.problems.append(Problem("ReservedName", message, Place(sources[0]), model=short))
    if not is_plain_name(table.name):
        message = f"'{table.name}' cannot be a table's name: it may hold letters, digits, '_' and '-' only"
        project_files.problems.append(Problem("ReservedName", message, Place(sources[0]), model=short))
    project_files.models.append(ModelFiles(table, sources, files.sidecars, files.tests, files.contracts))


def _without_source(files: _Files, short: str, others: list[str]) -> Iterator[Problem]:
    for path in [*files.sidecars, *files.contracts, *files.tests]:
        message = f"there is no model '{short}' that this file could belong to"
        yield Problem("OrphanFile", message, Place(path), suggestion=did_you_mean(nearest(short, others)))


def _short(home: Home) -> str:
    return ".".join(home[1:])


def contract_files(folder: Path) -> tuple[Path, ...]:
    """The ODCS files below a folder; names that begin with `_` or `.` are left out. Links are followed, each folder
    once."""
    files: list[Path] = []
    visited: set[str] = set()
    for path, folders, names in os.walk(folder, followlinks=True):
        visited.add(os.path.realpath(path))
        folders[:] = [name for name in folders if os.path.realpath(os.path.join(path, name)) not in visited]
        folders[:] = sorted(name for name in folders if name[:1] not in ("_", "."))
        files += [Path(path, name) for name in names if name.lower().endswith(_STANDARD) and name[:1] not in ("_", ".")]
    return tuple(sorted(files))
