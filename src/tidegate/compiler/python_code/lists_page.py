"""The lists of the check as the section of docs/sandbox.md."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tidegate.compiler.python_code.allowed_names import STANDARD_MODULES, library_modules
from tidegate.compiler.python_code.blocked_names import (
    BLOCKED_ATTRIBUTES,
    BLOCKED_BUILTINS,
    BLOCKED_IMPORTS,
    PLAIN_DUNDERS,
    Blocked,
)

__all__ = ["BEGIN", "END", "markdown"]

BEGIN = "<!-- written by `make docs`: lists -->"
END = "<!-- end: lists -->"


def markdown() -> str:
    return "\n".join(_lists()) + "\n"


def _lists() -> Iterator[str]:
    yield ""
    yield f"### Blocked builtins ({len(BLOCKED_BUILTINS)})"
    yield from _table(BLOCKED_BUILTINS)
    yield ""
    yield "### Imports that are allowed"
    yield ""
    yield f"Of Python: {_names(STANDARD_MODULES)}."
    yield ""
    yield f"Of packages: {_names(sorted(library_modules()))}."
    yield ""
    yield "Of each module only its documented names, without what reads files, loads code or names attributes by texts."
    yield ""
    yield f"### Blocked imports ({len(BLOCKED_IMPORTS)})"
    yield ""
    yield "Everything else is refused too; these are refused with the reason."
    yield from _table(BLOCKED_IMPORTS)
    yield ""
    yield "### Blocked attributes"
    yield ""
    yield "On any object, besides every name that begins with an underscore."
    yield from _table(BLOCKED_ATTRIBUTES)
    yield ""
    yield f"Names with two underscores that are allowed: {_names(sorted(PLAIN_DUNDERS))}."


def _table(blocked: Mapping[str, Blocked]) -> Iterator[str]:
    groups: dict[Blocked, list[str]] = {}
    for name, reason in blocked.items():
        groups.setdefault(reason, []).append(name)
    yield ""
    yield "| blocked | because | instead |"
    yield "|---|---|---|"
    for reason, names in groups.items():
        yield f"| {_names(names)} | {reason.why} | {reason.instead} |"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def write(page: Path) -> None:
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{markdown()}{END}{after}", "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
