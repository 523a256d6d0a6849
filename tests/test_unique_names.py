"""No two modules and no two classes of the package share a name, so that a search for a name finds one thing.

The names that still do are in cases/unique_names/exceptions.txt, which may only shrink.
"""

import ast
from collections import defaultdict
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "tidegate"
EXCEPTIONS = Path(__file__).parent / "cases" / "unique_names" / "exceptions.txt"
ONE_FILE_PER_ITEM = ("state/migrations", "write/strategies")


def test_no_two_modules_and_no_two_classes_share_a_name() -> None:
    shared, allowed = _shared_names(), _exceptions()
    assert {entry: paths for entry, paths in shared.items() if not paths <= allowed.get(entry, set())} == {}, (
        "these names are used twice: rename one"
    )


def test_every_exception_is_still_needed() -> None:
    shared = _shared_names()
    assert {entry: paths for entry, paths in _exceptions().items() if paths != shared.get(entry)} == {}, (
        "these are no longer shared as listed: correct the line in cases/unique_names/exceptions.txt, or remove it"
    )


@cache
def _shared_names() -> dict[str, set[str]]:
    places: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if path.stem not in ("__init__", "__main__") and place.parent.as_posix() not in ONE_FILE_PER_ITEM:
            places[f"module {path.stem}"].add(place.as_posix())
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[f"class {node.name}"].add(place.as_posix())
    return {entry: paths for entry, paths in places.items() if len(paths) > 1 and not _is_command(entry, paths)}


def _is_command(entry: str, paths: set[str]) -> bool:
    """A command and the operation that it calls have the command's name."""
    name = entry.removeprefix("module ")
    return paths == {f"cli/commands/{name}.py", f"operations/{name}.py"}


def _exceptions() -> dict[str, set[str]]:
    lines = (line for line in EXCEPTIONS.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    entries = (line.split(": ") for line in lines)
    return {entry: set(paths.split()) for entry, paths in entries}
