"""Which files of a project are models, tests and settings, by where they lie. Nothing is opened here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tidegate.config.reserved import is_plain_name, why_not_a_name
from tidegate.names import TableName, nearest
from tidegate.project.model import Severity
from tidegate.project.problems import Place, Problem, did_you_mean

__all__ = ["Discovered", "ModelFiles", "discover"]

_ROOTS = ("models", "pipelines")
_SETTINGS = (".toml", ".yaml", ".yml")
_CONTRACTS = (".contract.toml", ".odcs.yml", ".odcs.yaml")
_FOLDER_CONTRACTS = ("contract.toml", "contract.odcs.yml", "contract.odcs.yaml")
_LAYOUT = "a model is models/<layer>/<name>.sql, models/<namespace>/<layer>/<name>.sql or …/<name>/pipeline.sql"

Home = tuple[str, ...]
"""Where a model lives: the root and the parts of its name, as in ("models", "silver", "orders")."""


@dataclass(slots=True)
class ModelFiles:
    """The files of one model, relative to the project. `sources` has two where both forms are used."""

    table: TableName
    sources: list[PurePosixPath] = field(default_factory=list)
    sidecars: list[PurePosixPath] = field(default_factory=list)
    tests: list[PurePosixPath] = field(default_factory=list)
    contracts: list[PurePosixPath] = field(default_factory=list)


@dataclass(slots=True)
class Discovered:
    models: list[ModelFiles] = field(default_factory=list)
    defaults: list[PurePosixPath] = field(default_factory=list)
    macros: list[PurePosixPath] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unsupported: list[TableName] = field(default_factory=list)


@dataclass(slots=True)
class _Files:
    sql: list[PurePosixPath] = field(default_factory=list)
    python: list[PurePosixPath] = field(default_factory=list)
    sidecars: list[PurePosixPath] = field(default_factory=list)
    tests: list[PurePosixPath] = field(default_factory=list)
    contracts: list[PurePosixPath] = field(default_factory=list)


def discover(root: Path, namespace: str) -> Discovered:
    found = Discovered()
    homes: dict[Home, _Files] = {}
    for path in (path for name in _ROOTS for path in _walk(root, root / name, found.problems)):
        _place(path, homes, found)
    macros = _walk(root, root / "macros", found.problems)
    found.macros = [path for path in macros if path.suffix.lower() == ".sql"]
    for home, files in sorted(homes.items(), key=lambda found: found[0]):
        _settle(home, files, namespace, homes, found)
    return found


def _walk(root: Path, folder: Path, problems: list[Problem]) -> Iterator[PurePosixPath]:
    def report(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            place = Place(Path(error.filename).relative_to(root).as_posix())
            problems.append(Problem("UnreadableFile", f"the folder cannot be read: {error.strerror}", place))

    # Links are followed, each folder once: two that point at each other would have no end.
    seen: set[str] = set()
    for parent, folders, files in os.walk(folder, onerror=report, followlinks=True):
        real = os.path.realpath(parent)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__"))) if real not in seen else []
        inside = PurePosixPath(Path(parent).relative_to(root).as_posix())
        for name in sorted(files) if real not in seen else ():
            if name.startswith((".", "__")):
                continue
            if not _is_text(name):
                place = Place((inside / name).as_posix().encode(errors="replace").decode())
                problems.append(Problem("UnreadableFile", "the file's name is not UTF-8", place))
                continue
            yield inside / name
        seen.add(real)


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _place(path: PurePosixPath, homes: dict[Home, _Files], found: Discovered) -> None:
    """Give the file to the model whose home it lies in."""
    kind, folder = path.suffix.lower(), path.parts[:-1]
    if path.name == "_defaults.toml":
        found.defaults.append(path)
    elif "tests" in folder[1:]:
        at = folder.index("tests", 1)
        if kind == ".sql" and folder[at:] == ("tests", "quality") and 3 <= at <= 4:
            homes.setdefault(folder[:at], _Files()).tests.append(path)
        elif kind == ".sql":
            message = "no model owns this test: quality tests are in tests/quality/ inside the model's own folder"
            found.problems.append(Problem("MisplacedFile", message, Place(str(path))))
    elif kind in {".sql", ".py", *_SETTINGS}:
        of_contract = _contract_home(path) if kind in _SETTINGS else None
        is_folder_form = path.stem == ("config" if kind in _SETTINGS else "pipeline") and len(folder) >= 3
        home = of_contract or (folder if is_folder_form else (*folder, path.stem))
        if not 3 <= len(home) <= 4:
            found.problems.append(Problem("MisplacedFile", _LAYOUT, Place(str(path))))
            return
        files = homes.setdefault(home, _Files())
        if of_contract:
            files.contracts.append(path)
            return
        {".sql": files.sql, ".py": files.python}.get(kind, files.sidecars).append(path)


def _contract_home(path: PurePosixPath) -> Home | None:
    """Whose contract the file is; None where it is none."""
    folder, name = path.parent.parts, path.name.lower()
    if name in _FOLDER_CONTRACTS and len(folder) >= 3:
        return folder
    ending = next((ending for ending in _CONTRACTS if name.endswith(ending)), None)
    return (*folder, path.name[: -len(ending)]) if ending else None


def _settle(home: Home, files: _Files, namespace: str, homes: dict[Home, _Files], found: Discovered) -> None:
    table = TableName(namespace, *home[1:]) if len(home) == 3 else TableName(*home[1:])
    short = table.short(namespace)
    if not files.sql:
        found.unsupported += [table] if files.python else []
        found.problems += _without_sql(files, short, [_short(other) for other, its in homes.items() if its.sql])
        return
    for path in files.python:
        message = f"{files.sql[0].name} is used and {path.name} is left aside: a model has one source"
        found.problems.append(Problem("IgnoredFile", message, Place(str(path)), Severity.WARN, model=short))
    if len(files.sidecars) > 1:
        message = f"the model has two settings files: {' and '.join(str(path) for path in files.sidecars)}"
        place = Place(str(files.sidecars[1]))
        found.problems.append(Problem("AmbiguousSettings", message, place, suggestion="keep one", model=short))
    if len(files.contracts) > 1:
        message = f"the model has two contracts: {' and '.join(str(path) for path in files.contracts)}"
        place = Place(str(files.contracts[1]))
        found.problems.append(Problem("AmbiguousContract", message, place, suggestion="keep one", model=short))
    for what, name in (("namespace", table.namespace), ("layer", table.layer)):
        if reason := why_not_a_name(name):
            message = f"'{name}' cannot be a {what}: {reason}"
            found.problems.append(Problem("ReservedName", message, Place(str(files.sql[0])), model=short))
    if not is_plain_name(table.name):
        message = f"'{table.name}' cannot be a table's name: it may hold letters, digits, '_' and '-' only"
        found.problems.append(Problem("ReservedName", message, Place(str(files.sql[0])), model=short))
    found.models.append(ModelFiles(table, files.sql, files.sidecars, files.tests, files.contracts))


def _without_sql(files: _Files, short: str, others: list[str]) -> Iterator[Problem]:
    for path in files.python:
        message = "Python models are not supported by this version"
        yield Problem("UnsupportedModel", message, Place(str(path)), suggestion="write the model in SQL", model=short)
    if files.python:
        return
    for path in [*files.sidecars, *files.contracts, *files.tests]:
        message = f"there is no model '{short}' that this file could belong to"
        yield Problem("OrphanFile", message, Place(str(path)), suggestion=did_you_mean(nearest(short, others)))


def _short(home: Home) -> str:
    return ".".join(home[1:])
