"""`checks/<name>.sql` and `checks/<name>.py`: checks of the project's own, read once for all models that call them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tidegate.checks.kinds import CheckKind, OwnCheckError
from tidegate.checks.own import read_own_check
from tidegate.checks.registry import BUILT_IN, KEYED, SQL_TYPE
from tidegate.project.problems import Place, Problem

__all__ = ["OwnChecks", "own_check_files", "read_own_checks"]

_FOLDER = "checks"
_ENDINGS = (".sql", ".py")


@dataclass(slots=True)
class OwnChecks:
    """By name: what each check is, and its file with the text of it."""

    kinds: dict[str, CheckKind] = field(default_factory=dict)
    files: dict[str, tuple[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def own_check_files(root: Path) -> list[str]:
    """Relative to the project, those in SQL first."""
    try:
        names = sorted(os.listdir(root / _FOLDER))
    except OSError:
        return []
    names = [name for name in names if not name.startswith((".", "__"))]
    return [f"{_FOLDER}/{name}" for ending in _ENDINGS for name in names if name.endswith(ending)]


def read_own_checks(files: Iterable[tuple[str, str]]) -> OwnChecks:
    """From paths and texts."""
    found = OwnChecks()
    taken = {*BUILT_IN, *KEYED, SQL_TYPE}
    for path, text in files:
        name = PurePosixPath(path).stem
        if not name.isidentifier() or name in taken:
            why = "there is a check of that name already" if name.isidentifier() else "it cannot be called by that name"
            found.problems.append(
                Problem("InvalidOwnCheck", f"{why}: '{name}'", Place(path), suggestion="rename the file")
            )
            continue
        taken.add(name)
        try:
            found.kinds[name] = read_own_check(name, text, path)
            found.files[name] = path, text
        except OwnCheckError as error:
            found.problems.append(Problem("InvalidOwnCheck", str(error), Place(path, error.line)))
    return found
